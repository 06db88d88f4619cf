package mlflowtest

import "testing"

func TestMain(m *testing.M) { Main(m) }

func TestConformance(t *testing.T) {
	for _, version := range []Version{Newest, Oldest} {
		t.Run("fake of "+string(version), func(t *testing.T) { t.Parallel(); RunConformance(t, NewFakeOf(t, version).URL, version) })
		t.Run("MLflow "+string(version), func(t *testing.T) { t.Parallel(); RunConformance(t, Real(t, version).URL, version) })
	}
}

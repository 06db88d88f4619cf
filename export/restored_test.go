package export_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/export/tables"
)

// samples are batches in which something special happened.
func samples() map[string]*exporttest.Synthetic {
	out := map[string]*exporttest.Synthetic{
		"mixed":       exporttest.Mixed(),
		"judges":      exporttest.New(exporttest.Shape{Agents: 2, Models: 2, Tasks: 31, Repeats: 4, Judges: 3, Attempts: true, Seed: 11}),
		"no attempts": exporttest.New(exporttest.Shape{Agents: 1, Models: 3, Tasks: 40, Repeats: 3, Judges: 2, Seed: 12}),
		"one task":    exporttest.New(exporttest.Shape{Agents: 1, Models: 1, Tasks: 1, Repeats: 1, Seed: 13}),
		"no task":     exporttest.New(exporttest.Shape{Agents: 2, Models: 1, Repeats: 2, Seed: 14}),
		"many rows":   exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 400, Repeats: 2, Judges: 1, Attempts: true, Seed: 15}),
		"letters":     exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("0-1 ", 12), strings.Repeat(".b0 ", 12)),
		"all failed":  exporttest.Lettered(strings.Repeat("--- ", 12), strings.Repeat("--- ", 12)),
	}
	none := exporttest.Lettered(strings.Repeat("111 ", 12), strings.Repeat("000 ", 12))
	none.Drop(0)
	none.Drop(1)
	out["nothing started"] = none
	reported := exporttest.Mixed()
	reported.Plan.PassReported = true
	reported.SetDecision(`{"metric":"passed","margin":0.1}`)
	out["reported"] = reported
	judged := exporttest.New(exporttest.Shape{Agents: 3, Models: 1, Tasks: 30, Repeats: 3, Judges: 2, Seed: 16})
	judged.SetDecision(`{"metric":"judge/judge-2","margin":0.2,"reference":"agent-1+model-1","compare":"reference","advantage":{"cost_usd":0.2}}`)
	out["one judge"] = judged
	return out
}

// What is made from the tables alone is what was made from the evidence, byte by byte.
func TestRenderedFromTables(t *testing.T) {
	outputs := []export.Output{tables.Output{}, tables.Queries{}, report.Output{}}
	for name, s := range samples() {
		withheld := [][]string{nil, {"raw"}, {"inputs"}}
		if name != "mixed" && name != "judges" && name != "reported" {
			withheld = withheld[:1]
		}
		for _, withhold := range withheld {
			dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: outputs, Withhold: withhold, Tool: "v0-test"})
			require.NoError(t, err, name)
			f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
			require.NoError(t, err, name)
			out := t.TempDir()
			summary, made, err := f.Render(t.Context(), out, outputs)
			require.NoError(t, err, name)
			assert.NotEmpty(t, summary.Variants)
			assert.Empty(t, f.Same(made, outputs), "%s %v", name, withhold)
			assert.Greater(t, len(made), 10)
			for _, c := range made {
				want, err := os.ReadFile(filepath.Join(dir, c.Path))
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(out, c.Path))
				require.NoError(t, err)
				assert.True(t, string(want) == string(got), "%s %v: %s", name, withhold, c.Path)
			}
		}
	}
}

// spy keeps what outputs are given.
type spy struct{ seen []*export.Evidence }

func (*spy) Format() (string, int) { return "spy", 1 }

func (s *spy) Start(*export.Frozen, string) (export.Making, error) { return s, nil }

func (s *spy) Add(e *export.Evidence) error {
	s.seen = append(s.seen, e)
	return nil
}

func (*spy) Finish(*export.Summary) ([]export.Content, error) { return nil, nil }

func (*spy) Abandon() {}

func (*spy) Read(context.Context, string, []export.Content) ([]export.Content, []export.Finding) {
	return nil, nil
}

// The tables give all of the evidence back, but for what they say is not in them:
// votes on attempts, members that the contract does not know, a report of passing
// where the threshold decides, the sign of a zero. What an output needs and this
// test does not find has to become a column.
func TestEvidenceFromTables(t *testing.T) {
	for name, s := range samples() {
		for _, withhold := range [][]string{nil, {"raw"}} {
			var given spy
			dir, err := export.Write(t.Context(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}, &given}, Withhold: withhold})
			require.NoError(t, err, name)
			f, err := export.OpenFolder(t.Context(), dir, tables.Output{})
			require.NoError(t, err, name)
			for i := range given.seen {
				if e := given.seen[i]; !s.Plan.PassReported {
					forgetReports(e)
				}
				lessen(given.seen[i])
			}
			n := 0
			require.NoError(t, f.Each(t.Context(), func(e *export.Evidence) error {
				want := given.seen[n]
				assert.True(t, reflect.DeepEqual(want.Outcomes, e.Outcomes), "%s %v: outcomes of %s", name, withhold, e.RunID)
				assert.True(t, reflect.DeepEqual(want.Attempts, e.Attempts), "%s %v: attempts of %s", name, withhold, e.RunID)
				want.Outcomes, want.Attempts, e.Outcomes, e.Attempts = nil, nil, nil, nil
				assert.Equal(t, want, e, "%s %v", name, withhold)
				n++
				return nil
			}))
			assert.Len(t, given.seen, n)
			assert.Len(t, given.seen, len(s.Result.Evaluations), name)
		}
	}
}

func forgetReports(e *export.Evidence) {
	for i := range e.Outcomes {
		e.Outcomes[i].Passed = nil
	}
	for i := range e.Attempts {
		e.Attempts[i].Passed = nil
	}
}

func lessen(e *export.Evidence) {
	e.Secrets = nil
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		if o.Score != nil && *o.Score == 0 {
			o.Score = new(float64)
		}
	}
	for i := range e.Attempts {
		e.Attempts[i].Judges = nil
	}
}

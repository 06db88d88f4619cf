package batch

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The digests of this test are scheme 1. THEY NEVER CHANGE: every measurement
// that was ever recorded is found by digests made this way.
func TestFrozenIdentity(t *testing.T) {
	m := Manifest{
		Items: map[string]any{"id": "lamp", "version": "1.4", "settings.temperature": 0.5, "command": []string{"sh", "run.sh"}, "mlflow": true},
		Files: map[string]Digest{"run.sh": Sum(nil)},
	}
	parts := map[Part]Digest{}
	for _, p := range []Part{PartAgent, PartModel, PartExecution, PartScoring} {
		d, err := m.Digest(p)
		require.NoError(t, err)
		parts[p] = d
	}
	assert.Equal(t, map[Part]Digest{
		PartAgent:     "6cdcfc13532bb53ba43a525f63c5c184f0705edc0da2cd6eaaf0ec52ae9601c4",
		PartModel:     "b26cc5e8824bcc2a5df8b8dd6ca132566c0b628521d8656c67c111e5c3b1cd08",
		PartExecution: "3890c74ed747ac8955f0e6c2bc461fd7d0fe98752e88ced71db9bddf065dbd0e",
		PartScoring:   "bd02aad3ab38a3bf2c42279108428cbad8b94c774c34ae3c535bb2db6672013a",
	}, parts)
	id := NewIdentity(parts[PartAgent], parts[PartModel], NoBrain, parts[PartExecution], parts[PartScoring])
	assert.Equal(t, Digest("df7a521b16615417a5bd1682e027189db92fb0f0bbc40a5fefe6cfc90514f306"), id.Recipe)
	assert.Equal(t, Digest("34898b0c61c115eec0f0be37428b05b2687f4a6f3878acd5ae963f6e0c622561"), id.Cell)
	assert.True(t, id.Consistent())

	empty, err := Manifest{}.Digest(PartScoring)
	require.NoError(t, err)
	assert.Equal(t, Digest("4be1029a052eb8452fbb13c9f0df0cced5b0be17f79eda60030d543519d0a44a"), empty)
}

func TestManifestDigest(t *testing.T) {
	m := Manifest{Items: map[string]any{"limits.turns": 4}, Files: map[string]Digest{"a": Sum(nil)}}
	want, err := m.Digest(PartExecution)
	require.NoError(t, err)

	m.Files = nil
	got, err := m.Digest(PartExecution)
	require.NoError(t, err)
	assert.Equal(t, want, got, "files explain and are not hashed")

	b, err := json.Marshal(m)
	require.NoError(t, err)
	var read Manifest
	require.NoError(t, json.Unmarshal(b, &read))
	got, err = read.Digest(PartExecution)
	require.NoError(t, err)
	assert.Equal(t, want, got, "a manifest that was stored and read has its digest")

	got, err = m.Digest(PartScoring)
	require.NoError(t, err)
	assert.NotEqual(t, want, got, "parts do not mix")
}

func TestIdentityIsConsistent(t *testing.T) {
	id := NewIdentity(Sum([]byte("a")), Sum([]byte("m")), NoBrain, Sum([]byte("e")), Sum([]byte("s")))
	for name, change := range map[string]func(*Identity){
		"agent":     func(id *Identity) { id.Agent = Sum(nil) },
		"model":     func(id *Identity) { id.Model = Sum(nil) },
		"brain":     func(id *Identity) { id.Brain = Sum([]byte("b")) },
		"execution": func(id *Identity) { id.Execution = Sum(nil) },
		"scoring":   func(id *Identity) { id.Scoring = Sum(nil) },
		"recipe":    func(id *Identity) { id.Recipe = Sum(nil) },
		"cell":      func(id *Identity) { id.Cell = Sum(nil) },
		"scheme":    func(id *Identity) { id.Scheme = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			other := id
			change(&other)
			assert.False(t, other.Consistent())
		})
	}
	swapped := NewIdentity(id.Model, id.Agent, id.Brain, id.Scoring, id.Execution)
	assert.NotEqual(t, id.Cell, swapped.Cell)
	assert.NotEqual(t, id.Recipe, swapped.Recipe)
}

func TestExplain(t *testing.T) {
	one, two := Sum([]byte("1")), Sum([]byte("2"))
	before := Manifest{
		Items: map[string]any{"include policies/": one, "settings.temperature": 0, "command": []string{"sh"}, "gone": true, "judges.tone": struct {
			Kind string `json:"kind"`
			ID   string `json:"id"`
		}{"code", "tone"}},
		Files: map[string]Digest{"policies/refund.md": one, "policies/same.md": one, "policies/old.md": one},
	}
	after := Manifest{
		Items: map[string]any{"include policies/": two, "settings.temperature": 0.5, "command": []string{"sh", "x.sh"}, "file x.sh": two,
			"judges.tone": map[string]any{"id": "tone", "kind": "code"}},
		Files: map[string]Digest{"policies/refund.md": two, "policies/same.md": one, "x.sh": two},
	}
	assert.Equal(t, []Change{
		{PartExecution, "file policies/old.md", string(one), ""},
		{PartExecution, "file policies/refund.md", string(one), string(two)},
		{PartExecution, "file x.sh", "", string(two)},
		{PartExecution, "command", `["sh"]`, `["sh","x.sh"]`},
		{PartExecution, "gone", "true", ""},
		{PartExecution, "settings.temperature", "0", "0.5"},
	}, Explain(PartExecution, before, after), "a folder is explained by its files, each change once")

	assert.Empty(t, Explain(PartExecution, before, before))
	b, err := json.Marshal(before)
	require.NoError(t, err)
	var stored Manifest
	require.NoError(t, json.Unmarshal(b, &stored))
	assert.Empty(t, Explain(PartExecution, stored, before), "a stored manifest is compared by value")

	before.Files, after.Files = nil, nil
	assert.Contains(t, Explain(PartExecution, before, after), Change{PartExecution, "include policies/", string(one), string(two)},
		"without files the folder itself is named")
}

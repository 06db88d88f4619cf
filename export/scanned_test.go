package export_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// What looks like a secret is counted by file and kind, in the manifest and on
// the first page; what is withheld is not looked at, and nothing is quoted.
func TestSecretsAreCounted(t *testing.T) {
	key := "sk-" + strings.Repeat("a1B2c3D4e5", 4)
	s := exporttest.New(small)
	run := s.Result.Evaluations[2].RunID
	s.SetOutcomes(run, []outcome.Outcome{outcome.Failed("T-0001", outcome.Provider, "401: key "+key+"\nkey "+key)})
	s.Files[run][batch.FileAttempts] = bytes.Replace(s.Files[run][batch.FileAttempts], []byte("answers/"), []byte("Bearer "+strings.Repeat("z9", 20)+" answers/"), 1)
	s.Plan.Question = "Which one? " + key
	s.Tasks[4].Input = []byte(`"use ` + key + `"`)
	want := []export.SecretHit{
		{File: "plan.json", Pattern: "sk- key", Count: 1},
		{File: "raw/" + run + "/attempts.jsonl", Pattern: "bearer token", Count: 1},
		{File: "raw/" + run + "/outcomes.jsonl", Pattern: "sk- key", Count: 2},
		{File: "raw/panel.jsonl", Pattern: "sk- key", Count: 1},
	}
	for _, c := range []struct {
		withhold []string
		want     []export.SecretHit
	}{{nil, want}, {[]string{"inputs"}, want[:3]}, {[]string{"raw"}, want[:1]}} {
		for _, workers := range []int{1, 7} {
			dir := write(t, s.Freeze(), func(o *export.Options) { o.Withhold, o.Workers = c.withhold, workers })
			m, err := export.ReadManifest(dir)
			require.NoError(t, err)
			assert.Equal(t, c.want, m.Secrets.Found)
			assert.Contains(t, m.Secrets.Note, "pattern scan")
			for name, text := range map[string]string{"README.md": "likely secret", "manifest.json": "pattern scan"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				assert.Contains(t, string(data), text)
				data = bytes.ReplaceAll(data, []byte(s.Plan.Question), nil) // quoted on purpose
				assert.NotContains(t, string(data), key)
			}
			require.NoError(t, verify(t, dir).Err())
			forge(t, dir, func(m *export.Manifest) { m.Secrets.Found = m.Secrets.Found[:0] })
			assert.True(t, named(verify(t, dir).Findings, "manifest.json"))
		}
	}
	m, err := export.ReadManifest(write(t, exporttest.New(small).Freeze(), nil))
	require.NoError(t, err)
	assert.Equal(t, []export.SecretHit{}, m.Secrets.Found)
}

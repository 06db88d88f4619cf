package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/report"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// forge changes the manifest of a folder, and makes all checksums fit again.
func forge(t *testing.T, d string, change func(*export.Manifest)) {
	t.Helper()
	m, err := export.ReadManifest(d)
	require.NoError(t, err)
	change(m)
	m.Files = nil
	for _, name := range allFiles(t, d) {
		if name == "manifest.json" || name == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(d, name))
		require.NoError(t, err)
		m.Files = append(m.Files, export.FileEntry{Path: name, Digest: batch.Sum(data), Size: int64(len(data))})
	}
	data, err := json.MarshalIndent(m, "", "  ")
	require.NoError(t, err)
	data = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(data)) + "\n")
	require.NoError(t, os.WriteFile(filepath.Join(d, "manifest.json"), data, 0o666))
	reseal(t, d)
}

func swap(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.Replace(string(data), from, to, 1)
	require.NotEqual(t, string(data), changed, file)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o666))
}

func forgedReport(t *testing.T, honest string) batch.Digest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(honest, "report.md"))
	require.NoError(t, err)
	return batch.Sum([]byte(strings.Replace(string(data), "n=3", "n=9", 1)))
}

func drop(m *export.Manifest, output string) {
	delete(m.Formats, output)
	m.Contents = slices.DeleteFunc(m.Contents, func(c export.Content) bool { return c.Output == output })
}

// Whoever can write the manifest too can't take a file out of what is recomputed.
func TestForgedManifest(t *testing.T) {
	honest := write(t, exporttest.New(small).Freeze(), nil)
	run := exporttest.New(small).Result.Evaluations[3].RunID
	lie := func(d string) { swap(t, filepath.Join(d, "report.md"), "n=3", "n=9") }
	for name, c := range map[string]struct {
		damage func(d string)
		change func(*export.Manifest)
		want   string // the file that is accused
	}{
		"nothing":                      {func(string) {}, func(*export.Manifest) {}, ""},
		"report not declared":          {lie, func(m *export.Manifest) { drop(m, "report") }, "report.md"},
		"report declared of no output": {lie, func(m *export.Manifest) { delete(m.Formats, "report") }, "report.md"},
		"report declared without its text": {lie, func(m *export.Manifest) {
			m.Contents = slices.DeleteFunc(m.Contents, func(c export.Content) bool { return c.Path == "report.md" })
		}, "report.md"},
		"report of a format that never was": {lie, func(m *export.Manifest) { m.Formats["report"] = 0 }, "manifest.json"},
		"report of a negative format":       {lie, func(m *export.Manifest) { m.Formats["report"] = -1 }, "manifest.json"},
		"report with the digest to match": {lie, func(m *export.Manifest) {
			for i := range m.Contents {
				if m.Contents[i].Path == "report.md" {
					m.Contents[i].Digest = forgedReport(t, honest)
				}
			}
		}, "report.md"},
		"tables not declared": {func(string) {}, func(m *export.Manifest) { drop(m, "tables") }, "tables/outcomes.parquet"},
		"question": {func(d string) { swap(t, filepath.Join(d, "queries", "01-grid.sql"), "SELECT", "SELECT 1 AS one,") },
			func(*export.Manifest) {}, "queries/01-grid.sql"},
		"questions not declared": {func(string) {}, func(m *export.Manifest) { drop(m, "queries") }, "queries/01-grid.sql"},
		"page of its own": {func(d string) {
			require.NoError(t, os.WriteFile(filepath.Join(d, "VERDICT.md"), []byte("agent-1 wins\n"), 0o666))
		}, func(*export.Manifest) {}, "VERDICT.md"},
		"page that the report claims": {func(d string) {
			require.NoError(t, os.WriteFile(filepath.Join(d, "VERDICT.md"), []byte("agent-1 wins\n"), 0o666))
		}, func(m *export.Manifest) {
			m.Contents = append(m.Contents, export.Content{Output: "report", Path: "VERDICT.md", Digest: batch.Sum([]byte("agent-1 wins\n"))})
		}, "VERDICT.md"},
		"evidence lost": {func(d string) { require.NoError(t, os.Remove(filepath.Join(d, "raw", run, "outcomes.jsonl"))) },
			func(m *export.Manifest) {
				m.Missing = append(m.Missing, export.MissingFile{File: "raw/" + run + "/outcomes.jsonl", Run: run, Reason: "404 not found"})
			}, "raw/" + run + "/outcomes.jsonl"},
		"bundle lost": {func(d string) { require.NoError(t, os.Remove(filepath.Join(d, "raw", run, "bundle.tar.zst"))) },
			func(m *export.Manifest) {
				m.Missing = append(m.Missing, export.MissingFile{File: "raw/" + run + "/bundle.tar.zst", Run: run, Reason: export.ReasonNotKept})
			}, "raw/" + run + "/bundle.tar.zst"},
		"another batch withheld": {func(d string) { require.NoError(t, os.RemoveAll(filepath.Join(d, "raw"))) },
			func(m *export.Manifest) { m.Withheld, m.Batch = []string{"raw"}, "another" }, "manifest.json"},
		"what digests mean": {func(string) {}, func(m *export.Manifest) { m.Digests.Bytes = "as you like" }, "manifest.json"},
		"no scan":           {func(string) {}, func(m *export.Manifest) { m.Secrets.Note = "" }, "manifest.json"},
	} {
		t.Run(name, func(t *testing.T) {
			d := copyTree(t, honest)
			c.damage(d)
			forge(t, d, c.change)
			r := verify(t, d)
			if c.want == "" {
				require.NoError(t, r.Err())
				return
			}
			require.Error(t, r.Err())
			assert.True(t, named(r.Findings, c.want), "%v", r.Findings)
		})
	}
}

// A format or output that is not known here is neither sound nor damaged.
func TestFormatsFromElsewhere(t *testing.T) {
	honest := write(t, exporttest.New(small).Freeze(), nil)
	for name, change := range map[string]func(*export.Manifest){
		"newer": func(m *export.Manifest) { m.Formats["report"]++ },
		"other": func(m *export.Manifest) { m.Formats["poster"] = 1 },
	} {
		d := copyTree(t, honest)
		swap(t, filepath.Join(d, "report.md"), "n=3", "n=9")
		forge(t, d, change)
		_, err := export.Verify(context.Background(), d, export.VerifyOptions{Outputs: outputs()})
		var schema *export.SchemaError
		require.ErrorAs(t, err, &schema, name)
	}

	// A later version reads this folder: what it can't make again is named as unproven.
	later := outputs()
	for i, o := range later {
		if n, _ := o.Format(); n == "report" {
			later[i] = newer{o}
		}
	}
	r, err := export.Verify(context.Background(), honest, export.VerifyOptions{Outputs: later})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.Subset(t, r.Unproven, []string{"README.md", "report.md", "report.html", "charts/differences.svg"})
	assert.NotContains(t, r.Recomputed, "report.md")
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], fmt.Sprintf("report of format %d could not be recomputed", report.Format))
}

type newer struct{ export.Output }

func (n newer) Format() (string, int) {
	name, version := n.Output.Format()
	return name, version + 1
}

// What ties a folder to MLflow is the digest of result.json.
func TestAnchorOutside(t *testing.T) {
	b := exporttest.New(small).Freeze()
	dir := write(t, b, nil)
	r := verify(t, dir)
	assert.Equal(t, batch.Sum(b.ResultJSON), r.Result)
	assert.Equal(t, exporttest.RunID("parent"), r.Batch)
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), string(r.Result))
	assert.Contains(t, string(text), "agrees with itself")
}

// Fewer tasks than were planned can't hide behind withheld inputs.
func TestForgedPanelWithoutInputs(t *testing.T) {
	d := write(t, exporttest.New(small).Freeze(), func(o *export.Options) { o.Withhold = []string{"inputs"} })
	path := filepath.Join(d, "raw", "panel.withheld.jsonl")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(data), "\n")
	require.NoError(t, os.WriteFile(path, []byte(rest), 0o666))
	forge(t, d, func(*export.Manifest) {})
	r := verify(t, d)
	assert.True(t, named(r.Findings, "panel.jsonl"), "%v", r.Findings)
	assert.Contains(t, r.Err().Error(), "11 tasks, plan.json has 12")
}

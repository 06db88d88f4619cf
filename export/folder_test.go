package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
)

var update = flag.Bool("update", false, "write testdata again")

// The bytes of a folder are a contract. This test also catches a new version of a
// library that arranges them in another way: then say so in the changelog, and
// run with -update.
func TestGoldenBytes(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	b := exporttest.Mixed().Freeze()
	for _, c := range []struct {
		zone    string
		offset  int
		workers int
		lang    string
	}{{"UTC", 0, 1, "C"}, {"east", 20700, 2, "tr_TR.UTF-8"}, {"west", -43200, 16, "de_DE.UTF-8"}} {
		time.Local = time.FixedZone(c.zone, c.offset)
		t.Setenv("LC_ALL", c.lang)
		t.Setenv("TZ", c.zone)
		dir := write(t, b, func(o *export.Options) { o.Workers = c.workers })
		got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		require.NoError(t, err)
		golden := filepath.Join("testdata", "mixed.SHA256SUMS")
		if *update {
			require.NoError(t, os.WriteFile(golden, got, 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%+v", c)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func copyTree(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func allFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

func named(fs []export.Finding, file string) bool {
	return slices.ContainsFunc(fs, func(f export.Finding) bool { return f.File == file })
}

// One byte flipped anywhere is found, and the file named, by full and by digests-only checks.
func TestFlippedByte(t *testing.T) {
	dir := write(t, exporttest.New(exporttest.Shape{Agents: 1, Models: 2, Tasks: 4, Repeats: 1, Judges: 1, Attempts: true, Seed: 1}).Freeze(), nil)
	done := map[string]bool{}
	for _, name := range allFiles(t, dir) {
		kind := name
		if strings.HasPrefix(name, "raw/") {
			kind = "raw/" + filepath.Base(name)
		}
		if strings.HasPrefix(name, "charts/") {
			kind = "charts"
		}
		if done[kind] {
			continue
		}
		done[kind] = true
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, at := range []int{0, len(good) / 2, len(good) - 1} {
			bad := bytes.Clone(good)
			bad[at] ^= 0x04
			require.NoError(t, os.WriteFile(path, bad, 0o666))
			for _, digests := range []bool{true, false} {
				if !digests && at != len(good)/2 {
					continue
				}
				r, err := export.Verify(context.Background(), dir, export.VerifyOptions{DigestsOnly: digests, Outputs: outputs()})
				require.NoError(t, err, name)
				var integrity *export.IntegrityError
				require.ErrorAs(t, r.Err(), &integrity, "%s at %d", name, at)
				if name != "SHA256SUMS" { // a flipped digest there accuses the file that it stands for
					assert.True(t, named(r.Findings, name), "%s at %d: %v", name, at, r.Findings)
				}
			}
		}
		require.NoError(t, os.WriteFile(path, good, 0o666))
	}
	questions, err := filepath.Glob(filepath.Join(dir, "queries", "*.sql"))
	require.NoError(t, err)
	assert.Len(t, done, 8+1+len(tables.Names)+len(questions)+4) // documents and lists, charts, tables, queries, raw
	require.NoError(t, verify(t, dir).Err())
}

func TestFilesAddedAndRemoved(t *testing.T) {
	dir := write(t, exporttest.New(small).Freeze(), nil)
	run := exporttest.New(small).Result.Evaluations[3].RunID
	for name, change := range map[string]func(d string) string{
		"added": func(d string) string {
			require.NoError(t, os.WriteFile(filepath.Join(d, "tables", "more.parquet"), nil, 0o666))
			return "tables/more.parquet"
		},
		"removed": func(d string) string {
			require.NoError(t, os.Remove(filepath.Join(d, "raw", run, "attempts.jsonl")))
			return "raw/" + run + "/attempts.jsonl"
		},
		"no sums": func(d string) string {
			require.NoError(t, os.Remove(filepath.Join(d, "SHA256SUMS")))
			return "SHA256SUMS"
		},
		"no manifest": func(d string) string {
			require.NoError(t, os.Remove(filepath.Join(d, "manifest.json")))
			return "manifest.json"
		},
		"left-over tail": func(d string) string {
			f, err := os.OpenFile(filepath.Join(d, "report.md"), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString("old rows\n")
			require.NoError(t, errors.Join(err, f.Close()))
			return "report.md"
		},
		"a link": func(d string) string {
			require.NoError(t, os.Remove(filepath.Join(d, "report.md")))
			require.NoError(t, os.Symlink(filepath.Join(dir, "report.md"), filepath.Join(d, "report.md")))
			return "report.md"
		},
	} {
		d := copyTree(t, dir)
		file := change(d)
		r := verify(t, d)
		assert.True(t, named(r.Findings, file), "%s: %v", name, r.Findings)
	}
}

// A folder is checked elsewhere and later; nothing is written to it.
func TestMovedReadOnly(t *testing.T) {
	d := copyTree(t, write(t, exporttest.New(small).Freeze(), nil))
	for _, n := range allFiles(t, d) {
		require.NoError(t, os.Chmod(filepath.Join(d, n), 0o444))
		require.NoError(t, os.Chtimes(filepath.Join(d, n), time.Unix(0, 0), time.Unix(0, 0)))
	}
	before := allFiles(t, d)
	require.NoError(t, verify(t, d).Err())
	assert.Equal(t, before, allFiles(t, d))
}

// Someone who changes a file and makes all checksums fit again is found by recomputing.
func TestForgedFolder(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		change func(string) string
		want   string
	}{
		"report":   {"report.md", func(s string) string { return strings.Replace(s, "n=3", "n=9", 1) }, "report.md"},
		"manifest": {"manifest.json", func(s string) string { return strings.Replace(s, `"planned": 144`, `"planned": 145`, 1) }, "manifest.json"},
		"plan":     {"plan.json", func(s string) string { return strings.Replace(s, `"pass_threshold": 0.8`, `"pass_threshold": 0.1`, 1) }, "plan.json"},
		"panel":    {"raw/panel.jsonl", func(s string) string { return strings.Replace(s, "family-0", "family-1", 1) }, "panel.jsonl"},
	} {
		d := copyTree(t, write(t, exporttest.New(small).Freeze(), nil))
		data, err := os.ReadFile(filepath.Join(d, c.file))
		require.NoError(t, err)
		forged := c.change(string(data))
		require.NotEqual(t, string(data), forged)
		require.NoError(t, os.WriteFile(filepath.Join(d, c.file), []byte(forged), 0o666))
		reseal(t, d)
		r := verify(t, d)
		assert.True(t, named(r.Findings, c.want), "%s: %v", name, r.Findings)
	}
}

// reseal makes manifest and SHA256SUMS fit the files again.
func reseal(t *testing.T, d string) {
	t.Helper()
	path := filepath.Join(d, "manifest.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var m export.Manifest
	require.NoError(t, json.Unmarshal(data, &m))
	text := string(data)
	for _, f := range m.Files {
		now, err := os.ReadFile(filepath.Join(d, f.Path))
		require.NoError(t, err)
		text = strings.ReplaceAll(text, string(f.Digest), string(batch.Sum(now)))
		text = strings.Replace(text, fmt.Sprintf("%q: %q,\n      \"sha256\": %q,\n      \"size\": %d", "path", f.Path, batch.Sum(now), f.Size),
			fmt.Sprintf("%q: %q,\n      \"sha256\": %q,\n      \"size\": %d", "path", f.Path, batch.Sum(now), len(now)), 1)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	out, err := exec.Command("sh", "-c", "cd '"+d+"' && find . -type f ! -name SHA256SUMS ! -name sums -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum > sums && mv sums SHA256SUMS").CombinedOutput()
	require.NoError(t, err, "%s", out)
	r, err := export.Verify(context.Background(), d, export.VerifyOptions{DigestsOnly: true})
	require.NoError(t, err)
	require.NoError(t, r.Err())
}

func TestUnknownSchemaIsNotCorrupt(t *testing.T) {
	d := copyTree(t, write(t, exporttest.New(small).Freeze(), nil))
	data, err := os.ReadFile(filepath.Join(d, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(d, "manifest.json"), bytes.Replace(data, []byte(`"schema": 1`), []byte(`"schema": 7`), 1), 0o666))
	out, err := exec.Command("sh", "-c", "cd '"+d+"' && find . -type f ! -name SHA256SUMS ! -name sums -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum > sums && mv sums SHA256SUMS").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, err = export.Verify(context.Background(), d, export.VerifyOptions{})
	var schema *export.SchemaError
	require.ErrorAs(t, err, &schema)
	assert.Equal(t, 7, schema.Found)
}

func TestWithheld(t *testing.T) {
	s := exporttest.Mixed()
	for _, c := range []struct {
		withhold []string
		absent   []string
		present  []string
		secret   []string
	}{
		{[]string{"inputs"}, []string{"raw/panel.jsonl", "bundle.tar.zst"}, []string{"raw/panel.withheld.jsonl", "outcomes.jsonl"}, []string{"invented question"}},
		{[]string{"raw", "inputs"}, []string{"raw/"}, nil, []string{"invented question", "invented reason", "host.invalid/p.png"}},
	} {
		dir := write(t, s.Freeze(), func(o *export.Options) { o.Withhold = c.withhold })
		names := strings.Join(allFiles(t, dir), "\n")
		for _, n := range c.absent {
			assert.NotContains(t, names, n)
		}
		for _, n := range c.present {
			assert.Contains(t, names, n)
		}
		for _, n := range allFiles(t, dir) {
			if strings.HasSuffix(n, ".json") || strings.HasSuffix(n, ".md") {
				continue // the frozen documents
			}
			data, err := os.ReadFile(filepath.Join(dir, n))
			require.NoError(t, err)
			assert.NotContains(t, string(data), "invented question", n)
		}
		r := verify(t, dir)
		require.NoError(t, r.Err())
		require.NotEmpty(t, r.Notes)
		assert.Contains(t, r.Notes[0], "withheld")
		if len(c.withhold) == 1 {
			assert.Contains(t, r.Recomputed, "tables/tasks.parquet")
		} else {
			assert.Empty(t, r.Recomputed)
		}
	}
}

// failing fails for some artifacts.
func failing(b export.Batch, fail func(ev batch.Evaluation, a batch.Artifact) ([]byte, error)) export.Batch {
	fetch := b.Fetch
	b.Fetch = func(ctx context.Context, ev batch.Evaluation, a batch.Artifact) (io.ReadCloser, error) {
		data, err := fail(ev, a)
		if err != nil {
			return nil, err
		}
		if data != nil {
			return io.NopCloser(bytes.NewReader(data)), nil
		}
		return fetch(ctx, ev, a)
	}
	return b
}

// brittle breaks off after its first byte.
type brittle struct{ io.Reader }

func (b brittle) Read(p []byte) (int, error) {
	n, _ := b.Reader.Read(p[:1])
	return n, errors.New("connection reset")
}

// A connection that breaks and a server that is away say nothing about the evidence.
func TestEvidenceThatCanNotBeAskedFor(t *testing.T) {
	s := exporttest.New(small)
	whole := s.Freeze()
	victim := s.Result.Evaluations[2].RunID
	for _, breaks := range []int{2, 100} {
		b, n := whole, 0
		b.Fetch = func(ctx context.Context, ev batch.Evaluation, a batch.Artifact) (io.ReadCloser, error) {
			r, err := whole.Fetch(ctx, ev, a)
			if ev.RunID == victim && a.Path == batch.FileBundle && n < breaks {
				n++ // by one worker
				return io.NopCloser(brittle{r}), err
			}
			return r, err
		}
		out := t.TempDir()
		_, err := export.Write(context.Background(), b, export.Options{Out: out, Outputs: outputs()})
		if breaks == 2 {
			require.NoError(t, err)
			continue
		}
		var integrity *export.IntegrityError
		require.NotErrorAs(t, err, &integrity)
		require.ErrorContains(t, err, "run "+victim+": bundle.tar.zst: broke off after 1 of")
		left, err := os.ReadDir(out)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// Every artifact that does not match is named, not only the first, and nothing is left.
func TestChangedEvidence(t *testing.T) {
	s := exporttest.New(small)
	b := s.Freeze()
	e := s.Result.Evaluations
	bad := failing(b, func(ev batch.Evaluation, a batch.Artifact) ([]byte, error) {
		data := s.Files[ev.RunID][a.Path]
		switch {
		case ev.RunID == e[1].RunID && a.Path == batch.FileOutcomes:
			return bytes.Replace(data, []byte(`0.`), []byte(`1.`), 1), nil
		case ev.RunID == e[4].RunID && a.Path == batch.FileBundle:
			return nil, errors.New("404 not found")
		case ev.RunID == e[7].RunID && a.Path == batch.FileAttempts:
			return append(bytes.Clone(data), " longer"...), nil
		case ev.RunID == e[9].RunID && a.Path == batch.FileAttempts:
			return data[:len(data)-1], nil
		}
		return nil, nil
	})
	out := t.TempDir()
	_, err := export.Write(context.Background(), bad, export.Options{Out: out, Outputs: outputs()})
	var integrity *export.IntegrityError
	require.ErrorAs(t, err, &integrity)
	require.Len(t, integrity.Findings, 4)
	for i, n := range []int{1, 4, 7, 9} {
		assert.Equal(t, e[n].RunID, integrity.Findings[i].Run)
	}
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, left)

	provisional := export.Options{Out: out, Outputs: outputs(), Provisional: true}
	dir, err := export.Write(context.Background(), bad, provisional)
	var incomplete *export.IncompleteError
	require.ErrorAs(t, err, &incomplete)
	assert.Len(t, incomplete.Findings, 4)
	r := verify(t, dir)
	require.NoError(t, r.Err())
	assert.Len(t, r.Notes, 5, "four artifacts and the mark: %v", r.Notes)
	assert.Equal(t, 12, r.Manifest.Evals.Total)
	assert.Contains(t, r.Recomputed, "tables/evaluations.parquet")

	_, err = export.Write(context.Background(), bad, provisional)
	require.ErrorAs(t, err, &incomplete, "said again, although the folder is there")
}

// A record that was frozen as valid and can't be read is an integrity error; before
// the freeze it is a reason on its row.
func TestUnreadableRecord(t *testing.T) {
	s := exporttest.New(small)
	run := s.Result.Evaluations[5].RunID
	s.Files[run][batch.FileOutcomes] = []byte("{\"task\":\"T-0001\",\"score\":0.5}\n{\"task\":\"T-0002\",\"score\":7}\n")
	_, err := export.Write(context.Background(), s.Freeze(), export.Options{Out: t.TempDir(), Outputs: outputs()})
	var integrity *export.IntegrityError
	require.ErrorAs(t, err, &integrity)
	require.Len(t, integrity.Findings, 1)
	assert.Equal(t, "raw/"+run+"/outcomes.jsonl", integrity.Findings[0].File)
	assert.Contains(t, integrity.Findings[0].Reason, "line 2")

	dir := write(t, s.Freeze(), func(o *export.Options) { o.Provisional = true })
	require.NoError(t, verify(t, dir).Err())
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "outcomes.jsonl is refused at line 2")
}

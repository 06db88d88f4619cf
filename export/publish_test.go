package export_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// TestMain runs an export and nothing else where a test asks for a process of its own.
func TestMain(m *testing.M) {
	if out := os.Getenv("EXPORT_TEST_OUT"); out != "" {
		o := export.Options{Out: out, Outputs: outputs(), Tool: "v0-test"}
		holdAt(os.Getenv("EXPORT_TEST_HOLD"), &o)
		if _, err := export.Write(context.Background(), exporttest.New(small).Freeze(), o); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stages are where holdAt can stop an export.
var stages = []string{"first evaluation read", "half of them read", "all read", "sealed"}

// holdAt stops an export at a stage and says so on stdout. "" = nowhere.
func holdAt(stage string, o *export.Options) {
	hold := func(at string) {
		if at == stage {
			os.Stdout.WriteString("held\n")
			time.Sleep(time.Hour)
		}
	}
	o.Progress = func(done, total int) {
		if done == 1 {
			hold(stages[0])
		}
		if done == (total+1)/2 {
			hold(stages[1])
		}
		if done == total {
			hold(stages[2])
		}
	}
	o.Summarized = func(*export.Frozen, *export.Summary) { hold(stages[3]) }
}

func child(t *testing.T, out, limit string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command("sh", "-c", limit+` exec "$0"`, self)
	c.Env = append(os.Environ(), "EXPORT_TEST_OUT="+out)
	return c
}

// Killed at any stage, what was made so far stays in a working folder and the dated name
// is absent; the next export clears it.
func TestKilled(t *testing.T) {
	out := t.TempDir()
	dated := func() []string {
		dirs, err := filepath.Glob(filepath.Join(out, "support-bench*"))
		require.NoError(t, err)
		return dirs
	}
	for i, stage := range stages {
		c := child(t, out, "")
		c.Env = append(c.Env, "EXPORT_TEST_HOLD="+stage)
		stdout, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		said, err := bufio.NewReader(stdout).ReadString('\n')
		assert.NoError(t, err, stage)
		assert.Equal(t, "held\n", said, stage)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		left, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Len(t, left, 1, "%s: this one's folder alone", stage)
		work := filepath.Join(out, left[0].Name())
		assert.Contains(t, left[0].Name(), ".tmp-benchbatch-", stage)
		assert.FileExists(t, filepath.Join(work, batch.FilePlan), stage)
		_, err = os.Stat(filepath.Join(work, "SHA256SUMS"))
		assert.Equal(t, i == len(stages)-1, err == nil, stage)
		assert.Empty(t, dated(), stage)
	}
	msg, err := child(t, out, "").CombinedOutput()
	require.NoError(t, err, "%s", msg)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, left, 1, "left-overs are cleared")
	require.NoError(t, verify(t, filepath.Join(out, left[0].Name())).Err())
}

// Killed as soon as a file of its working folder is seen, wherever it is by then: the
// dated name is absent or verifies.
func TestKilledOnTheWay(t *testing.T) {
	out := t.TempDir()
	for _, file := range []string{"", batch.FilePlan, "raw", "tables", "report.html", "manifest.json", "SHA256SUMS"} {
		c := child(t, out, "")
		require.NoError(t, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		seen, over := false, false
		for !seen && !over {
			select {
			case <-ended:
				over = true
			default:
			}
			for _, pattern := range []string{".tmp-benchbatch-*", "support-bench*"} {
				found, err := filepath.Glob(filepath.Join(out, pattern, file))
				require.NoError(t, err)
				seen = seen || len(found) > 0
			}
		}
		assert.True(t, seen, "%q was never made", file)
		_ = c.Process.Kill()
		if !over {
			<-ended
		}
		dirs, err := filepath.Glob(filepath.Join(out, "support-bench*"))
		require.NoError(t, err)
		for _, d := range dirs {
			require.NoError(t, verify(t, d).Err(), file)
		}
		require.NoError(t, os.RemoveAll(out))
	}
}

// A file that can't be written in full ends the export with the reason, and nothing stays.
func TestDiskFull(t *testing.T) {
	out := t.TempDir()
	msg, err := child(t, out, "ulimit -f 8; trap '' XFSZ;").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(msg), "file too large")
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestFolderNotWritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	for _, out := range []string{filepath.Join(file, "below"), "/proc/benchbatch"} {
		_, err := export.Write(context.Background(), exporttest.New(small).Freeze(), export.Options{Out: out})
		require.ErrorContains(t, err, "folder for exports")
	}
}

func TestCancelled(t *testing.T) {
	out := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	b := failing(exporttest.New(small).Freeze(), func(batch.Evaluation, batch.Artifact) ([]byte, error) {
		if n++; n == 6 {
			cancel()
		}
		return nil, nil
	})
	_, err := export.Write(ctx, b, export.Options{Out: out, Outputs: outputs(), Workers: 1})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestWorkingFolderOfAnother(t *testing.T) {
	out := t.TempDir()
	dead := filepath.Join(out, ".tmp-benchbatch-0123456789abcdef")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "tables"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "tables", "outcomes.parquet"), make([]byte, 1<<16), 0o666))
	mine := filepath.Join(out, ".tmp-somebody-else")
	require.NoError(t, os.Mkdir(mine, 0o777))
	_, err := export.Write(context.Background(), exporttest.New(small).Freeze(), export.Options{Out: out})
	require.NoError(t, err)
	assert.NoDirExists(t, dead)
	assert.DirExists(t, mine)
}

// Another version of the tool finds its predecessor's folder, and says so.
func TestExistsFromAnotherVersion(t *testing.T) {
	o := export.Options{Out: t.TempDir(), Outputs: outputs(), Tool: "v0.9.1"}
	dir, err := export.Write(context.Background(), exporttest.New(small).Freeze(), o)
	require.NoError(t, err)
	o.Tool = "v0.9.2"
	_, err = export.Write(context.Background(), exporttest.New(small).Freeze(), o)
	var exists *export.ExistsError
	require.ErrorAs(t, err, &exists)
	assert.Equal(t, "v0.9.1", exists.Tool)
	require.NoError(t, verify(t, dir).Err())
	o.Withhold = []string{export.WithholdRaw}
	_, err = export.Write(context.Background(), exporttest.New(small).Freeze(), o)
	require.ErrorAs(t, err, &exists)
	assert.Empty(t, exists.Tool, "less was asked for")
}

// A second export finds the folder: the same one is left as it is, another one refused.
func TestExists(t *testing.T) {
	out := t.TempDir()
	in := func(o export.Options) (string, error) {
		o.Out, o.Outputs = out, outputs()
		return export.Write(context.Background(), exporttest.New(small).Freeze(), o)
	}
	dir, err := in(export.Options{})
	require.NoError(t, err)
	again, err := in(export.Options{Workers: 1})
	require.NoError(t, err)
	assert.Equal(t, dir, again)

	var exists *export.ExistsError
	_, err = in(export.Options{Supersedes: &export.Superseded{Folder: "another"}})
	require.ErrorAs(t, err, &exists)
	assert.Empty(t, exists.Tool, "the folder differs by more than who wrote it")
	require.NoError(t, verify(t, dir).Err())
	_, err = in(export.Options{Tool: "v0.9.1"})
	require.ErrorAs(t, err, &exists)
	assert.Empty(t, exists.Tool, "the folder that is there does not say who wrote it")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.md"), []byte(strings.Repeat("longer garbage\n", 999)), 0o666))
	_, err = in(export.Options{})
	var integrity *export.IntegrityError
	require.ErrorAs(t, err, &integrity, "the folder that is there was changed")

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o777))
	_, err = in(export.Options{})
	require.ErrorAs(t, err, &exists)
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// Names in result.json come from a server. None of them reaches the file system unless it is harmless.
func TestHostileNames(t *testing.T) {
	names := []string{"../../evil.txt", "..%2f..%2fevil.txt", "%252e%252e/evil.txt", "/outside/evil.txt", "a\\..\\..\\evil.txt",
		"ok/../../evil.txt", "./", "", ".", "..", "C:evil.txt", "trailing. ", "new\nline.txt", "tab\there.txt", "nul\x00byte.txt",
		"right\u202eleft.txt", "#frag?query=1.txt", "space name.txt", "\u00e9.txt", "a:b.json", ".hidden"}
	refuse := func(change func(*exporttest.Synthetic, string), list []string) {
		for _, n := range list {
			s := exporttest.New(small)
			b := s.Freeze()
			change(s, n)
			b.ResultJSON = encode(t, s.Result)
			out := filepath.Join(t.TempDir(), "a", "b")
			_, err := export.Write(context.Background(), b, export.Options{Out: out, Outputs: outputs()})
			var input *export.InputError
			require.ErrorAs(t, err, &input, "%q", n)
			_, err = os.Stat(out)
			require.ErrorIs(t, err, fs.ErrNotExist, "%q", n)
		}
	}
	refuse(func(s *exporttest.Synthetic, n string) { s.Result.Evaluations[2].Artifacts[0].Path = n }, names)
	refuse(func(s *exporttest.Synthetic, n string) { s.Result.Evaluations[2].RunID = n }, names)
	refuse(func(s *exporttest.Synthetic, n string) { s.Result.Name = n }, names)
	refuse(func(s *exporttest.Synthetic, n string) { s.Result.Evaluations[2].Artifacts[1].Path = n }, []string{"attempts.jsonl", "ATTEMPTS.jsonl"})
	refuse(func(s *exporttest.Synthetic, n string) { s.Result.Evaluations[2].RunID = n },
		[]string{strings.ToUpper(exporttest.New(small).Result.Evaluations[1].RunID)})
}

// Artifacts that are none of ours are named with their digest, and not fetched.
func TestOtherArtifacts(t *testing.T) {
	s := exporttest.New(small)
	b := s.Freeze()
	e := &s.Result.Evaluations[0]
	e.Artifacts = append(e.Artifacts, batch.Artifact{Path: "outcomes_table.json", Digest: batch.Sum(nil), Size: 4}, batch.Artifact{Path: "deep/er.txt", Digest: batch.Sum(nil)})
	b.ResultJSON = encode(t, s.Result)
	dir := write(t, failing(b, func(_ batch.Evaluation, a batch.Artifact) ([]byte, error) {
		if a.Path == "outcomes_table.json" || a.Path == "deep/er.txt" {
			return nil, errors.New("must not be asked for")
		}
		return nil, nil
	}), nil)
	r := verify(t, dir)
	require.NoError(t, r.Err())
	require.Len(t, r.Manifest.Missing, 2)
	assert.Equal(t, export.ReasonNotFolder, r.Manifest.Missing[0].Reason)
}

func TestDocumentsThatDoNotFit(t *testing.T) {
	s := exporttest.New(small)
	good := s.Freeze()
	write := func(b export.Batch, o export.Options) error {
		o.Out = t.TempDir()
		_, err := export.Write(context.Background(), b, o)
		return err
	}
	var integrity *export.IntegrityError
	b := good
	b.SpecYAML, b.PanelJSONL = []byte("benchmark: other\n"), []byte("{}\n")
	require.ErrorAs(t, write(b, export.Options{}), &integrity)
	assert.Len(t, integrity.Findings, 2)

	var schema *export.SchemaError
	b = good
	b.ResultJSON = []byte(`{"schema": 2}`)
	require.ErrorAs(t, write(b, export.Options{}), &schema)

	var input *export.InputError
	for _, change := range []func(*batch.Result){
		func(r *batch.Result) { r.Counts.Done++ },
		func(r *batch.Result) { r.Slots[0].RunID = r.Slots[1].RunID },
		func(r *batch.Result) { r.Slots = r.Slots[1:]; r.Counts.Done--; r.Counts.Planned-- },
		func(r *batch.Result) { r.Evaluations[0].Cell = batch.Sum([]byte("x")) },
		func(r *batch.Result) { r.Slots[0].State = "lost" },
		func(r *batch.Result) { r.Evaluations[0].Artifacts[0].Digest = "abc" },
	} {
		s := exporttest.New(small)
		b := s.Freeze()
		change(&s.Result)
		b.ResultJSON = encode(t, s.Result)
		require.ErrorAs(t, write(b, export.Options{}), &input)
	}
	require.ErrorContains(t, write(good, export.Options{Withhold: []string{"all"}}), "raw or inputs")
}

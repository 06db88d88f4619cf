package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("BENCHBATCH_TEST_MAIN") != "" { // the test binary re-runs itself as the tool
		a := Process()
		lease, _ := time.ParseDuration(os.Getenv("BENCHBATCH_TEST_LEASE"))
		a.Hasten(lease)
		os.Exit(Main(a))
	}
	mlflowtest.Main(m)
}

// shell runs commands in a folder of its own against a real MLflow server.
type shell struct {
	t    *testing.T
	dir  string
	env  map[string]string
	spec string // path of the spec
	// lease is that of claims; 0 = as users have it.
	lease time.Duration

	terminal bool // somebody looks on
}

// said is what a command came to.
type said struct {
	code        int
	out, stderr string
}

// newShell makes a folder with a small benchmark whose name, and so experiment, is new.
func newShell(t *testing.T, v mlflowtest.Version) *shell {
	t.Helper()
	return newShellAt(t, mlflowtest.Real(t, v).URL)
}

// newShellAt is newShell on the server at an address.
func newShellAt(t *testing.T, address string) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), env: map[string]string{"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"}}
	loosened(t, s.dir)
	s.env["MLFLOW_TRACKING_URI"] = address
	s.env["STARTS"] = filepath.Join(s.dir, "starts")
	s.env["FAULTS"], s.env["ADDRESS"], s.env["REGION"] = filepath.Join(s.dir, "faults.json"), "", "north"
	bench := filepath.Join(s.dir, "bench")
	require.NoError(t, os.CopyFS(bench, os.DirFS("testdata/bench")))
	s.spec = filepath.Join(bench, "benchmark.yaml")
	s.edit("benchmark.yaml", "benchmark: small", "benchmark: small-"+uuid.NewString()[:8])
	return s
}

// loosened lets the files of dir be removed after the test: what a killed launcher left
// can't be listed.
func loosened(t *testing.T, dir string) {
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
}

// ownTemp gives the launchers of this shell, and of this process, a folder of their own
// for temporary files.
func (s *shell) ownTemp() {
	s.env["TMPDIR"] = s.t.TempDir()
	loosened(s.t, s.env["TMPDIR"])
	s.t.Setenv("TMPDIR", s.env["TMPDIR"])
}

// run runs a command to its end.
func (s *shell) run(args ...string) said {
	s.t.Helper()
	var out, stderr bytes.Buffer
	a := &App{
		Args: args, Stdout: &out, Stderr: &stderr, Terminal: s.terminal, Home: s.dir, Dir: s.dir, Now: time.Now, Signals: make(chan os.Signal), lease: s.lease,
		Env: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
	}
	code := Main(a)
	return said{code, out.String(), stderr.String()}
}

// ok runs a command that must exit with 0.
func (s *shell) ok(args ...string) said {
	s.t.Helper()
	r := s.run(args...)
	require.Zero(s.t, r.code, "%v\n%s%s", args, r.out, r.stderr)
	return r
}

// json runs a command with --json, decodes its answer into v and returns what it said.
func (s *shell) json(v any, args ...string) said {
	s.t.Helper()
	r := s.run(append(args, "--json")...)
	require.NoError(s.t, json.Unmarshal([]byte(r.out), v), "%v exits with %d\n%s%s", args, r.code, r.out, r.stderr)
	return r
}

// plan is the plan of the benchmark, as JSON.
func (s *shell) plan(args ...string) planned {
	s.t.Helper()
	var p planned
	s.json(&p, append([]string{"plan", s.spec}, args...)...)
	return p
}

// measure runs the benchmark, which must end with exit code 0.
func (s *shell) measure(args ...string) ran {
	s.t.Helper()
	var r ran
	got := s.json(&r, append([]string{"run", s.spec}, args...)...)
	require.Zero(s.t, got.code, "%s%s", got.out, got.stderr)
	return r
}

// edit replaces text in a file of the benchmark; the text must be there.
func (s *shell) edit(file, before, after string) {
	s.t.Helper()
	name := filepath.Join(filepath.Dir(s.spec), file)
	b, err := os.ReadFile(name)
	if before == "" && os.IsNotExist(err) {
		err = nil
	}
	require.NoError(s.t, err)
	require.Contains(s.t, string(b), before, file)
	require.NoError(s.t, os.WriteFile(name, []byte(strings.Replace(string(b), before, after, 1)), 0o600))
}

// starts is how many evaluations the runner was really started for, with what each line says.
func (s *shell) starts() []string {
	b, err := os.ReadFile(s.env["STARTS"])
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(s.t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

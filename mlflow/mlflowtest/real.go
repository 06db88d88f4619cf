package mlflowtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/benchbatch/benchbatch/mlflow/local"
)

// realServer is the server of one version that the tests of a package share.
type realServer struct {
	once   sync.Once
	server *local.Server
	dir    string
	err    error
}

var (
	inMain bool
	shared = map[Version]*realServer{Newest: {}, Oldest: {}}
)

// Main runs the tests of a package that uses [Real], ends its servers and exits:
//
//	func TestMain(m *testing.M) { mlflowtest.Main(m) }
func Main(m *testing.M) {
	inMain = true
	code := m.Run()
	err := onPostgres.stop()
	for _, r := range shared {
		err = errors.Join(err, r.stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Real gives a real MLflow server of a version, started at the first call and shared by the tests of the package, so that each test takes an
// experiment of its own: see [Experiment]. A missing installation fails the test.
func Real(t testing.TB, version Version) *local.Server {
	t.Helper()
	if !inMain {
		t.Fatal("a package that uses mlflowtest.Real needs: func TestMain(m *testing.M) { mlflowtest.Main(m) }")
	}
	executable := Executable(t, version)
	r := shared[version]
	r.once.Do(func() { r.start(executable) })
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.server
}

func (r *realServer) start(executable string) {
	if r.dir, r.err = os.MkdirTemp("", "mlflowtest-"); r.err == nil {
		r.server, r.err = local.Start(context.Background(), local.Options{Dir: r.dir, Executable: executable, EndWithParent: true})
	}
}

func (r *realServer) stop() error {
	var err error
	if r.server != nil {
		err = r.server.Stop(context.Background())
	}
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// Executable is the mlflow command of a version, as installed below the module's root.
func Executable(t testing.TB, version Version) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the tests")
		}
		dir = parent
	}
	executable := filepath.Join(dir, ".mlflow", string(version), "bin", "mlflow")
	if !exists(executable) {
		t.Fatalf("MLflow %s is not installed: run make mlflow-all, or scripts/install-mlflow.sh %s", version, version)
	}
	return executable
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

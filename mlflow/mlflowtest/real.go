package mlflowtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/benchbatch/benchbatch/mlflow/local"
)

// shared are the real servers of this test binary.
var shared struct {
	sync.Mutex
	inMain  bool
	dir     string
	servers map[Version]*local.Server
}

// Main runs the tests of a package that uses [Real], ends its servers and exits:
//
//	func TestMain(m *testing.M) { mlflowtest.Main(m) }
func Main(m *testing.M) {
	shared.inMain = true
	code := m.Run()
	for _, server := range shared.servers {
		if err := server.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// Real gives a real MLflow server of a version, started at the first call and shared by the tests of the package, so that each test takes an
// experiment of its own: see [Experiment]. A missing installation fails the test.
func Real(t testing.TB, version Version) *local.Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.inMain {
		t.Fatal("a package that uses mlflowtest.Real needs: func TestMain(m *testing.M) { mlflowtest.Main(m) }")
	}
	if server := shared.servers[version]; server != nil {
		return server
	}
	executable := Executable(t, version)
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "mlflowtest-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir, shared.servers = dir, map[Version]*local.Server{}
	}
	server, err := local.Start(context.Background(), local.Options{
		Dir: filepath.Join(shared.dir, string(version)), Executable: executable, EndWithParent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	shared.servers[version] = server
	return server
}

// Executable is the mlflow command of a version, as installed below the module's root.
func Executable(t testing.TB, version Version) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the tests")
		}
		dir = parent
	}
	executable := filepath.Join(dir, ".mlflow", string(version), "bin", "mlflow")
	if _, err := os.Stat(executable); err != nil {
		t.Fatalf("MLflow %s is not installed: run make mlflow, or scripts/install-mlflow.sh %s (%v)", version, version, err)
	}
	return executable
}

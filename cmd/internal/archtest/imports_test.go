// Package archtest keeps the order of imports that docs/architecture.md draws, and
// the tables of other documents complete.
package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/benchbatch/benchbatch"

// packages lists every package of the module from the bottom up, each with those
// that it may import. executor and export never meet.
var packages = []struct {
	path string
	may  []string
}{
	{"examples", nil},
	{"export/escape", nil},
	{"export/document", []string{"export/escape"}},
	{"export/chart", []string{"export/escape"}},
	{"export/stats", nil},
	{"export/terminal", []string{"export/escape"}},
	{"mlflow", nil},
	{"mlflow/views", []string{"mlflow"}},
	{"mlflow/local", []string{"mlflow"}},
	{"mlflow/mlflowtest", []string{"mlflow", "mlflow/local"}},
	{"planner/batch", nil},
	{"planner/outcome", nil},
	{"planner/spec", []string{"planner/batch"}},
	{"planner/ledger", []string{"mlflow", "planner/batch", "planner/outcome"}},
	{"planner/claim", []string{"mlflow", "planner/batch", "planner/ledger"}},
	{"planner", []string{"mlflow", "planner/batch", "planner/ledger", "planner/outcome", "planner/spec"}},
	{"planner/note", []string{"export/escape", "planner/batch"}},
	{"planner/page", []string{"mlflow", "mlflow/views", "planner", "planner/batch", "planner/ledger", "planner/note"}},
	{"executor/evaluation", []string{"planner/batch", "planner/outcome", "planner/spec"}},
	{"executor/traces", []string{"mlflow", "planner/batch", "planner/outcome"}},
	{"executor/process", []string{"executor/evaluation"}},
	{"executor/preflight", []string{"executor/evaluation", "executor/process", "planner/spec"}},
	{"executor", []string{"executor/evaluation", "executor/traces", "mlflow", "planner", "planner/batch", "planner/claim", "planner/ledger", "planner/outcome", "planner/spec"}},
	{"export", []string{"export/stats", "planner/batch", "planner/outcome"}},
	{"export/report", []string{"export", "export/chart", "export/document", "export/escape", "export/stats", "planner/batch", "planner/outcome"}},
	{"export/tables", []string{"export", "export/stats", "planner/batch", "planner/outcome"}},
	{"export/compare", []string{"export", "export/chart", "export/document", "export/stats", "export/tables", "export/terminal", "planner/batch"}},
	{"export/brief", []string{"export", "export/escape", "export/stats", "export/terminal", "planner/batch"}},
	{"export/calibration", []string{"export", "export/chart", "export/document", "export/stats", "planner/batch", "planner/outcome"}},
	{"export/exporttest", []string{"export", "planner/batch", "planner/outcome"}},
	{"export/exporttest/browser", nil},
	{"cmd/internal/cli", []string{
		"examples", "executor", "executor/evaluation", "executor/preflight", "executor/process",
		"export", "export/brief", "export/calibration", "export/compare", "export/document", "export/escape", "export/report", "export/stats", "export/tables", "export/terminal", "mlflow", "mlflow/local", "mlflow/views",
		"planner", "planner/batch", "planner/claim", "planner/ledger", "planner/note", "planner/outcome", "planner/page", "planner/spec",
	}},
	{"cmd/internal/chaos", []string{"mlflow/mlflowtest"}},
	{"cmd/benchbatch", []string{"cmd/internal/cli"}},
	{"cmd/internal/archtest", nil},
	{"scripts/gotest", nil},
}

// trees says which trees the tests of a tree may use besides its own.
var trees = map[string][]string{
	"planner":  {"mlflow"},
	"executor": {"mlflow", "planner"},
	"export":   {"planner"},
	"examples": {"planner"},
	"cmd":      {"examples", "executor", "export", "mlflow", "planner"},
}

// confined names the one package that may use a library, tests aside.
var confined = map[string]string{
	"github.com/apache/arrow-go/v18":        "export/tables",
	"github.com/chromedp":                   "export/exporttest/browser",
	"github.com/gowebpki/jcs":               "planner/batch",
	"github.com/hashicorp/go-retryablehttp": "mlflow",
	"github.com/parquet-go/parquet-go":      "export/tables",
	"github.com/spf13/cobra":                "cmd/internal/cli",
	"github.com/vbauerster/mpb/v8":          "cmd/internal/cli",
	"go.yaml.in/yaml/v4":                    "planner/spec",
}

func TestImportsPointDownwards(t *testing.T) {
	found := sources(t)
	may := map[string][]string{}
	var below []string
	for _, p := range packages {
		for _, m := range p.may {
			assert.Contains(t, below, m, "%s stands before %s in the list: imports point downwards", p.path, m)
		}
		below = append(below, p.path)
		may[p.path] = p.may
		assert.NotEmpty(t, found[p.path], "the list names %s, which is gone: remove it", p.path)
	}
	for dir, files := range found {
		if !assert.Contains(t, below, dir, "a package is not in the list: add it where it belongs, here and in docs/architecture.md") {
			continue
		}
		for _, f := range files {
			for _, imported := range f.imports {
				checkImport(t, f, imported, dir, may[dir])
			}
		}
	}
}

func checkImport(t *testing.T, f source, imported, dir string, may []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		tree, _, _ := strings.Cut(dir, "/")
		other, _, _ := strings.Cut(own, "/")
		switch {
		case f.test:
			assert.True(t, other == tree || slices.Contains(trees[tree], other), "%s: tests of %s may not import %s", f.name, tree, own)
		default:
			assert.Contains(t, may, own, "%s: %s may not import %s", f.name, dir, own)
		}
		return
	}
	for library, where := range confined {
		if f.test || (imported != library && !strings.HasPrefix(imported, library+"/")) {
			continue
		}
		assert.Equal(t, where, dir, "%s: %s is used in one package alone", f.name, library)
	}
}

// source is a Go file with what it imports.
type source struct {
	name    string // slash path in the module
	test    bool
	imports []string
}

// sources reads the imports of every Go file of the module, by package folder,
// for all systems.
func sources(t *testing.T) map[string][]source {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "go.mod"))
	found := map[string][]source{}
	err = fs.WalkDir(os.DirFS(root), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != "." && (strings.HasPrefix(e.Name(), ".") || slices.Contains([]string{"testdata", "demo", "bin"}, e.Name())):
			return fs.SkipDir
		case e.IsDir() || path.Ext(p) != ".go":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, p), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{name: p, test: strings.HasSuffix(p, "_test.go")}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		found[path.Dir(p)] = append(found[path.Dir(p)], s)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(found), 10, "the module was not found")
	return found
}

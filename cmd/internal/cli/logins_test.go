package cli

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/mlflow/views"
)

// guarded is a shell whose server lets in who logs in.
type guarded struct {
	*shell
	server *mlflowtest.Special
	said   strings.Builder // by all commands
}

var passwords = map[string]string{"owner": "opens-4711-the-door", "editor": "edits-4712-the-text", "reader": "reads-4713-the-book", "outsider": "waits-4714-outside"}

// do runs a command as a user; "" = who does not log in.
func (g *guarded) do(user string, args ...string) said {
	g.t.Helper()
	g.env["MLFLOW_TRACKING_USERNAME"], g.env["MLFLOW_TRACKING_PASSWORD"] = user, passwords[user]
	got := g.run(args...)
	g.said.WriteString(got.out + got.stderr)
	return got
}

func (g *guarded) done(user string, args ...string) string {
	g.t.Helper()
	return g.ends(ExitDone, user, args...)
}

func (g *guarded) ends(code int, user string, args ...string) string {
	g.t.Helper()
	got := g.do(user, args...)
	require.Equal(g.t, code, got.code, "%s: %v\n%s%s", user, args, got.out, got.stderr)
	return got.out
}

func (g *guarded) refused(says []string, user string, args ...string) {
	g.t.Helper()
	got := g.do(user, args...)
	assert.Equal(g.t, ExitFailed, got.code, "%s: %v", user, args)
	for _, text := range says {
		assert.Contains(g.t, got.out+got.stderr, text, "%s: %v", user, args)
	}
}

// TestLogins on servers with basic authentication: who owns the experiment, who may edit it, who may read it, and who may not log in.
func TestLogins(t *testing.T) {
	for v, setup := range map[mlflowtest.Version]mlflowtest.Setup{mlflowtest.Newest: {Logins: true, Prefix: "/ml"}, mlflowtest.Oldest: {Logins: true}} {
		t.Run(string(v), func(t *testing.T) {
			server := mlflowtest.RealWith(t, v, setup)
			for user, password := range passwords {
				server.AddUser(t, user, password)
			}
			g := &guarded{shell: newShellAt(t, server.Address), server: server}
			g.edit("benchmark.yaml", "  - {id: careful, version: \"1\", files: [agents/careful/]}\n", "")
			g.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
			g.edit("benchmark.yaml", "  timeout: 2m", "  timeout: 2m\n  mlflow: true")
			if v == mlflowtest.Newest {
				g.traced("scores")
			}
			g.owns(v)
			g.reads()
			g.edits()
			g.strangers()
			g.keepsPasswords()
		})
	}
}

// owns begins a batch, and leaves half of it.
func (g *guarded) owns(v mlflowtest.Version) {
	g.ends(ExitIncomplete, "owner", "run", g.spec, "--only", "model=m-one")
	assert.Len(g.t, g.starts(), 1)
	out := g.done("owner", "doctor", "--experiment", g.name())
	assert.NotContains(g.t, out, "FAILED")
	assert.Contains(g.t, out, "through the server's proxy")
	assert.Contains(g.t, g.done("owner", "gc"), "nothing is RUNNING")
	out = g.ends(ExitIncomplete, "owner", "status", "latest")
	assert.Contains(g.t, out, "2 planned = 0 reused + 1 done")
	assert.Contains(g.t, out, "1  nobody is at work")
	if v == mlflowtest.Newest {
		assert.NotEmpty(g.t, g.traces(), "scores are written")
	}
}

// reads looks at everything, and starts nothing.
func (g *guarded) reads() {
	assert.Contains(g.t, g.done("reader", "plan", g.spec), "2 planned = 0 reused + 1 done + 1 missing")
	assert.Contains(g.t, g.ends(ExitIncomplete, "reader", "status", g.spec), "1 done")
	g.server.Grant(g.t, g.experiment(), "outsider", "NO_PERMISSIONS")
	for _, command := range []string{"plan", "run"} { // what can't be read is never taken for nothing
		g.refused([]string{`user "outsider": Permission denied`, "READ permission on the experiment"}, "outsider", command, g.spec)
	}
	assert.Contains(g.t, g.done("reader", "open"), g.server.Address+"/#/experiments/")
	before := len(g.runs(""))
	for _, spec := range []string{"as it is", "more repeats"} {
		if spec == "more repeats" {
			g.edit("benchmark.yaml", "repeats: 1", "repeats: 2")
		}
		g.refused([]string{`user "reader" may not write in experiment "` + g.name() + `" (id ` + g.experiment() + `), which takes EDIT permission: nothing was started or paid`,
			"ask whoever owns it", "READ alone", "HTTP 403", "Permission denied"}, "reader", "run", g.spec)
	}
	g.edit("benchmark.yaml", "repeats: 2", "repeats: 1")
	assert.Len(g.t, g.starts(), 1)
	assert.Len(g.t, g.runs(""), before)
	edit := []string{`user "reader": Permission denied`, "EDIT permission on the experiment"}
	g.refused(edit, "reader", "doctor", "--experiment", g.name())
	g.refused(edit, "reader", "stop", "latest")
	assert.Len(g.t, g.runs(""), before)
}

// edits finishes what another user began, and looks at it again as one who may read.
func (g *guarded) edits() {
	g.server.Grant(g.t, g.experiment(), "editor", "EDIT")
	g.done("owner", "stop", "latest")
	g.done("editor", "run", g.spec)
	assert.Len(g.t, g.starts(), 2)
	out := g.done("editor", "doctor", "--experiment", g.name())
	assert.Contains(g.t, out, `user "editor" may not (it takes MANAGE permission)`)
	e, err := g.client().GetExperiment(g.t.Context(), g.experiment())
	require.NoError(g.t, err)
	assert.Len(g.t, views.IDs(e, ""), 5)
	for _, user := range []string{"owner", "reader"} {
		folder := strings.TrimSpace(g.done(user, "export", "latest", "--out", "of-"+user))
		g.done(user, "verify", folder)
		g.done(user, "report", folder)
	}
	assert.Contains(g.t, g.done("reader", "plan", g.spec), "is finished and frozen")
	g.done("owner", "uninstall-views")
}

func (g *guarded) strangers() {
	passwords["stranger"] = "guesses-4715"
	defer delete(passwords, "stranger")
	for user, says := range map[string]string{"stranger": `user "stranger"`, "": "nobody is logged in"} {
		for _, args := range [][]string{{"plan", g.spec}, {"run", g.spec}, {"status"}, {"export", "latest"}, {"doctor"}} {
			g.refused([]string{"HTTP 401", says, "not authenticated", "MLFLOW_TRACKING_PASSWORD"}, user, args...)
		}
	}
	assert.Len(g.t, g.starts(), 2)
}

// keepsPasswords looks for passwords in what was said, in the folders of commands and
// in everything that the server stores, inside bundles too.
func (g *guarded) keepsPasswords() {
	texts := map[string]string{"what commands said": g.said.String()}
	bundles := 0
	for _, root := range []string{g.dir, g.server.Dir} {
		require.NoError(g.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".zst") {
				bundles++
				texts[path+" unpacked"] = unpacked(g.t, b)
			}
			texts[path] = string(b)
			return err
		}))
	}
	assert.GreaterOrEqual(g.t, bundles, 6, "two in MLflow, two in each folder")
	for name, text := range texts {
		for user, password := range passwords {
			assert.False(g.t, strings.Contains(text, password), "%s holds the password of %s", name, user)
			assert.False(g.t, strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(user+":"+password))), "%s holds the login of %s", name, user)
		}
	}
}

func unpacked(t *testing.T, b []byte) string {
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	b, err = d.DecodeAll(b, nil)
	require.NoError(t, err)
	return string(b)
}

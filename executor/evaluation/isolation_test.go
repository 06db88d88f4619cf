package evaluation_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// snoop is a runner that goes looking and writes down what it finds.
const snoop = `
import subprocess
found = {'env': dict(os.environ), 'home': os.listdir(os.environ['HOME']), 'tmp': os.listdir(os.environ['TMPDIR']), 'cwd': os.getcwd()}
found['git'] = subprocess.run(['git', 'rev-parse', '--show-toplevel'], capture_output=True).returncode
around = []
for dir, folders, files in os.walk('..'):
    around += [os.path.relpath(os.path.join(dir, f), '..') for f in files]
found['around'] = sorted(around)
found['texts'] = ''.join(open(os.path.join('..', f), errors='replace').read() for f in around if not f.startswith('out/'))
found['parents'] = []
at = os.getcwd()
while at != '/':
    at = os.path.dirname(at)
    found['parents'].append(os.path.exists(at + '/.git'))
json.dump(found, open(out + '/found.json', 'w'))
`

func (b *bench) found() map[string]any {
	b.t.Helper()
	return parse(b.t, b.bundle()["attempt-1/runner/out/found.json"])
}

func TestARunnerThatGoesLookingFindsNothing(t *testing.T) {
	b := newBench(t, 1, "")
	require.NoError(t, exec.Command("git", "init", "-q", b.req.Spec.Dir).Run())
	b.python("run.sh", snoop+scoreNothing)
	b.script("judge.sh", `grep -q expected-1 "$BENCHBATCH_JOB" && printf '{"task":"T-1","score":1}\n' > "$BENCHBATCH_OUT/outcomes.jsonl"`)
	b.file("answers.txt", "expected-1", 0o644)
	b.file("policies/refund.md", "refunds", 0o644)
	b.file("policies/__pycache__/x.pyc", "cache", 0o644)
	b.file("mine/prompt.md", "mine", 0o644)
	b.file("other/prompt.md", "of the other agent", 0o644)
	b.file("brain-v1/skills/a.md", "brain", 0o644)
	b.req.Spec.Judge = &spec.JudgeStage{Command: []string{"./judge.sh"}}
	b.req.Spec.Recipe.Include = []string{"policies/"}
	b.req.Spec.Brain = "brain-v1/"
	b.req.Agent.Files = []string{"mine/"}
	b.req.Agent.BrainPlacement = ".agent/brain"
	b.req.Spec.Runner.Env, b.req.Spec.Runner.PassEnv, b.req.Spec.Runner.Secrets = []string{"REGION", "UNSET"}, []string{"GATEWAY_URL"}, []string{"TOKEN"}
	b.env["REGION"], b.env["GATEWAY_URL"], b.env["TOKEN"] = "eu", "http://gateway", "token-0123456789"
	b.env["MLFLOW_TRACKING_URI"], b.env["AWS_SECRET_ACCESS_KEY"] = "http://tracking", "aws"
	b.req.MLflowEnv = []string{"MLFLOW_TRACKING_URI=http://tracking"}
	m := b.measure()
	require.Equal(t, batch.StateComplete, m.State, m.Reason)

	found := b.found()
	env := found["env"].(map[string]any)
	names := []string{}
	for name := range env {
		if name != "PWD" && name != "SHLVL" && name != "_" && name != "LC_CTYPE" { // of shells and Python themselves
			names = append(names, name)
		}
	}
	assert.ElementsMatch(t, []string{"PATH", "LANG", "HOME", "TMPDIR", "BENCHBATCH_JOB", "BENCHBATCH_OUT", "REGION", "GATEWAY_URL", "TOKEN"}, names)
	assert.Equal(t, "[redacted:TOKEN]", env["TOKEN"])
	assert.NotEqual(t, "/home/someone", env["HOME"])
	assert.Empty(t, found["home"])
	assert.Empty(t, found["tmp"])
	assert.NotEqual(t, 0.0, found["git"], "the working folder is in no repository")
	assert.NotContains(t, found["parents"], true)
	assert.Equal(t, []any{"job.json", "stderr.log", "stdout.log", "work/.agent/brain/skills/a.md", "work/mine/prompt.md", "work/policies/refund.md", "work/run.sh"}, found["around"])
	assert.NotContains(t, found["texts"], "expected-1")
	assert.NotContains(t, found["texts"], b.req.Spec.Dir)
	assert.Contains(t, b.bundle()["attempt-1/judge/job.json"], "question 1")
	assert.NotContains(t, b.everything(), "expected-1", "the judge had the expected answer, the evidence has not")
}

// scoreNothing answers every task and leaves scoring to a judge.
const scoreNothing = `
with open(out + '/outcomes.jsonl', 'w') as f:
    for t in job['tasks']:
        f.write(json.dumps({'task': t['id'], 'cost_usd': 0.01}) + '\n')
`

func TestMLflowOnlyOnRequest(t *testing.T) {
	b := newBench(t, 1, "")
	b.python("run.sh", snoop+scoreAll)
	b.req.Spec.Runner.MLflow = true
	b.req.Spec.Runner.Home = "user"
	b.env["HOME"] = t.TempDir()
	b.req.MLflowEnv = []string{"MLFLOW_TRACKING_URI=http://tracking", "MLFLOW_RUN_ID=abc"}
	b.measure()
	env := b.found()["env"].(map[string]any)
	assert.Equal(t, "http://tracking", env["MLFLOW_TRACKING_URI"])
	assert.Equal(t, b.env["HOME"], env["HOME"])
}

func TestEnvironmentProblemsStopBeforeAnythingIsPaid(t *testing.T) {
	for want, change := range map[string]func(*spec.Runner){
		"runner.mlflow": func(r *spec.Runner) { r.PassEnv = []string{"MLFLOW_TRACKING_URI"} },
		"TOKEN to the process, but it is not set": func(r *spec.Runner) { r.Secrets = []string{"TOKEN"} },
	} {
		b := newBench(t, 1, "touch "+filepath.Join(t.TempDir(), "started"))
		change(&b.req.Spec.Runner)
		_, err := evaluation.Measure(context.Background(), b.req)
		require.ErrorContains(t, err, want)
		left, err := os.ReadDir(b.req.Dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestOnlyWhatWasHashedIsCopied(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*bench)
	}{
		{"changed", "policies/a.md changed after it was hashed", func(b *bench) { b.file("policies/a.md", "new", 0o644) }},
		{"added", "policies/b.md was not there", func(b *bench) { b.file("policies/b.md", "new", 0o644) }},
		{"gone", "policies/c.md is gone", func(b *bench) { require.NoError(b.t, os.Remove(filepath.Join(b.req.Spec.Dir, "policies/c.md"))) }},
		{"link", "policies/l is not a regular file", func(b *bench) {
			require.NoError(b.t, os.Symlink("/etc/passwd", filepath.Join(b.req.Spec.Dir, "policies/l")))
		}},
		{"linked folder", "linked is a symbolic link", func(b *bench) {
			require.NoError(b.t, os.Symlink("policies", filepath.Join(b.req.Spec.Dir, "linked")))
			b.req.Spec.Recipe.Include = []string{"linked/a.md"}
		}},
		{"outside", "not below the spec's folder", func(b *bench) { b.req.Spec.Recipe.Include = []string{"../x"} }},
		{"brain over a file", "file exists", func(b *bench) { b.req.Spec.Brain, b.req.Agent.BrainPlacement = "policies", "policies" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1, "")
			b.python("run.sh", scoreAll)
			b.file("policies/a.md", "a", 0o644)
			b.file("policies/c.md", "c", 0o644)
			b.req.Spec.Recipe.Include = []string{"policies/"}
			b.req.Files = map[string]batch.Digest{}
			for _, name := range []string{"run.sh", "policies/a.md", "policies/c.md"} {
				content, err := os.ReadFile(filepath.Join(b.req.Spec.Dir, name))
				require.NoError(t, err)
				b.req.Files[name] = batch.Sum(content)
			}
			c.change(b)
			_, err := evaluation.Measure(context.Background(), b.req)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheSourceIsNeverModified(t *testing.T) {
	b := newBench(t, 1, "")
	b.python("run.sh", `open('policies/a.md', 'w').write('changed')`+"\n"+scoreAll)
	b.file("policies/a.md", "a", 0o444)
	b.req.Spec.Recipe.Include = []string{"policies/"}
	m := b.measure()
	assert.Equal(t, batch.StateComplete, m.State, m.Reason)
	content, err := os.ReadFile(filepath.Join(b.req.Spec.Dir, "policies/a.md"))
	require.NoError(t, err)
	assert.Equal(t, "a", string(content))
}

func TestWorkRootInsideARepositoryIsNotUsed(t *testing.T) {
	repo := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(repo, ".git"), 0o700))
	tree, err := evaluation.NewTree(filepath.Join(repo, "deep", "below"), "u")
	require.NoError(t, err)
	defer tree.Remove()
	assert.False(t, strings.HasPrefix(tree.Root, repo))
	info, err := os.Stat(tree.Root)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestATreeIsNotFoundByListing(t *testing.T) {
	base := t.TempDir()
	tree, err := evaluation.NewTree(base, "u")
	require.NoError(t, err)
	info, err := os.Stat(filepath.Dir(tree.Root))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o300), info.Mode().Perm(), "nobody is told the name of what is in it")
	other, err := evaluation.NewTree(base, "u")
	require.NoError(t, err)
	assert.NotEqual(t, filepath.Base(tree.Root), filepath.Base(other.Root))
	assert.Len(t, filepath.Base(tree.Root), 26, "128 bits can't be guessed")
	require.NoError(t, os.WriteFile(tree.Job(), nil, 0o600), "who knows the name gets there")
	require.NoError(t, tree.Remove())
	require.NoError(t, other.Remove())
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestWhatAKilledLauncherLeftIsRemoved(t *testing.T) {
	root := t.TempDir()
	mine, err := evaluation.NewTree(root, "uuid-1")
	require.NoError(t, err)
	other, err := evaluation.NewTree(root, "uuid-2")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(mine.Work(), 0o500))
	require.NoError(t, evaluation.RemoveLeft(root, "uuid-1"))
	assert.NoDirExists(t, mine.Root)
	assert.DirExists(t, other.Root)
	require.Error(t, evaluation.RemoveLeft(root, ""))
}

// TestWhatWasFinishedIsNotRemovedByOthers: a launcher that closes another one's run leaves it what was paid for.
func TestWhatWasFinishedIsNotRemovedByOthers(t *testing.T) {
	root := t.TempDir()
	finished, err := evaluation.NewTree(root, "uuid-1")
	require.NoError(t, err)
	begun, err := evaluation.NewTree(root, "uuid-1")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(finished.Out(), "outcomes.jsonl"), []byte("{\"task\":\"T-1\"}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(begun.Out(), "outcomes.jsonl"), nil, 0o600))
	require.NoError(t, evaluation.RemoveUnfinished(root, "uuid-1"))
	assert.DirExists(t, finished.Root)
	assert.NoDirExists(t, begun.Root)
	require.NoError(t, evaluation.RemoveLeft(root, "uuid-1"))
	assert.NoDirExists(t, finished.Root)
}

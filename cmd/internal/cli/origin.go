package cli

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// origin is where the runs of a spec come from, as MLflow shows it.
func (a *App) origin(ctx context.Context, s *spec.Spec) ledger.Origin {
	command := "run"
	if s.Of() != nil {
		command = "calibrate"
	}
	o := ledger.Origin{User: cmp.Or(a.getenv("USER"), a.getenv("LOGNAME")), Source: "benchbatch " + command + " " + cleanLine(filepath.Base(s.Path))}
	o.Commit, o.Branch = revision(ctx, s.Dir)
	return o
}

var commitPattern = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// revision is the commit and the branch of the git repository that holds a folder; "" where there is no repository, no commit or no git.
func revision(ctx context.Context, dir string) (commit, branch string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }) // a hook's, of another repository
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	if commit = git("rev-parse", "--verify", "HEAD"); !commitPattern.MatchString(commit) {
		return "", ""
	}
	return commit, git("symbolic-ref", "--short", "--quiet", "HEAD")
}

package preflight

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/executor/process"
)

// command asks by a program of the user's: exit code 0 means that the model
// answers. It runs as a runner would, with BENCHBATCH_MODEL naming the route.
func (c *check) command(ctx context.Context) (r Result, err error) {
	tree, err := evaluation.NewTree("", "preflight")
	if err != nil {
		return r, err
	}
	defer tree.Remove()
	w, err := c.work(tree)
	if err != nil {
		return r, err
	}
	r.Calls = 1
	end, err := process.Launcher{}.Launch(ctx, w)
	if err != nil {
		return r, c.fault(Command, err.Error(), "correct preflight.command")
	}
	r.Answer = c.head(w.Stdout)
	said := c.head(w.Stderr)
	if said == "" {
		said = r.Answer
	}
	switch {
	case end.Interrupted:
		return r, ctx.Err()
	case end.TimedOut:
		return r, c.fault(TimedOut, fmt.Sprintf("the command did not end within %s", c.p.Timeout), "see whether the endpoint is alive, or raise preflight.timeout")
	case end.Signal != "":
		return r, c.fault(Command, "the command was ended by a signal ("+end.Signal+"): "+said, "run it by hand")
	case end.ExitCode != 0:
		return r, c.fault(Command, fmt.Sprintf("the command exited with %d: %s", end.ExitCode, said), "run it by hand")
	}
	return r, nil
}

func (c *check) work(tree evaluation.Tree) (evaluation.Work, error) {
	files, err := evaluation.NewCopier(c.spec.Dir, nil)
	if err != nil {
		return evaluation.Work{}, err
	}
	defer files.Close()
	s := c.spec.Runner
	names := slices.Concat(c.spec.Recipe.Include, s.Files, files.CommandFiles(c.p.Command))
	if err := files.Copy(tree.Work(), names...); err != nil {
		return evaluation.Work{}, err
	}
	secrets := s.Secrets
	if c.p.Key != "" {
		secrets = append(slices.Clone(secrets), c.p.Key)
	}
	env, err := evaluation.Environ(tree, tree.Home(), evaluation.Allowed{Env: s.Env, PassEnv: s.PassEnv, Secrets: secrets}, c.lookup)
	if err != nil {
		return evaluation.Work{}, err
	}
	return evaluation.Work{
		Command: c.p.Command, Dir: tree.Work(), Env: append(env, "BENCHBATCH_MODEL="+c.model.Route),
		Stdout: tree.File("stdout.log"), Stderr: tree.File("stderr.log"),
		Timeout: c.p.Timeout, Grace: evaluation.DefaultGrace, MaxOutput: maxAnswer,
	}, nil
}

// head is the beginning of a log, on one line.
func (c *check) head(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(f, 64<<10))
	return c.clean(b.String(), 300)
}

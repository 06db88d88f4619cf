package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// checkEnvironment refuses to start what would miss a variable that the spec passes on.
func (a *App) checkEnvironment(s *spec.Spec, p *planner.Plan) error {
	if len(p.Missing()) == 0 {
		return nil
	}
	if text := a.unset(s); text != "" {
		return usageError{errors.New(text)}
	}
	return nil
}

// unset names the variables that the spec passes on and that are not set; "" = all are.
func (a *App) unset(s *spec.Spec) string {
	names := slices.Concat(s.Runner.PassEnv, s.Runner.Secrets)
	if s.Judge != nil {
		names = slices.Concat(names, s.Judge.PassEnv, s.Judge.Secrets)
	}
	var unset []string
	for _, name := range names {
		if _, ok := a.Env(name); !ok && !slices.Contains(unset, name) {
			unset = append(unset, name)
		}
	}
	if len(unset) == 0 {
		return ""
	}
	return fmt.Sprintf("the spec passes %s on to its programs, but the environment does not set it; export it first (it may be empty)", strings.Join(unset, ", "))
}

// lacking is what this machine lacks for a run of the spec.
func (a *App) lacking(s *spec.Spec) []string {
	out := []string{}
	for _, err := range a.programs(s) {
		out = append(out, err.Error())
	}
	if text := a.unset(s); text != "" {
		out = append(out, text)
	}
	return out
}

// checkPrograms refuses to start what can't start: a program that is not on the
// PATH, or a file of the benchmark that may not be executed.
func (a *App) checkPrograms(s *spec.Spec, p *planner.Plan) error {
	if len(p.Missing()) == 0 {
		return nil
	}
	var all error
	for _, err := range a.programs(s) {
		all = errors.Join(all, usageError{err})
	}
	return all
}

// programs says which programs of the spec can't start here.
func (a *App) programs(s *spec.Spec) []error {
	var judge []string
	if s.Judge != nil {
		judge = s.Judge.Command
	}
	var all []error
	for _, c := range []struct {
		field   string
		command []string
	}{{"runner.command", s.Runner.Command}, {"runner.check", s.Runner.Check}, {"judge.command", judge}} {
		if len(c.command) == 0 {
			continue
		}
		if err := a.checkProgram(s.Dir, c.command[0]); err != nil {
			all = append(all, fmt.Errorf("%s: %w", c.field, err))
		}
	}
	return all
}

func (a *App) checkProgram(dir, program string) error {
	if !strings.Contains(program, "/") {
		for _, folder := range filepath.SplitList(a.getenv("PATH")) {
			if f, err := os.Stat(filepath.Join(folder, program)); err == nil && f.Mode().IsRegular() && f.Mode()&0o111 != 0 {
				return nil
			}
		}
		return fmt.Errorf("no program %s on the PATH; install it, or write ./%s for one of the benchmark's own", program, program)
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	f, err := os.Stat(program)
	if err != nil {
		return err
	}
	if f.Mode()&0o111 == 0 {
		return fmt.Errorf("%s may not be executed; run: chmod +x %s", program, program)
	}
	return nil
}

// checkVersions runs the version command of every agent that would be started: a
// label must not stand for another program than it says.
func (a *App) checkVersions(ctx context.Context, s *spec.Spec, p *planner.Plan) error {
	var needed []string
	for _, slot := range p.Missing() {
		if !slices.Contains(needed, slot.Cell.Agent) {
			needed = append(needed, slot.Cell.Agent)
		}
	}
	for _, agent := range s.Agents {
		if len(agent.VersionCommand) == 0 || !slices.Contains(needed, agent.ID) {
			continue
		}
		if err := a.checkVersion(ctx, s.Dir, agent); err != nil {
			return usageError{err}
		}
	}
	return nil
}

func (a *App) checkVersion(ctx context.Context, dir string, agent spec.Agent) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, agent.VersionCommand[0], agent.VersionCommand[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + a.getenv("PATH"), "HOME=" + a.getenv("HOME"), "LANG=C.UTF-8"}
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("agent %s: version_command %s: %w", agent.ID, strings.Join(agent.VersionCommand, " "), err)
	}
	words := strings.FieldsFunc(string(said), func(r rune) bool { return strings.ContainsRune(" \t\r\n,;()\"'", r) })
	for _, w := range words {
		if w == agent.Version || strings.TrimPrefix(w, "v") == strings.TrimPrefix(agent.Version, "v") {
			return nil
		}
	}
	return fmt.Errorf("agent %s: the spec says version %s, but %s printed %q; install that version, or change the spec (its cells are then measured anew)",
		agent.ID, agent.Version, strings.Join(agent.VersionCommand, " "), oneLine(string(said)))
}

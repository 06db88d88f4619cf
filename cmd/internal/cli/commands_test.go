package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// walk visits every command below the root.
func walk(c *cobra.Command, visit func(path []string, c *cobra.Command)) {
	for _, sub := range c.Commands() {
		visit(strings.Fields(sub.CommandPath())[1:], sub)
		walk(sub, visit)
	}
}

// TestCommands: every command shows examples, and refuses flags and arguments that it does not know.
func TestCommands(t *testing.T) {
	s := newShellAt(t, "")
	seen := 0
	walk((&App{}).root(), func(path []string, c *cobra.Command) {
		seen++
		assert.NotEmpty(t, c.Short, path)
		assert.True(t, strings.HasPrefix(c.Example, "  benchbatch "+path[0]), "%v has an example", path)
		help := s.ok(append(path, "--help")...).out
		fits(t, help)
		assert.Contains(t, help, "Examples:\n  benchbatch "+path[0], path)
		got := s.run(append(path, "--no-such-flag")...)
		assert.Equal(t, ExitUsage, got.code, path)
		assert.Contains(t, got.stderr, "--no-such-flag")
		got = s.run(append(path, "one", "two", "three")...)
		assert.Equal(t, ExitUsage, got.code, path)
		assert.Empty(t, got.out, path)
	})
	assert.Greater(t, seen, 15)
	for _, args := range [][]string{{"bogus"}, {"server", "bogus"}, {"plan"}, {"run"}, {"check"}, {"export"}, {"verify"}, {"init"}, {"run", s.spec, "--at-once", "many"}} {
		got := s.run(args...)
		assert.Equal(t, ExitUsage, got.code, args)
		assert.Contains(t, got.stderr, "error: ", args)
	}
	help := s.ok("--help").out
	fits(t, help)
	assert.Contains(t, help, "benchbatch demo")
	walk((&App{}).root(), func(path []string, c *cobra.Command) {
		if len(path) == 1 {
			assert.Contains(t, help, c.Short)
		}
	})
	assert.Contains(t, s.ok("--version").out, "benchbatch")
}

// fits checks that no line is wider than a terminal.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, terminal.Width(strings.TrimSuffix(line, "\n")), terminal.Columns, line)
	}
}

// TestResultsAsJSON: one JSON value on stdout for every command that prints results, and no text beside it.
func TestResultsAsJSON(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	var r ran
	s.json(&r, "run", s.spec)
	for _, c := range []struct {
		args []string
		has  string
	}{
		{[]string{"init", filepath.Join(s.dir, "fresh")}, "files"},
		{[]string{"check", s.spec}, "cells"},
		{[]string{"plan", s.spec}, "counts"},
		{[]string{"plan", s.spec, "--explain", "quick+m-one"}, "changes_since"},
		{[]string{"run", s.spec}, "folder"},
		{[]string{"status"}, "cells"},
		{[]string{"status", r.Name}, "frozen"},
		{[]string{"export", "latest"}, "folder"},
		{[]string{"export", r.Batch}, "batch"},
		{[]string{"verify", r.Folder}, "files"},
		{[]string{"server", "status"}, "running"},
		{[]string{"server", "stop"}, "stopped"},
	} {
		var v map[string]any
		got := s.json(&v, c.args...)
		assert.Equal(t, ExitDone, got.code, "%v: %s", c.args, got.stderr)
		assert.Contains(t, v, c.has, c.args)
	}
	for _, args := range [][]string{{"hash", s.spec}, {"doctor"}} {
		var v []map[string]any
		assert.Equal(t, ExitDone, s.json(&v, args...).code, args)
		assert.NotEmpty(t, v, args)
	}
	typed, err := os.ReadFile(s.spec)
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join(r.Folder, "spec.yaml"))
	require.NoError(t, err)
	assert.Equal(t, string(typed), string(kept), "the spec is frozen as it was typed")
	got := s.run("check", filepath.Join(s.dir, "none.yaml"), "--json")
	assert.Equal(t, ExitUsage, got.code)
	assert.Contains(t, got.out, `"message": "does not exist"`, "what is wrong with a spec is the result of check")
	got = s.run("plan", filepath.Join(s.dir, "none.yaml"), "--json")
	assert.Equal(t, ExitUsage, got.code)
	assert.Empty(t, got.out, "an error is conversation")
}

// TestIncompleteIsSaid: exit code 4 wherever repeats are missing.
func TestIncompleteIsSaid(t *testing.T) {
	s, _ := fakeShell(t)
	s.small()
	var r ran
	got := s.json(&r, "run", s.spec, "--only", "model=m-one")
	assert.Equal(t, ExitIncomplete, got.code)
	assert.Contains(t, got.stderr, "1 not started: the batch is unfinished; run without --only to finish it")
	assert.False(t, r.Frozen)
	assert.Equal(t, ExitIncomplete, s.run("status").code)
	exported := s.run("export", "latest")
	assert.Equal(t, ExitIncomplete, exported.code)
	assert.Contains(t, exported.stderr, "is not frozen yet")
	p := s.plan()
	assert.Equal(t, r.Batch, p.Batch)
	assert.Contains(t, s.ok("plan", s.spec).out, "is unfinished\n  `benchbatch run` continues it")
	assert.Equal(t, r.Batch, s.measure().Batch)
	assert.Equal(t, ExitDone, s.run("status").code)
	assert.Len(t, s.starts(), 2)
}

// TestExitCodes is the table that scripts may rely on.
func TestExitCodes(t *testing.T) {
	for code, errs := range map[int][]error{
		ExitDone:   {nil},
		ExitFailed: {errors.New("any"), &mlflow.Error{Op: "runs/search", Kind: mlflow.ErrUnreachable}, &executor.Busy{}},
		ExitUsage: {usageError{errors.New("flag")}, spec.Problems{{Message: "wrong"}}, &planner.LabelTaken{}, &planner.OtherScheme{},
			errors.New(`unknown command "x" for "benchbatch"`), errors.New("accepts 1 arg(s), received 0")},
		ExitVerdict:     {refuted{"wrong too often"}},
		ExitIncomplete:  {incomplete{"left"}},
		ExitIntegrity:   {&ledger.IntegrityError{}, &export.IntegrityError{}, errors.Join(incomplete{"left"}, &ledger.IntegrityError{})},
		ExitInterrupted: {errInterrupted, context.Canceled},
	} {
		for _, err := range errs {
			assert.Equal(t, code, exitCode(err), "%v", err)
			if err != nil && !isCobraUsage(err) { // those are known by their text
				assert.Equal(t, code, exitCode(fmt.Errorf("wrapped: %w", err)), "%v", err)
			}
		}
	}
}

// TestWhatEndsInWords: an interrupt and a state are said as people say them.
func TestWhatEndsInWords(t *testing.T) {
	var said bytes.Buffer
	a := &App{Stderr: &said}
	assert.Equal(t, ExitInterrupted, a.finish(context.Canceled))
	assert.Equal(t, "error: interrupted\n", said.String())
	assert.Equal(t, "not started", inWords(batch.Slot{State: batch.SlotNotStarted, Reason: "not started"}))
	assert.Equal(t, "not started: the ceiling is reached", inWords(batch.Slot{State: batch.SlotNotStarted, Reason: "the ceiling is reached"}))
	assert.Equal(t, "skipped: 401", inWords(batch.Slot{State: batch.SlotSkipped, Reason: "401"}))
}

// TestPlanTextAndJSONAgree: the plan's JSON says the same as its text.
func TestPlanTextAndJSONAgree(t *testing.T) {
	s, _ := fakeShell(t)
	var p planned
	got := s.json(&p, "plan", s.spec)
	require.Equal(t, ExitDone, got.code)
	text := s.ok("plan", s.spec).out
	assert.Contains(t, text, fmt.Sprintf("%d planned = %d reused + %d done + %d missing", p.Counts.Planned, p.Counts.Reused, p.Counts.Done, p.Counts.NotStarted))
	assert.Nil(t, p.Estimate.CostUSD, "nothing is known yet, and unknown is not 0")
	assert.Equal(t, 8, p.Estimate.UnknownCost)
	assert.Contains(t, text, "missing: 8 evaluations; cost unknown; time unknown")
	b, err := json.Marshal(p.Ignored)
	require.NoError(t, err)
	assert.Equal(t, "[]", string(b))
}

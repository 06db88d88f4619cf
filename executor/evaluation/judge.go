package evaluation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Time limits of what scores, where the spec sets none.
const (
	defaultJudgeTimeout = 30 * time.Minute
	checkTimeout        = 10 * time.Minute
)

// score gives the open answers to the judge stage or the check. What could not
// be judged is given to it again, alone; the runner is not started for it.
func (m *measurement) score(ctx context.Context, n int, tasks []batch.Task, got map[string]answer) error {
	todo := openOf(tasks, got)
	for try := 1; len(todo) > 0 && ctx.Err() == nil; try++ {
		judge := m.judge
		if m.checked() {
			judge = m.check
		}
		views, err := judge(ctx, n, try, todo, got)
		last := err != nil || try > m.retries(outcome.Judge) || m.final != ""
		var judged []record
		for _, t := range todo {
			v, ok := views[t.ID]
			if !ok {
				continue // interrupted
			}
			if v.State == outcome.Judge && !last {
				m.judgedAgain(n, v)
				continue
			}
			got[t.ID] = answer{Outcome: m.merge(got[t.ID].Outcome, v)}
			if !m.checked() { // a check wrote it down at once
				judged = append(judged, got[t.ID].record(n))
			}
		}
		if err = errors.Join(err, m.journal.add(judged...)); err != nil {
			return err
		}
		if todo = openOf(tasks, got); last {
			return nil
		}
		if len(todo) > 0 && !sleep(ctx, m.req.Backoff(outcome.Judge, try)) {
			return nil
		}
	}
	return nil
}

func openOf(tasks []batch.Task, got map[string]answer) []batch.Task {
	var open []batch.Task
	for _, t := range tasks {
		if got[t.ID].open {
			open = append(open, t)
		}
	}
	return open
}

// judgedAgain adds the row of a judge's failure that is followed by another try.
// The runner did not run for it: what it cost stands with the answer.
func (m *measurement) judgedAgain(n int, v outcome.Outcome) {
	zero := 0.0
	row := outcome.Attempt{Outcome: outcome.Outcome{Task: v.Task, State: outcome.Judge, Attempt: n, Judges: v.Judges, CostUSD: &zero, Error: v.Error}}
	m.attempts = append(m.attempts, row)
	_ = m.journal.add(record{Again: &row}) // kept by the journal: who adds next meets the same error
}

// unjudged is an answer without a score because its judge failed.
func unjudged(o outcome.Outcome, why string) outcome.Outcome {
	o.State, o.Score, o.Passed = outcome.Judge, nil, nil
	o.Error = &outcome.Failure{Class: outcome.Judge, Message: cutText(why, 500)}
	return o
}

// merge adds a judge's view to the runner's outcome. Tokens, cost and time stay
// the runner's; what the judge cost stands in its votes.
func (m *measurement) merge(o, view outcome.Outcome) outcome.Outcome {
	o.Judges, o.Flags, o.Repaired = view.Judges, append(o.Flags, view.Flags...), o.Repaired || view.Repaired
	o.Score, o.Passed, o.Error = view.Score, view.Passed, view.Error
	settled, err := outcome.Settle(o, m.policy())
	if err != nil {
		return unjudged(o, err.Error())
	}
	return settled
}

// judge runs the judge stage once, in a folder of its own with a copy of what
// the runner left.
func (m *measurement) judge(ctx context.Context, n, try int, tasks []batch.Task, got map[string]answer) (map[string]outcome.Outcome, error) {
	s := m.req.Spec
	runnerOut := fmt.Sprintf("attempt-%d/runner/out", n)
	j := m.req.job(n, tasks, true)
	for i, t := range tasks {
		a := got[t.ID]
		j.Tasks[i].Output = strings.TrimPrefix(a.Output, runnerOut+"/")
		j.Tasks[i].Transcript = strings.TrimPrefix(a.Transcript, runnerOut+"/")
	}
	names := slices.Concat(s.Recipe.Include, s.Judge.Files, m.files.CommandFiles(s.Judge.Command))
	p, err := m.judgeProgram(names, j, m.keep.path(runnerOut))
	if err != nil {
		return nil, err
	}
	defer p.discard()
	limit := s.Judge.Timeout
	if limit <= 0 {
		limit = defaultJudgeTimeout
	}
	end, failed := m.launch(ctx, stage{Attempt: n, Stage: "judge", Try: try, Tasks: len(tasks)}, p, limit)
	l := m.readLines(p.tree.Out(), tasks)
	at := fmt.Sprintf("attempt-%d/judge", n)
	if try > 1 {
		at += fmt.Sprintf("-%d", try)
	}
	_, err = m.gather(p, at+"/out", at+"/", l) // what it said counts all the same: it is paid
	views := map[string]outcome.Outcome{}
	for _, t := range tasks {
		v, ok := m.view(t.ID, l, m.noVerdict(end, failed, "judge", limit))
		if ok || !end.Interrupted {
			views[t.ID] = v
		}
	}
	return views, err
}

// judgeProgram prepares the judge. The job is written last: it names the copy.
func (m *measurement) judgeProgram(names []string, j job, runnerOut string) (*program, error) {
	s := m.req.Spec
	p, err := m.program(s.Judge.Command, names, j, Allowed{s.Judge.Env, s.Judge.PassEnv, s.Judge.Secrets})
	if err != nil {
		return nil, err
	}
	j.RunnerOut = p.tree.File("runner_out")
	err = os.CopyFS(j.RunnerOut, os.DirFS(runnerOut))
	p.job = j
	if err == nil {
		err = j.write(p.tree.Job())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copying the runner's output for the judge: %w", err), p.tree.Remove())
	}
	return p, nil
}

// check runs the check once a task: exit code 0 is a pass, 1 a fail, anything
// else a failure of the check.
func (m *measurement) check(ctx context.Context, n, try int, tasks []batch.Task, got map[string]answer) (map[string]outcome.Outcome, error) {
	views := map[string]outcome.Outcome{}
	for _, t := range tasks {
		if ctx.Err() != nil || m.final != "" {
			break
		}
		v, reached, err := m.checkTask(ctx, n, try, t, got[t.ID])
		if reached {
			views[t.ID] = v
			if v.State != outcome.Judge { // it is not checked again
				err = errors.Join(err, m.journal.add(answer{Outcome: m.merge(got[t.ID].Outcome, v)}.record(n)))
			}
		}
		if err != nil {
			return views, err
		}
	}
	return views, nil
}

func (m *measurement) checkTask(ctx context.Context, n, try int, t batch.Task, a answer) (outcome.Outcome, bool, error) {
	s := m.req.Spec
	command := s.Runner.Check
	names := slices.Concat(s.Recipe.Include, m.files.CommandFiles(command))
	p, err := m.program(command, names, m.req.job(n, []batch.Task{t}, true), m.runnerVars())
	if err != nil {
		return a.Outcome, false, err
	}
	defer p.discard()
	p.env = append(p.env, "BENCHBATCH_TASK="+t.ID, "BENCHBATCH_MODEL="+m.req.Model.Route)
	if a.Output != "" {
		p.stdin = p.tree.File("answer")
		if err := copyFile(p.stdin, m.keep.path(a.Output)); err != nil {
			return a.Outcome, false, err
		}
	}
	end, failed := m.launch(ctx, stage{Attempt: n, Stage: "check", Try: try, Task: t.ID, Tasks: 1}, p, checkTimeout)
	l := m.readLines(p.tree.Out(), []batch.Task{t})
	at, name := fmt.Sprintf("attempt-%d/check", n), fileName(t.ID)
	if try > 1 {
		at += fmt.Sprintf("-%d", try)
	}
	tail := m.tail
	_, err = m.gather(p, at+"/out/tasks/"+name, at+"/logs/"+name+".", l)
	v, said := m.view(t.ID, l, m.noVerdict(end, failed, "check", checkTimeout))
	switch {
	case said:
	case end.Interrupted:
		return v, false, err
	case failed == "" && end.Signal == "" && !end.TimedOut && (end.ExitCode == 0 || end.ExitCode == 1):
		passed := end.ExitCode == 0
		score := float64(1 - end.ExitCode)
		v = outcome.Outcome{Task: t.ID, State: outcome.Scored, Score: &score, Passed: &passed}
		m.tail = tail
	}
	return v, true, err
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(filepath.FromSlash(from))
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// view is what a judge's line says: a score, a failure of the agent, or (for
// everything else) a failure of the judge. The result says whether there was a line.
func (m *measurement) view(task string, l *lines, none string) (outcome.Outcome, bool) {
	if why, ok := l.refused[task]; ok {
		return outcome.Failed(task, outcome.Judge, "the judge's "+batch.FileOutcomes+" "+cutText(why, 500)), true
	}
	o, ok := l.of[task]
	if !ok {
		return outcome.Failed(task, outcome.Judge, none), false
	}
	o.Judges = m.judgeCost(o)
	settled, err := outcome.Settle(o, m.policy())
	switch {
	case err != nil:
		m.problem("judge, task %s: %v", task, err)
		o.Error = &outcome.Failure{Class: outcome.Judge, Message: err.Error()}
	case settled.State == outcome.Scored || settled.State == outcome.Agent:
		return settled, true
	case settled.State != outcome.Judge:
		o.Error = &outcome.Failure{Class: outcome.Judge, Message: fmt.Sprintf("%s: %s", settled.State, o.Error.Message)}
	}
	o.State, o.Score, o.Passed = outcome.Judge, nil, nil
	return o, true
}

// judgeCost moves the cost of a judge's line into its votes, where no vote has one.
func (m *measurement) judgeCost(o outcome.Outcome) []outcome.Vote {
	if o.CostUSD == nil || slices.ContainsFunc(o.Judges, func(v outcome.Vote) bool { return v.CostUSD != nil }) {
		return o.Judges
	}
	votes := slices.Clone(o.Judges)
	if len(votes) == 0 {
		votes = []outcome.Vote{{Name: "judge", Score: o.Score}}
	}
	if len(votes) > 1 {
		m.problem("judge, task %s: cost_usd %v of the line is booked on its first vote; give each vote its own cost_usd", o.Task, *o.CostUSD)
	}
	votes[0].CostUSD = o.CostUSD
	return votes
}

// noVerdict says why there is no line of the judge.
func (m *measurement) noVerdict(end Ended, failed, what string, limit time.Duration) string {
	switch {
	case failed != "":
		return "the " + what + " did not start: " + failed
	case end.TimedOut:
		return fmt.Sprintf("no verdict: the %s was ended at its limit of %s", what, limit)
	}
	return "no verdict; the " + what + " " + howEnded(end) + m.lastWords()
}

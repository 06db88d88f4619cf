package evaluation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// answer is what the runner said about a task.
type answer struct {
	outcome.Outcome
	open bool // answered, but not scored yet
}

// attempt runs the runner, and a judge or check, on some tasks. Tasks that it
// did not reach are not in the result.
func (m *measurement) attempt(ctx context.Context, n int, tasks []batch.Task) (map[string]outcome.Outcome, error) {
	got := map[string]answer{}
	var err error
	if m.req.Spec.Runner.Unit == "task" {
		err = m.perTask(ctx, n, tasks, got)
	} else {
		err = m.whole(ctx, n, tasks, got)
	}
	return m.conclude(ctx, n, tasks, got, err)
}

// conclude scores the answers of an attempt; err is what its runner met.
func (m *measurement) conclude(ctx context.Context, n int, tasks []batch.Task, got map[string]answer, err error) (map[string]outcome.Outcome, error) {
	if err == nil {
		err = m.score(ctx, n, tasks, got)
	}
	out := make(map[string]outcome.Outcome, len(got))
	for id, a := range got {
		if a.open {
			why := cutBeforeJudged
			if err != nil {
				why = err.Error()
			}
			a.Outcome = unjudged(a.Outcome, why)
		}
		out[id] = a.Outcome
	}
	return out, err
}

// cutBeforeJudged is why an answer has no score that nobody was asked about any more.
const cutBeforeJudged = "interrupted before it was judged"

// scored says whether something other than the runner scores.
func (m *measurement) scored() bool { return m.req.Spec.Judge != nil || m.checked() }

func (m *measurement) checked() bool {
	return m.req.Spec.Judge == nil && m.req.Spec.Runner.Unit == "task" && len(m.req.Spec.Runner.Check) > 0
}

// whole starts the runner once for all tasks.
func (m *measurement) whole(ctx context.Context, n int, tasks []batch.Task, got map[string]answer) error {
	p, err := m.runner(n, tasks)
	if err != nil {
		return err
	}
	defer p.discard()
	stop := m.watch(p.tree.Out(), n, tasks)
	end, failed := m.launch(ctx, stage{Attempt: n, Stage: "runner", Tasks: len(tasks)}, p, m.left())
	stop()
	l := m.readLines(p.tree.Out(), tasks)
	at := fmt.Sprintf("attempt-%d/runner", n)
	kept, err := m.gather(p, at+"/out", at+"/", l)
	answers := make([]record, 0, len(tasks))
	for _, t := range tasks {
		a := m.answerOf(t.ID, l, kept, at+"/out", m.noOutcome(t.ID, end, failed))
		got[t.ID] = a
		answers = append(answers, a.record(n))
	}
	said := m.recordAnswers(answers...)
	p.unread = said != nil
	return errors.Join(err, said)
}

// recordAnswers writes down answers whose evidence is gathered: it is on disk before they are.
func (m *measurement) recordAnswers(answers ...record) error {
	if err := m.keep.flush(); err != nil {
		return err
	}
	return m.journal.add(answers...)
}

// record is the journal's line of an answer.
func (a answer) record(n int) record {
	a.Attempt = n
	return record{Answer: &journalAnswer{Open: a.open, Outcome: a.Outcome}}
}

// perTask starts the runner once a task.
func (m *measurement) perTask(ctx context.Context, n int, tasks []batch.Task, got map[string]answer) error {
	at := fmt.Sprintf("attempt-%d/runner", n)
	var record bytes.Buffer
	for i, t := range tasks {
		if ctx.Err() != nil || m.final != "" {
			break
		}
		if m.left() <= 0 {
			got[t.ID] = answer{Outcome: outcome.Failed(t.ID, outcome.Harness, fmt.Sprintf("not started: the evaluation's limit of %s had passed", m.limit()))}
			continue
		}
		a, err := m.oneTask(ctx, n, at, t)
		if a.Task != "" {
			got[t.ID] = a
			err = errors.Join(err, m.recordAnswers(a.record(n)))
		}
		if err != nil {
			return err
		}
		line := a.Outcome
		line.Output = strings.TrimPrefix(line.Output, at+"/out/")
		line.Transcript = strings.TrimPrefix(line.Transcript, at+"/out/")
		if err := outcome.Append(&record, line); err != nil {
			return err
		}
		m.progress(m.measured + i + 1)
	}
	return m.keep.text(at+"/out/"+batch.FileOutcomes, record.Bytes())
}

func (m *measurement) oneTask(ctx context.Context, n int, at string, t batch.Task) (a answer, err error) {
	p, err := m.runner(n, []batch.Task{t})
	if err != nil {
		return a, err
	}
	defer p.discard()
	p.stdin = p.tree.File("input")
	if err := os.WriteFile(p.stdin, []byte(text(t.Input)), 0o600); err != nil {
		return a, err
	}
	p.env = append(p.env, "BENCHBATCH_TASK="+t.ID, "BENCHBATCH_MODEL="+m.req.Model.Route)
	limit, own := m.left(), m.req.Spec.Recipe.Limits.TaskTimeout
	byTask := own > 0 && own < limit
	if byTask {
		limit = own
	}
	end, failed := m.launch(ctx, stage{Attempt: n, Stage: "runner", Task: t.ID, Tasks: 1}, p, limit)
	l := m.readLines(p.tree.Out(), []batch.Task{t})
	name := fileName(t.ID)
	kept, err := m.gather(p, at+"/out/tasks/"+name, at+"/logs/"+name+".", l)
	defer func(gathering error) { err = errors.Join(gathering, err) }(err)
	switch {
	case l.of[t.ID].Task != "" || l.refused[t.ID] != "":
		a = m.answerOf(t.ID, l, kept, at+"/out/tasks/"+name, outcome.Outcome{})
		if end.TimedOut {
			a.Flags = append(a.Flags, outcome.Flag{Audit: "timeout", Evidence: fmt.Sprintf("the runner had written this line, went on, and was ended at its limit of %s", limit)})
		}
	case failed == "" && end.TimedOut && byTask && !end.Interrupted:
		a.Outcome, err = outcome.Settle(outcome.Outcome{Task: t.ID, Error: &outcome.Failure{Class: outcome.Timeout, Message: fmt.Sprintf("ended at its limit of %s", limit)}}, m.policy())
	case failed == "" && end.ExitCode == 0 && !end.TimedOut && !end.Interrupted && m.scored():
		a, err = m.printed(t, p.tree, at)
	default:
		a.Outcome = m.noOutcome(t.ID, end, failed)
	}
	if a.DurationS == nil && failed == "" {
		a.DurationS = seconds(end.Ended.Sub(end.Started))
	}
	return a, err
}

// printed takes standard output as the answer.
func (m *measurement) printed(t batch.Task, tree Tree, at string) (answer, error) {
	f, err := os.Open(tree.File("stdout.log"))
	if err != nil {
		return answer{}, err
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := m.red.Copy(&b, io.LimitReader(f, m.wholeLog(f))); err != nil {
		return answer{}, err
	}
	said := bytes.TrimRight(b.Bytes(), "\r\n")
	name := at + "/out/answers/" + fileName(t.ID) + ".txt"
	o := outcome.Outcome{Task: t.ID, Output: name, Repaired: !utf8.Valid(said)}
	return answer{o, true}, m.keep.text(name, said)
}

// fileName is a task's id as a file name.
func fileName(id string) string {
	if id == "." || id == ".." {
		return "_" + id
	}
	return id
}

func (m *measurement) policy() outcome.TimeoutPolicy {
	return outcome.TimeoutPolicy(m.req.Spec.Recipe.TimeoutPolicy)
}

// answerOf is the runner's line for a task, checked; miss if there is none.
func (m *measurement) answerOf(task string, l *lines, kept map[string]string, at string, miss outcome.Outcome) answer {
	if why, ok := l.refused[task]; ok {
		return answer{Outcome: outcome.Failed(task, outcome.Harness, batch.FileOutcomes+" "+cutText(why, 500))}
	}
	o, ok := l.of[task]
	if !ok {
		return answer{Outcome: miss}
	}
	o.Output = m.bundled(task, "output", o.Output, kept, at)
	o.Transcript = m.bundled(task, "transcript", o.Transcript, kept, at)
	return m.settled(o, m.scored())
}

// settled checks a runner's line. One that something else scores stays open.
func (m *measurement) settled(o outcome.Outcome, scored bool) answer {
	task := o.Task
	if scored && o.Error == nil {
		if o.Score != nil {
			m.problem("task %s: the runner's own score %v is not used: the judge scores", task, *o.Score)
		}
		o.Score, o.Passed, o.Judges = nil, nil, nil
		return answer{o, true}
	}
	settled, err := outcome.Settle(o, m.policy())
	if err != nil {
		m.problem("task %s: %v", task, err)
		return answer{Outcome: paid(outcome.Failed(task, outcome.Harness, err.Error()), o)}
	}
	return answer{Outcome: settled}
}

// paid takes over what a refused line says about its cost.
func paid(o, from outcome.Outcome) outcome.Outcome {
	o.Tokens, o.CostUSD, o.DurationS, o.WaitS = from.Tokens, from.CostUSD, from.DurationS, from.WaitS
	return o
}

// bundled turns a path in the output folder into one in the bundle; "" if no such file was kept.
func (m *measurement) bundled(task, field, name string, kept map[string]string, at string) string {
	if name == "" {
		return ""
	}
	if rel, ok := kept[path.Clean(name)]; ok {
		return at + "/" + rel
	}
	m.problem("task %s: %s %q is not a file that the process left in its output folder", task, field, cutText(name, 200))
	return ""
}

// noOutcome says why a task has no line.
func (m *measurement) noOutcome(task string, end Ended, failed string) outcome.Outcome {
	class, why := outcome.Harness, ""
	switch {
	case failed != "":
		why = "the runner did not start: " + failed
	case end.Interrupted:
		class, why = outcome.NotRun, "interrupted before it had an outcome"
	case end.TimedOut:
		why = fmt.Sprintf("no outcome: the evaluation was ended at its limit of %s", m.limit())
	default:
		why = "no outcome; the runner " + howEnded(end) + m.lastWords()
	}
	return outcome.Failed(task, class, why)
}

func howEnded(end Ended) string {
	if end.Signal != "" {
		return "was ended by a signal (" + end.Signal + ")"
	}
	return fmt.Sprintf("exited with %d", end.ExitCode)
}

// lastWords is the last line of the latest log.
func (m *measurement) lastWords() string {
	s := strings.TrimSpace(m.tail)
	if s == "" {
		return ""
	}
	return ": " + cutText(s[strings.LastIndexByte(s, '\n')+1:], 200)
}

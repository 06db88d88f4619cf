package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// measurement is an evaluation in the making.
type measurement struct {
	req   *Request
	red   *Redactor
	keep  *keeper
	files *Copier

	journal     *journal
	interrupted bool // the context was cancelled, or the launcher ended
	unsettled   bool // the launcher ended with answers that were still in the making

	spent    time.Duration // of the runner's time limit
	launched bool          // something may have been paid
	final    string        // why a further attempt makes no sense
	stages   []stage
	problems []string
	attempts []outcome.Attempt
	last     map[string]outcome.Outcome // the accepted outcome of a task, or its last
	tries    map[string]map[outcome.State]int
	measured int // tasks with a score
	tail     string
	earlier  []earlier       // evaluations that this one goes on with, and itself
	lost     map[string]bool // tasks of the attempt that was cut short whose evidence is gone
}

// Measure runs one evaluation and leaves its artifacts in r.Dir. An error that
// is a *NotSaved comes with what is known of the result, and r.Dir must be kept;
// any other error means that nothing was started.
func Measure(ctx context.Context, r Request) (Measured, error) {
	m, all, err := newMeasurement(&r)
	if err != nil {
		return Measured{}, err
	}
	defer m.files.Close()
	defer m.journal.close()
	begun := time.Now()
	out := Measured{UUID: r.UUID, Started: begun.UTC()}
	var left *cut
	if r.Continue {
		c := m.takeUp(all)
		left = &c
		out.Started = out.Started.Add(-c.active)
	}
	h := newHead(&r, m.scored(), out.Started)
	if left != nil {
		h.From = left.n + 1
	}
	m.earlier = append(m.earlier, h.session())
	err = m.journal.add(record{Head: h})
	if err == nil {
		err = m.run(ctx, left)
	}
	if err == nil && !m.launched {
		err = m.journal.err
	}
	if err != nil {
		if !m.launched && r.Continue {
			return Measured{}, err // what was left stays, to be gone on with
		}
		if !m.launched {
			return Measured{}, errors.Join(err, os.RemoveAll(m.keep.dir), os.Remove(filepath.Join(r.Dir, FileJournal)))
		}
		m.final = err.Error()
		m.problem("the evaluation stopped: %v", err)
	}
	out.Ended = since(begun)
	m.interrupted = ctx.Err() != nil
	_ = m.journal.add(record{End: &ending{out.Ended, m.interrupted, m.final, m.tail, m.allProblems()}}) // saving comes next
	if err := m.complete(&out); err != nil {
		return out, &NotSaved{r.Dir, err}
	}
	if m.journal.err != nil { // what was left for whoever continues is saved after all
		_ = RemoveLeft(r.WorkRoot, r.UUID) // it is saved, whatever stays there
	}
	return out, nil
}

// newMeasurement also returns the journal that a Request with Continue goes on with.
func newMeasurement(r *Request) (*measurement, []record, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	var err error
	if r.Spec, err = asHashed(r.Spec); err != nil {
		return nil, nil, err
	}
	if r.Grace == 0 {
		r.Grace = DefaultGrace
	}
	if r.Backoff == nil {
		r.Backoff = backoff
	}
	if r.MaxOutput == 0 {
		r.MaxOutput = DefaultMaxOutput
	}
	if r.MaxBundle == 0 {
		r.MaxBundle = DefaultMaxBundle
	}
	if r.MaxFiles == 0 {
		r.MaxFiles = DefaultMaxFiles
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, FileMeasured)); err == nil {
		return nil, nil, fmt.Errorf("%s already holds a finished evaluation; load it or choose another folder", r.Dir)
	}
	m := &measurement{req: r, red: NewRedactor(r.Spec, r.Lookup, r.MLflowEnv), last: map[string]outcome.Outcome{}, tries: map[string]map[outcome.State]int{}}
	if m.files, err = NewCopier(r.Spec.Dir, r.Files); err != nil {
		return nil, nil, err
	}
	all, err := m.open()
	if err != nil {
		return nil, nil, errors.Join(err, m.files.Close())
	}
	return m, all, nil
}

// open opens journal and evidence: new ones, or those that were left.
func (m *measurement) open() (all []record, err error) {
	r := m.req
	dir := filepath.Join(r.Dir, stagingName)
	if r.Continue {
		if m.journal, all, err = reopenJournal(r.Dir); err != nil {
			return nil, err
		}
		if h := lastHead(all); h.Cell.Identity != r.Cell.Identity || h.Slot != r.Slot {
			m.journal.close()
			return nil, fmt.Errorf("%s holds an evaluation of another cell or slot", r.Dir)
		}
		if m.keep, err = adopt(dir, m.red, r); err != nil {
			m.journal.close()
		}
		return all, err
	}
	if m.journal, err = newJournal(r.Dir, len(r.Spec.Tasks)); err != nil {
		return nil, err
	}
	if m.keep, err = newKeeper(dir, m.red, r); err != nil {
		m.journal.close()
		err = errors.Join(err, os.Remove(filepath.Join(r.Dir, FileJournal)))
	}
	return nil, err
}

func (r *Request) check() error {
	switch {
	case r.Spec == nil || len(r.Spec.Tasks) == 0:
		return errors.New("evaluation: the request has no tasks")
	case r.Launcher == nil || r.Lookup == nil || r.Dir == "" || r.UUID == "":
		return errors.New("evaluation: the request needs Launcher, Lookup, Dir and UUID")
	case len(r.Spec.Runner.Command) == 0:
		return errors.New("evaluation: runner.command is empty")
	}
	return nil
}

// asHashed is a spec whose tasks are what their digests cover: canonical JSON in
// the order of their ids, however the panel writes them.
func asHashed(s *spec.Spec) (*spec.Spec, error) {
	c := *s
	c.Tasks = slices.Clone(s.Tasks)
	for i := range c.Tasks {
		t := &c.Tasks[i]
		for _, v := range []*json.RawMessage{&t.Input, &t.Expected} {
			if *v == nil {
				continue
			}
			b, err := batch.Canonical(*v)
			if err != nil {
				return nil, fmt.Errorf("evaluation: task %s: %w", t.ID, err)
			}
			*v = b
		}
	}
	slices.SortFunc(c.Tasks, func(a, b batch.Task) int { return strings.Compare(a.ID, b.ID) })
	return &c, nil
}

// run makes attempts until every task has a score or may not be tried again. With
// left it first settles the attempt in which an earlier launcher was ended.
func (m *measurement) run(ctx context.Context, left *cut) error {
	pending, first := m.req.Spec.Tasks, 1
	if left != nil {
		if err := m.finishCut(ctx, *left); err != nil || ctx.Err() != nil || m.final != "" {
			return err
		}
		pending, first = m.unsettledTasks(), left.n+1
	}
	var wait time.Duration
	for n := first; len(pending) > 0; n++ {
		if n > first && !m.pause(ctx, wait) {
			return nil
		}
		got, err := m.attempt(ctx, n, pending)
		pending, wait = m.settle(n, pending, got)
		if err != nil || ctx.Err() != nil || m.final != "" || m.left() <= 0 {
			return err
		}
	}
	return nil
}

// pause waits before another attempt; the wait is part of the time limit. Where the
// limit comes first, it says so at once and waits for nothing.
func (m *measurement) pause(ctx context.Context, d time.Duration) bool {
	if left := m.left(); d >= left {
		m.final = fmt.Sprintf("deadline before next try: it would be in %s, and %s are left of the limit of %s", d.Round(time.Millisecond), left.Round(time.Millisecond), m.limit())
		m.problem("%s", m.final)
		return false
	}
	m.spent += d
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// limit is the time limit of the whole evaluation, attempts together.
func (m *measurement) limit() time.Duration {
	if d := m.req.Spec.Runner.Timeout; d > 0 {
		return d
	}
	return time.Hour
}

// left is what remains of it.
func (m *measurement) left() time.Duration { return m.limit() - m.spent }

// settle records an attempt's outcomes and returns the tasks to try again, and how
// long to wait before. Tasks that the attempt did not reach are not in got.
//
// The first outcome of a task that has a score counts: which attempt that is was
// decided by the failures of those before it, never by a score.
func (m *measurement) settle(n int, tasks []batch.Task, got map[string]outcome.Outcome) (again []batch.Task, wait time.Duration) {
	first := len(m.attempts)
	for _, t := range tasks {
		o, ok := got[t.ID]
		if !ok {
			continue
		}
		o.Attempt = n
		m.row(outcome.Attempt{Accepted: o.Score != nil, Outcome: o}, m.lost[t.ID])
		if o.Score != nil {
			continue
		}
		used := m.tries[t.ID]
		if o.State != outcome.Judge && used[o.State] <= m.retries(o.State) {
			again = append(again, t)
			wait = max(wait, m.req.Backoff(o.State, max(1, used[o.State])))
		}
	}
	rows := make([]record, 0, len(got))
	for i := range m.attempts[first:] {
		a := &m.attempts[first+i]
		rows = append(rows, record{Row: a, Lost: m.lost[a.Task]})
	}
	if err := m.journal.add(rows...); err != nil {
		m.final = "what is paid for can't be recorded: " + err.Error()
	}
	m.progress(m.measured)
	return again, wait
}

func (m *measurement) problem(format string, args ...any) {
	m.problems = append(m.problems, m.red.Text(fmt.Sprintf(format, args...)))
}

// finish gives every task an outcome and the evaluation its state.
func (m *measurement) finish(out *Measured) {
	tasks := m.req.Spec.Tasks
	index := make(map[string]int, len(tasks))
	panel := make([]string, len(tasks))
	for i, t := range tasks {
		index[t.ID], panel[i] = i, t.ID
		o, ok := m.last[t.ID]
		if !ok {
			o = outcome.Failed(t.ID, outcome.NotRun, m.notReached())
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	slices.SortStableFunc(m.attempts, func(a, b outcome.Attempt) int {
		if a.Attempt != b.Attempt {
			return a.Attempt - b.Attempt
		}
		return index[a.Task] - index[b.Task]
	})
	out.Attempts, out.LogTail = m.attempts, m.tail
	missing := outcome.Missing(out.Outcomes)
	err := outcome.Check(out.Outcomes, panel, m.req.Spec.Valid.Allowed(len(panel)))
	switch {
	case missing == 0 && err == nil && !m.unsettled:
		out.State = batch.StateComplete
	case m.interrupted:
		out.State = batch.StateInterrupted
		out.Reason = fmt.Sprintf("interrupted; %d of %d tasks have a score", len(panel)-missing, len(panel))
	case err == nil:
		out.State = batch.StatePartial
		out.Reason = fmt.Sprintf("%d of %d tasks are missing, which is allowed; %s", missing, len(panel), usualFailure(out.Outcomes))
	default:
		out.State = batch.StateIncomplete
		out.Reason = err.Error() + "; " + usualFailure(out.Outcomes)
	}
}

func (m *measurement) notReached() string {
	switch {
	case m.final != "":
		return cutText("not reached: "+m.final, 500)
	case m.interrupted:
		return "not reached: interrupted"
	}
	return "not reached"
}

// usualFailure is the message that most missing tasks share.
func usualFailure(outcomes []outcome.Outcome) string {
	count := map[string]int{}
	best := ""
	for _, o := range outcomes {
		if o.Score != nil || o.Error == nil {
			continue
		}
		key := string(o.Error.Class) + ": " + cutText(o.Error.Message, 200)
		count[key]++
		if count[key] > count[best] {
			best = key
		}
	}
	return fmt.Sprintf("%d× %s", count[best], best)
}

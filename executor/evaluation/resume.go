package evaluation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Left is what an evaluation left whose launcher was ended.
type Left struct {
	UUID     string
	Cell     batch.Cell
	Slot     int
	Finished int               // tasks with a result of which nothing is to be paid again
	Attempts []outcome.Attempt // made so far, with their cost
}

// LookAtLeft says what a folder holds of an evaluation that was cut short, and that
// a Request with Continue can go on with. An error that is os.ErrNotExist means that
// there is nothing of the kind.
func LookAtLeft(dir string) (Left, error) {
	if _, err := os.Lstat(filepath.Join(dir, FileMeasured)); err == nil {
		return Left{}, fmt.Errorf("%s holds a whole evaluation: %w", dir, fs.ErrNotExist)
	}
	all, err := readJournal(dir)
	if err != nil {
		return Left{}, err
	}
	h := lastHead(all)
	m := &measurement{last: map[string]outcome.Outcome{}, tries: map[string]map[outcome.State]int{}}
	c := m.takeUp(all)
	if c.ended {
		return Left{}, fmt.Errorf("%s holds an evaluation that had ended: %w", dir, fs.ErrNotExist)
	}
	left := Left{UUID: h.UUID, Cell: h.Cell, Slot: h.Slot, Finished: m.measured, Attempts: m.attempts}
	for _, a := range c.answers {
		if a.Open || a.Outcome.Score != nil {
			left.Finished++
		}
		left.Attempts = append(left.Attempts, outcome.Attempt{Outcome: a.Outcome})
	}
	m.req, m.red = h.request(dir), &Redactor{}
	for _, o := range m.unheard() {
		if _, known := c.answers[o.Task]; known {
			continue
		}
		if o.Error == nil {
			left.Finished++
		}
		left.Attempts = append(left.Attempts, outcome.Attempt{Outcome: o})
	}
	return left, nil
}

// Started says whether a folder holds anything of an evaluation that was started.
func Started(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, FileMeasured)); err == nil {
		return true
	}
	_, err := readJournal(dir)
	return !errors.Is(err, fs.ErrNotExist) // what can't be read may hold something
}

// cut is the attempt in which a launcher was ended.
type cut struct {
	n       int
	answers map[string]journalAnswer // that were not settled, by task
	ended   bool                     // the evaluation was over: it only was not saved
	active  time.Duration            // how long it was at work
}

func lastHead(all []record) *head {
	h := all[0].Head
	for _, r := range all {
		if r.Head != nil {
			h = r.Head
		}
	}
	return h
}

// takeUp reads what a journal says of attempts that were made, and of the one that
// was cut short.
func (m *measurement) takeUp(all []record) cut {
	c := cut{answers: map[string]journalAnswer{}}
	for _, r := range all {
		switch {
		case r.Head != nil:
			c.n, c.ended = max(1, c.n), false
			m.earlier = append(m.earlier, r.Head.session())
		case r.Stage != nil:
			m.stages = append(m.stages, *r.Stage)
			if took := r.Stage.Ended.Sub(r.Stage.Started); r.Stage.Stage == "runner" {
				m.spent += took
			}
			c.active += r.Stage.Ended.Sub(r.Stage.Started)
		case r.Again != nil:
			m.attempts = append(m.attempts, *r.Again)
		case r.Answer != nil:
			c.n = r.Answer.Outcome.Attempt
			c.answers[r.Answer.Outcome.Task] = *r.Answer
		case r.Row != nil:
			c.n = r.Row.Attempt
			if c.answers[r.Row.Task].Open && toBeJudged(*r.Row) {
				continue
			}
			m.row(*r.Row, r.Lost)
			delete(c.answers, r.Row.Task)
		case r.End != nil:
			c.ended = !r.End.Interrupted
			m.problems = append(m.problems, r.End.Problems...)
		}
	}
	if len(c.answers) == 0 && c.n > 0 && m.hasRows(c.n) {
		c.n++ // it was ended between two attempts, or before the next one had said anything
	}
	return c
}

// hasRows says whether an attempt has rows.
func (m *measurement) hasRows(n int) bool {
	for _, a := range m.attempts {
		if a.Attempt == n {
			return true
		}
	}
	return false
}

// row takes one row of an attempt in. One that was lost with its launcher was no try.
func (m *measurement) row(a outcome.Attempt, lost bool) {
	m.attempts = append(m.attempts, a)
	m.last[a.Task] = a.Outcome
	if a.Score != nil {
		m.measured++
		return
	}
	if m.tries[a.Task] == nil {
		m.tries[a.Task] = map[outcome.State]int{}
	}
	if !lost {
		m.tries[a.Task][a.State]++
	}
}

// unsettledTasks have no score and may be tried (again).
func (m *measurement) unsettledTasks() []batch.Task {
	var out []batch.Task
	for _, t := range m.req.Spec.Tasks {
		o, reached := m.last[t.ID]
		again := o.Score == nil && o.State != outcome.Judge && m.tries[t.ID][o.State] <= m.retries(o.State)
		if !reached || o.State == outcome.NotRun || again {
			out = append(out, t)
		}
	}
	return out
}

// toBeJudged says of a row that nobody was asked about its answer: the launcher was told
// to stop. Who goes on asks.
func toBeJudged(a outcome.Attempt) bool {
	return a.State == outcome.Judge && a.Error != nil && a.Error.Message == cutBeforeJudged
}

// finishCut settles the attempt that was cut short, as if its runner had been ended:
// what is finished counts, answers that nobody judged are judged now, and the rest is
// left to the next attempt.
func (m *measurement) finishCut(ctx context.Context, c cut) error {
	tasks := m.unsettledTasks()
	got := map[string]answer{}
	if err := m.setAside(c.n); err != nil {
		return err
	}
	err := m.gatherCut(c, tasks, got)
	m.heardJudge(c.n, tasks, got)
	records := make([]record, 0, len(got))
	for _, t := range tasks {
		if a, ok := got[t.ID]; ok {
			records = append(records, a.record(c.n))
		}
	}
	if err = errors.Join(err, m.recordAnswers(records...)); err != nil {
		return err
	}
	out, err := m.conclude(ctx, c.n, tasks, got, nil)
	m.settle(c.n, tasks, out)
	m.lost = nil
	for _, e := range m.earlier {
		if left := RemoveLeft(m.req.WorkRoot, e.UUID); left != nil { // it disturbs nobody
			m.problem("%v", left)
		}
	}
	return err
}

// setAside renames what an interrupted judge left, so that it can be asked again.
func (m *measurement) setAside(n int) error {
	dir := m.keep.path(fmt.Sprintf("attempt-%d", n))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != "runner" && !strings.HasSuffix(e.Name(), cutMark) {
			err = errors.Join(err, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, cutName(dir, e.Name()))))
		}
	}
	return err
}

// cutMark ends the names of folders of evidence whose process was cut short.
const cutMark = ".cut"

// cutName is a free name for one of them.
func cutName(dir, name string) string {
	free := name + cutMark
	for k := 2; ; k++ {
		if _, err := os.Lstat(filepath.Join(dir, free)); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d%s", name, k, cutMark)
	}
}

// gatherCut finds the answers of the cut attempt with their evidence: in the bundle,
// where the runner had ended, else in the private folder that it left. What was read
// while it wrote, and has no evidence any more, is paid but lost.
func (m *measurement) gatherCut(c cut, tasks []batch.Task, got map[string]answer) error {
	gathered := false
	for _, a := range c.answers {
		if !a.Live {
			gathered = true
			got[a.Outcome.Task] = answer{a.Outcome, a.Open}
		}
	}
	at := fmt.Sprintf("attempt-%d/runner", c.n)
	if m.req.Spec.Runner.Unit == "task" {
		return m.gatherTask(at, tasks, got)
	}
	if gathered {
		return nil
	}
	if trees := m.leftTrees(0); len(trees) > 0 {
		if err := os.RemoveAll(m.keep.path(at)); err != nil {
			return err
		}
		tree := trees[0]
		l := m.readLines(tree.Out(), tasks)
		kept, err := m.gather(&program{tree: tree}, at+"/out", at+"/", l)
		for _, t := range tasks {
			if l.of[t.ID].Task != "" || l.refused[t.ID] != "" {
				got[t.ID] = m.answerOf(t.ID, l, kept, at+"/out", outcome.Outcome{})
			}
		}
		return err
	}
	m.lost = map[string]bool{}
	for _, a := range c.answers {
		got[a.Outcome.Task] = answer{Outcome: lost(a.Outcome)}
		m.lost[a.Outcome.Task] = true
	}
	return nil
}

// lost is an outcome of which there is no evidence: it was paid.
func lost(o outcome.Outcome) outcome.Outcome {
	return paid(outcome.Failed(o.Task, outcome.Harness, "its launcher was ended before its evidence was kept"), o)
}

// earlier is an evaluation whose finished tasks are in this one.
type earlier struct {
	UUID string `json:"evaluation"`
	From int    `json:"from_attempt"` // its first attempt here
}

func (h *head) session() earlier { return earlier{h.UUID, max(1, h.From)} }

// reopenJournal goes on with the journal of an evaluation that was cut short. What a
// crash left of its last line is taken away.
func reopenJournal(dir string) (*journal, []record, error) {
	all, err := readJournal(dir)
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, FileJournal)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	whole, n := 0, 0
	for line := range bytes.Lines(b) {
		if n == len(all) {
			break
		}
		whole += len(line)
		n++
	}
	if err := os.Truncate(name, int64(whole)); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	return &journal{f: f, size: int64(whole)}, all, err
}

// adopt goes on with the evidence of an evaluation that was cut short.
func adopt(dir string, red *Redactor, r *Request) (*keeper, error) {
	k := &keeper{dir: dir, red: red, bytes: r.MaxBundle, files: r.MaxFiles, log: r.MaxOutput}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return k, filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			k.bytes -= info.Size()
			k.files--
		}
		return err
	})
}

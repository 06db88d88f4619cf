package evaluation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// NotSaved is the error of Measure and Resave where something may have been paid
// for, but could not be saved. All that is known of it stays in Dir: Resave
// finishes it once the cause is gone.
type NotSaved struct {
	Dir string
	Err error
}

func (e *NotSaved) Error() string {
	return fmt.Sprintf("what was measured is kept in %s but could not be saved: %v; make room or repair that folder, the next run saves it first", e.Dir, e.Err)
}

// Unwrap is the cause.
func (e *NotSaved) Unwrap() error { return e.Err }

// Resave finishes what a Measure with the same Dir could not, because saving
// failed (NotSaved) or because its process ended. A folder that is finished is
// loaded. Of an evaluation whose process ended, the state is interrupted, with
// every outcome that its runner had written and the evidence gathered so far; of what
// stands in the runner's private folder alone, with the cost (RemoveLeft comes after).
//
// An error that is os.ErrNotExist means that nothing was started there; a
// *NotSaved, that all is still kept and saving failed again.
func Resave(dir string) (Measured, error) {
	_, err := os.Lstat(filepath.Join(dir, FileMeasured))
	if err == nil {
		return Load(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Measured{}, err
	}
	all, err := readJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Measured{}, err
	}
	if err != nil {
		return Measured{}, &NotSaved{dir, err}
	}
	m, out, err := replay(dir, all)
	if err == nil {
		err = m.complete(&out)
	}
	if err != nil {
		return out, &NotSaved{dir, err}
	}
	return out, nil
}

// replay is the measurement that a journal tells of.
func replay(dir string, all []record) (*measurement, Measured, error) {
	h := lastHead(all)
	out := Measured{UUID: h.UUID, Started: h.Started}
	m := &measurement{
		req: h.request(dir), red: &Redactor{}, last: map[string]outcome.Outcome{},
		keep: &keeper{dir: filepath.Join(dir, stagingName), red: &Redactor{}},
	}
	info, err := os.Stat(filepath.Join(dir, FileJournal))
	if err != nil {
		return m, out, err
	}
	last := info.ModTime().UTC()
	if last.Before(out.Started) { // the clock was set
		last = out.Started
	}
	answers := map[int]map[string]journalAnswer{} // by attempt, of tasks that are not settled
	var waiting []outcome.Attempt                 // rows that are void where another evaluation went on and judges
	n, ended := 0, false
	for _, r := range all {
		switch {
		case r.Head != nil: // of what ended before it, this one goes on
			m.earlier = append(m.earlier, r.Head.session())
			waiting = nil
			out.Ended, m.interrupted, ended = last, true, false
			m.final, m.tail = "its launcher was ended", ""
		case r.Stage != nil:
			m.stages = append(m.stages, *r.Stage)
		case r.Again != nil:
			m.attempts = append(m.attempts, *r.Again)
		case r.Answer != nil:
			n = r.Answer.Outcome.Attempt
			if answers[n] == nil {
				answers[n] = map[string]journalAnswer{}
			}
			answers[n][r.Answer.Outcome.Task] = *r.Answer
		case r.Row != nil && answers[r.Row.Attempt][r.Row.Task].Open && toBeJudged(*r.Row):
			waiting = append(waiting, *r.Row)
		case r.Row != nil:
			m.attempts = append(m.attempts, *r.Row)
			m.last[r.Row.Task] = r.Row.Outcome
			delete(answers[r.Row.Attempt], r.Row.Task)
		case r.End != nil:
			out.Ended, m.interrupted, ended = r.End.At, r.End.Interrupted, true
			m.final, m.tail, m.problems = r.End.Final, r.End.Tail, r.End.Problems
		}
	}
	if !ended {
		if n = max(1, n); len(answers[n]) == 0 && m.hasRows(n) {
			n++ // as takeUp has it
		}
		if answers[n] == nil {
			answers[n] = map[string]journalAnswer{}
		}
		for _, o := range m.unheard() {
			if _, known := answers[n][o.Task]; !known && m.last[o.Task].Score == nil {
				answers[n][o.Task] = journalAnswer{Outcome: lost(o)} // no text of it: which secrets it may hold is not known here
			}
		}
		m.unsettled = len(answers[n]) > 0
		m.problem("the launcher was ended before the evaluation was; what its processes had written but it had not gathered is lost")
		return m, out, m.unsettledAnswers(n, answers[n], h)
	}
	for _, row := range waiting {
		m.attempts = append(m.attempts, row)
		m.last[row.Task] = row.Outcome
	}
	return m, out, nil
}

// unsettledAnswers settles the answers of the attempt in which a launcher was
// ended. What the runner said while it ran is written into the evidence.
func (m *measurement) unsettledAnswers(n int, answers map[string]journalAnswer, h *head) error {
	var said bytes.Buffer
	for _, t := range h.Tasks {
		a, ok := answers[t.ID]
		if !ok {
			continue
		}
		o := a.Outcome
		switch {
		case a.Open:
			o = unjudged(o, cutBeforeJudged)
		case o.State == "":
			line := o
			line.Attempt = 0
			if err := outcome.Append(&said, line); err != nil {
				return err
			}
			o.Output, o.Transcript = "", "" // not gathered
			if o = m.settled(o, h.IsScored).Outcome; h.IsScored && o.Error == nil {
				o = unjudged(o, cutBeforeJudged)
			}
		}
		o.Attempt = n
		m.last[t.ID] = o
		m.attempts = append(m.attempts, outcome.Attempt{Accepted: o.Score != nil, Outcome: o})
	}
	at := fmt.Sprintf("attempt-%d/runner/out/%s", n, batch.FileOutcomes)
	if _, err := os.Lstat(m.keep.path(at)); err == nil || said.Len() == 0 {
		return nil
	}
	return m.keep.text(at, said.Bytes())
}

// complete gives every task an outcome, writes our own files and saves all.
func (m *measurement) complete(out *Measured) error {
	m.finish(out)
	all := m.allProblems()
	out.Problems = slices.Clone(all[:min(len(all), shownProblems)])
	if err := m.evidence(*out); err != nil {
		return err
	}
	if err := m.save(out); err != nil {
		out.Artifacts = nil
		return err
	}
	return nil
}

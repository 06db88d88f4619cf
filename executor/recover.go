package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// Recovered says what an earlier launcher had left.
type Recovered struct {
	Logged      int    // measured but not logged: logged now
	Superseded  int    // of those: their repeat is another launcher's, so they do not count
	Interrupted int    // cut short: closed, with what there was of it
	Elsewhere   int    // measured, but this server has no such run (any more): kept
	Traces      Traces // of what an earlier run had logged
	Cut         int    // cut short with finished tasks, with which the next evaluation of the slot goes on
}

// Recover logs what was measured but not logged, and closes the runs of
// evaluations that were cut short. It holds the state's lock, so no launcher on
// this machine is at work on them. What was measured for a run of another server
// or experiment is kept.
// What was cut short after some of its tasks were finished is not logged: where its
// cell is one that is still measured (resume, nil = none), the next evaluation of its
// slot goes on with it.
// endLeft ends the processes of an evaluation that outlived their launcher.
func Recover(ctx context.Context, l *ledger.Ledger, s *State, resume func(cell batch.Digest) bool, endLeft func(uuid string) int) (r Recovered, err error) {
	t := newSender(l, s)
	defer func() {
		t.flush(ctx)
		r.Traces = t.out
	}()
	h := newHeir(l)
	defer h.leave(context.WithoutCancel(ctx))
	s.cut = nil
	entries, err := s.entries()
	if err != nil {
		return r, err
	}
	for _, e := range entries {
		if e.Logged {
			t.send(ctx, e)
			continue
		}
		endLeft(e.UUID)
		if resume != nil && e.Experiment == l.ExperimentID() && resume(e.Cell.Identity.Cell) {
			ok, err := s.keepCut(ctx, l, e)
			if err != nil {
				return r, fmt.Errorf("evaluation %s, left by an earlier run: %w", e.UUID, err)
			}
			if ok {
				r.Cut++
				continue
			}
		}
		if err := r.recover(ctx, l, s, h, &e); err != nil {
			return r, fmt.Errorf("evaluation %s, left by an earlier run: %w", e.UUID, err)
		}
		if e.Logged {
			t.send(ctx, e)
		}
	}
	return r, nil
}

// removeLeft removes the private folders of an evaluation, and of those that it was to go
// on with.
func removeLeft(e entry) error {
	err := evaluation.RemoveLeft("", e.UUID)
	for _, o := range e.Continues {
		err = errors.Join(err, evaluation.RemoveLeft("", o.UUID))
	}
	return err
}

// tidy ends the processes that an evaluation left, and removes their folders. Where a
// task was finished they stay: what was paid for is its own launcher's to log.
func tidy(uuid string, endLeft func(uuid string) int) error {
	endLeft(uuid)
	if err := evaluation.RemoveUnfinished("", uuid); err != nil {
		return fmt.Errorf("evaluation %s, left by an earlier run: %w", uuid, err)
	}
	return nil
}

func (r *Recovered) recover(ctx context.Context, l *ledger.Ledger, s *State, h *heir, e *entry) error {
	if e.RunID == "" && len(e.Continues) > 0 { // it was about to go on with another one, whose it is again
		e.RunID = e.Continues[len(e.Continues)-1].RunID
	}
	if e.RunID == "" {
		return errors.Join(removeLeft(*e), s.forget(*e)) // nothing was started
	}
	var at ledger.Standing
	var err error
	if e.Experiment == l.ExperimentID() {
		if at, err = l.StandingOf(ctx, e.RunID); err != nil {
			return err
		}
	}
	dir := s.of(*e)
	if !at.Here { // where its run is, it may be gone on with
		if evaluation.Started(dir) {
			r.Elsewhere++
			return nil
		}
		return errors.Join(removeLeft(*e), s.forget(*e)) // the next run there closes it
	}
	m, err := evaluation.Resave(dir)
	nothing := errors.Is(err, os.ErrNotExist)
	if at.Counts && (err != nil || !slices.Equal(at.Logged, m.Artifacts)) {
		// MLflow has it whole: this is what is left of a folder that was being removed, or a copy of one that was at work.
		return errors.Join(removeLeft(*e), s.forget(*e))
	}
	if err != nil && !nothing {
		return fmt.Errorf("%w; or move %s away to go on without it", err, dir)
	}
	if err := removeLeft(*e); err != nil { // what stood in its private folder is saved
		return err
	}
	if nothing {
		if err := closeUnstarted(ctx, l, e.RunID, "its launcher was ended before it was started"); err != nil {
			return err
		}
		r.Interrupted++
		return s.forget(*e)
	}
	return r.log(ctx, l, s, h, e, m)
}

// log logs what was measured, and is here.
func (r *Recovered) log(ctx context.Context, l *ledger.Ledger, s *State, h *heir, e *entry, m evaluation.Measured) error {
	lease, err := h.claim(ctx, *e, &m)
	if err == nil {
		err = logOne(ctx, l, *e, s.of(*e), m)
	}
	if err == nil {
		err = h.done(ctx, lease, *e, &m)
	}
	if gone(err) { // deleted by someone: what was paid for is theirs to throw away
		r.Elsewhere++
		return nil
	}
	if err != nil {
		return err
	}
	if m.State == batch.StateInterrupted {
		r.Interrupted++
	} else {
		r.Logged++
	}
	if m.State == batch.StateSuperseded {
		r.Superseded++
	}
	return s.logged(e, m)
}

func closeRun(ctx context.Context, l *ledger.Ledger, runID, reason string) error {
	err := l.CloseInterrupted(ctx, runID, reason, time.Now())
	if gone(err) {
		return nil
	}
	return err
}

// closeUnstarted closes a run of which nothing was started, so that it has cost nothing.
func closeUnstarted(ctx context.Context, l *ledger.Ledger, runID, reason string) error {
	err := l.CloseUnstarted(ctx, runID, reason, time.Now())
	if gone(err) {
		return nil
	}
	return err
}

// Busy says that evaluations which this plan would start are running elsewhere, and
// that whoever runs them does not claim what it measures.
type Busy struct {
	Runs      []string // run ids
	Launchers []string
}

func (e *Busy) Error() string {
	return fmt.Sprintf("%d evaluations of this plan are RUNNING elsewhere without a claim, and nobody pays twice: run %s, started by %s\n"+
		"  wait for them; or, if they are dead, close them and measure anew with --take-over",
		len(e.Runs), strings.Join(e.Runs, ", "), strings.Join(e.Launchers, ", "))
}

// closeLeft ends a run that its launcher left RUNNING: as finished where all that it
// measured was logged and only the status is missing, else as interrupted. It is read
// again before: one that was logged since is as good as any, and false is returned.
func closeLeft(ctx context.Context, l *ledger.Ledger, e *ledger.Entry, reason string) (closed bool, err error) {
	now, err := l.Again(ctx, *e)
	if gone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	switch *e = now; {
	case !e.Live():
		return false, nil
	case e.State.Counts():
		err = l.EndFinished(ctx, *e)
	default:
		err = closeRun(ctx, l, e.Info.RunID, reason)
	}
	if gone(err) {
		err = nil
	}
	return err == nil, err
}

// CloseGone closes a run that a launcher of this place left RUNNING when it died,
// and ends what it left. What that launcher measured and kept in its state folder is
// logged all the same by the next run there. False says that the run has ended since it
// was read.
func CloseGone(ctx context.Context, l *ledger.Ledger, e ledger.Entry, endLeft func(uuid string) int) (closed bool, err error) {
	return closeGone(ctx, l, &e, endLeft)
}

func closeGone(ctx context.Context, l *ledger.Ledger, e *ledger.Entry, endLeft func(uuid string) int) (closed bool, err error) {
	if err := tidy(e.UUID, endLeft); err != nil {
		return false, err
	}
	return closeLeft(ctx, l, e, "its launcher is gone")
}

// CloseLeft closes runs that a dead launcher of this host left RUNNING. Other live
// runs of missing cells that nobody claims are an error (*Busy), unless takeOver closes
// them too; what is claimed is shared. Only cells that only (nil = all) lets start can be
// missing. endLeft is as for Recover.
func CloseLeft(ctx context.Context, l *ledger.Ledger, p *planner.Plan, only func(batch.Variant) bool, takeOver bool, endLeft func(uuid string) int) (closed int, err error) {
	missing := map[batch.Digest]bool{}
	if p.Finished == nil { // else nothing would be started
		for _, s := range p.Missing() {
			missing[s.Cell.Identity.Cell] = only == nil || only(s.Cell.Variant)
		}
	}
	var busy Busy
	for _, e := range p.Live {
		dead := LauncherGone(e.Launcher)
		switch {
		case !dead && (!missing[e.Identity.Cell] || e.Generation > 0):
			continue
		case !dead && !takeOver:
			busy.Runs = append(busy.Runs, e.Info.RunID)
			who := cmp.Or(e.Launcher, "someone else")
			if !slices.Contains(busy.Launchers, who) {
				busy.Launchers = append(busy.Launchers, who)
			}
			continue
		}
		var err error
		if dead {
			_, err = closeGone(ctx, l, &e, endLeft)
		} else {
			_, err = closeLeft(ctx, l, &e, "taken over by another launcher")
		}
		if err != nil {
			return closed, err
		}
		closed++
	}
	if len(busy.Runs) > 0 {
		return closed, &busy
	}
	return closed, nil
}

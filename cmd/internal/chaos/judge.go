package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// excused says why a repeat may be measured again although an evaluation of it had
// succeeded, or was at work, when the next one started: its launcher did not hold its
// claim any more. "" = it may not.
func (f *Facts) excused(e evaluation, next time.Time) string {
	l := f.life(e.launcher)
	switch {
	case !l.Killed.IsZero() && l.Killed.Before(next):
		return "after a kill"
	case !l.Failed.IsZero() && l.Failed.Before(next):
		return "after a launcher's error"
	case !f.lapses(e.launcher, e.start, next).IsZero():
		return "after a stop past the lease"
	}
	return ""
}

// pairs calls do for all evaluations of one repeat of which the later one started
// while the earlier one was at work, or after it had succeeded.
func (f *Facts) pairs(do func(earlier, later evaluation, overlap bool)) {
	type slot struct {
		cell string
		slot int
	}
	before := map[slot][]evaluation{}
	for _, e := range f.evaluations() {
		s := slot{e.cell, e.slot}
		for _, was := range before[s] {
			overlap := was.over.IsZero() || was.over.After(e.start)
			if overlap || was.succeeded {
				do(was, e, overlap)
			}
		}
		before[s] = append(before[s], e)
	}
}

// twice are repeats that were paid twice while their first claim held.
func (f *Facts) twice() (out []string) {
	f.pairs(func(was, e evaluation, overlap bool) {
		if f.excused(was, e.start) != "" {
			return
		}
		how := "had been measured"
		if overlap {
			how = "was at work"
		}
		out = append(out, fmt.Sprintf("%s #%d was started by %s (%s) although it %s at %s (%s), which held its claim", e.cell, e.slot, e.launcher, e.uuid, how, was.launcher, was.uuid))
	})
	return out
}

// Again counts the repeats that were paid twice because a claim did not hold any more, by why.
func (f *Facts) Again() map[string]int {
	out := map[string]int{}
	f.pairs(func(was, e evaluation, _ bool) {
		if why := f.excused(was, e.start); why != "" {
			out[why]++
		}
	})
	return out
}

// lost are evaluations that the runner had ended well and MLflow does not have, with
// record and cost, in their own run or in the one that went on with them.
func (f *Facts) lost() (out []string) {
	heirs := map[string][]Evaluated{}
	for _, uuid := range slices.Sorted(maps.Keys(f.Logged)) {
		for _, run := range f.Logged[uuid].Continues {
			heirs[run] = append(heirs[run], f.Logged[uuid])
		}
	}
	for _, e := range f.evaluations() {
		if !e.succeeded {
			continue
		}
		r, ok := f.Logged[e.uuid]
		if !ok {
			out = append(out, fmt.Sprintf("%s #%d was measured by %s (%s), and MLflow has no run of it", e.cell, e.slot, e.launcher, e.uuid))
			continue
		}
		held := slices.ContainsFunc(append([]Evaluated{r}, heirs[r.RunID]...), func(r Evaluated) bool {
			return r.Outcomes && r.CostUSD >= e.told-1e-6
		})
		if !held {
			out = append(out, fmt.Sprintf("%s #%d was measured by %s (%s) for $%.4f, and run %s (%s %s) tells of $%.4f", e.cell, e.slot, e.launcher, e.uuid, e.told, r.RunID, r.Status, r.State, r.CostUSD))
		}
	}
	return out
}

// counted are slots that more than one run fills, and runs that are still RUNNING.
func (f *Facts) counted() (out []string) {
	fills := map[string][]string{}
	for _, uuid := range slices.Sorted(maps.Keys(f.Logged)) {
		r := f.Logged[uuid]
		if r.Status == "RUNNING" {
			out = append(out, fmt.Sprintf("run %s of %s #%d is RUNNING, and nobody is at work", r.RunID, r.Cell, r.Slot))
		}
		if r.Counts() {
			slot := fmt.Sprintf("%s #%d", r.Cell, r.Slot)
			fills[slot] = append(fills[slot], fmt.Sprintf("%s (%s %s, %s, goes on with %v)", r.RunID, r.Status, r.State, uuid, r.Continues))
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(fills)) {
		if len(fills[slot]) > 1 {
			out = append(out, fmt.Sprintf("%d runs count for %s: %s", len(fills[slot]), slot, strings.Join(fills[slot], ", ")))
		}
	}
	return out
}

// overspent says whether more was paid than the ceiling allows. What the runner was paid
// counts in full, told or not. Beyond the ceiling may go only what was paid while the
// price of a model was unknown, that is before the first of its evaluations had
// succeeded: by those that were cut short then, and by one first one that succeeds.
func (f *Facts) overspent() []string {
	if f.Ceiling == 0 {
		return nil
	}
	known := map[string]Work{}
	for _, w := range f.Works {
		if first, ok := known[w.Model]; w.Succeeded && (!ok || w.Over.Before(first.Over)) {
			known[w.Model] = w
		}
	}
	var paid, unknown, dearest float64
	for _, w := range f.Works {
		first, ok := known[w.Model]
		paid += w.Paid
		switch {
		case ok && w.Start.After(first.Over):
		case w.Succeeded:
			dearest = max(dearest, w.Paid)
		default:
			unknown += w.Paid
		}
	}
	if paid <= f.Ceiling+unknown+dearest+1e-6 {
		return nil
	}
	return []string{fmt.Sprintf("$%.4f were paid under a ceiling of $%.4f, and only $%.4f of it before prices were known", paid, f.Ceiling, unknown+dearest)}
}

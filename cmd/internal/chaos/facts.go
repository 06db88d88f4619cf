package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Facts is all that is known of one batch when it is over.
type Facts struct {
	Works   []Work                // from the runner's own log
	Killed  map[Process]time.Time // runners that the test killed, just before it did
	Lives   map[string]*Life      // processes of launchers, by the name that their runners tell
	Lease   time.Duration         // of their claims
	Quotas  []Quota               // in the spec
	Ceiling float64               // USD, of the batch; 0 = none
	Logged  map[string]Evaluated  // what MLflow has, by UUID
}

// Life is one process of a launcher.
type Life struct {
	Killed time.Time // just before the test killed it; zero = it did not
	Failed time.Time // when it met the error with which it ended by itself, at the latest its end; zero = it did not
	Stops  []Span    // in which it was stopped
}

// Span is a stretch of time. A zero To has not come.
type Span struct{ From, To time.Time }

// Quota is one of the spec's.
type Quota struct {
	Name      string
	Models    []string
	AtOnce    int  // 0 = unlimited
	Exclusive bool // one model at a time
}

// Evaluated is a run of MLflow that holds an evaluation.
type Evaluated struct {
	RunID     string
	Cell      string
	Slot      int
	Status    string
	State     string
	Outcomes  bool    // it has a record
	CostUSD   float64 // what it says it cost; 0 = nothing
	Continues []string
}

// Counts says whether it fills its slot.
func (e Evaluated) Counts() bool { return e.State == "complete" || e.State == "partial" }

// evaluation is all processes that the runner was started in for one evaluation.
type evaluation struct {
	uuid        string
	cell        string
	slot        int
	launcher    string
	start, over time.Time
	succeeded   bool // the last process says so
	told        float64
}

// over is when a process had ended at the latest that can be proven: by its own word,
// or because it or its launcher, without which it does not live, was killed. Zero =
// nobody knows.
func (f *Facts) over(w Work) time.Time {
	var out time.Time
	for _, t := range []time.Time{w.Over, f.Killed[w.Process()], f.life(w.Launcher).Killed} {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	if !out.IsZero() && out.Before(w.Start) {
		return w.Start
	}
	return out
}

func (f *Facts) life(launcher string) *Life {
	if l := f.Lives[launcher]; l != nil {
		return l
	}
	return &Life{}
}

// lapses is from when on what a process holds may be others', because its launcher was
// stopped for longer than a lease while it ran; zero = never.
func (f *Facts) lapses(launcher string, from, to time.Time) time.Time {
	for _, s := range f.life(launcher).Stops {
		lapse := s.From.Add(f.Lease)
		if (s.To.IsZero() || s.To.After(lapse) && s.To.After(from)) && lapse.Before(to) {
			return lapse
		}
	}
	return time.Time{}
}

// evaluations puts the processes of each evaluation together, by start.
func (f *Facts) evaluations() []evaluation {
	byUUID := map[string]*evaluation{}
	var order []string
	for _, w := range f.Works { // by start
		e := byUUID[w.UUID]
		if e == nil {
			e = &evaluation{uuid: w.UUID, cell: w.Cell, slot: w.Slot, launcher: w.Launcher, start: w.Start}
			byUUID[w.UUID], order = e, append(order, w.UUID)
		}
		e.over, e.succeeded = f.over(w), w.Succeeded
		e.told += w.Told
	}
	out := make([]evaluation, len(order))
	for i, id := range order {
		out[i] = *byUUID[id]
	}
	return out
}

// Violations says in sentences what must not have happened, in a fixed order.
func (f *Facts) Violations() []string {
	out := f.unended()
	for _, q := range f.Quotas {
		out = append(out, f.crowded(q)...)
	}
	out = append(out, f.twice()...)
	out = append(out, f.lost()...)
	out = append(out, f.counted()...)
	return append(out, f.overspent()...)
}

// unended are processes that ended, and nobody knows when.
func (f *Facts) unended() (out []string) {
	for _, w := range f.Works {
		if f.over(w).IsZero() {
			out = append(out, fmt.Sprintf("runner %d of %s #%d, started by %s, did not say that it ended, and nobody killed it or its launcher", w.PID, w.Cell, w.Slot, w.Launcher))
		}
	}
	return out
}

// crowded are moments at which a quota was not kept. A process whose launcher was
// stopped for longer than its lease is not counted from the end of the lease on: its
// place is another's then.
func (f *Facts) crowded(q Quota) (out []string) {
	type event struct {
		at    time.Time
		begin bool
		work  Work
	}
	var events []event
	for _, w := range f.Works {
		over := f.over(w)
		if !slices.Contains(q.Models, w.Model) || over.IsZero() {
			continue
		}
		if lapse := f.lapses(w.Launcher, w.Start, over); !lapse.IsZero() {
			over = lapse
		}
		if over.After(w.Start) {
			events = append(events, event{w.Start, true, w}, event{over, false, w})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(boolInt(a.begin), boolInt(b.begin)))
	})
	running := map[Process]Work{}
	for _, e := range events {
		if !e.begin {
			delete(running, e.work.Process())
			continue
		}
		for _, other := range running {
			if q.Exclusive && other.Model != e.work.Model {
				out = append(out, fmt.Sprintf("quota %s is exclusive, but %s ran (%s) when %s started (%s)", q.Name, other.Model, other.Launcher, e.work.Model, e.work.Launcher))
			}
		}
		running[e.work.Process()] = e.work
		if q.AtOnce > 0 && len(running) > q.AtOnce {
			out = append(out, fmt.Sprintf("quota %s lets %d run at once, but %d did when %s #%d was started by %s", q.Name, q.AtOnce, len(running), e.work.Cell, e.work.Slot, e.work.Launcher))
		}
	}
	slices.Sort(out)
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

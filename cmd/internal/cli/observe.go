package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// observer is an executor.Observer that can be closed.
type observer interface {
	executor.Observer
	Close()
}

// observe draws bars on a terminal and writes plain lines elsewhere.
func (a *App) observe() observer {
	lines := &plainObserver{w: a.Stderr, quiet: a.quiet, fit: a.Terminal}
	if !a.Terminal || a.quiet {
		return lines
	}
	return &barObserver{lines: lines, out: a.Stderr, bars: map[planner.SlotKey]*mpb.Bar{}}
}

// plainObserver writes a line when something ends.
type plainObserver struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
	fit   bool // w is a terminal: lines are no wider
	total int
	ended int
}

func (o *plainObserver) line(format string, args ...any) {
	text := escape.Terminal(fmt.Sprintf(format, args...))
	if o.fit {
		text = strings.Join(flow(text), "\n")
	}
	fmt.Fprintln(o.w, text)
}

func (o *plainObserver) Begin(parent ledger.Parent, missing int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total = missing
	o.line("batch %s: %s to run", parent.Name(), plural(missing, "evaluation"))
}

func (o *plainObserver) Started(planner.Slot)            {}
func (o *plainObserver) Progress(planner.Slot, int, int) {}
func (o *plainObserver) Close()                          {}

func (o *plainObserver) Ended(s planner.Slot, m evaluation.Measured) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended++
	if text := o.describe(s, m); text != "" {
		o.line("%s", text)
	}
}

// describe is the line of an evaluation; "" where nobody wants to read it.
func (o *plainObserver) describe(s planner.Slot, m evaluation.Measured) string {
	if o.quiet && m.State.Counts() {
		return ""
	}
	text := fmt.Sprintf("[%*d/%d] %s, repeat %d: %s, %s", len(fmt.Sprint(o.total)), o.ended, o.total, s.Cell.Variant, s.Slot, m.State, span(m.Ended.Sub(m.Started)))
	if m.Reason != "" {
		text += " (" + oneLine(m.Reason) + ")"
	}
	return text
}

func (o *plainObserver) Skipped(model, reason string, slots int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total -= slots
	o.line("skipped: model %s, %s: %s", model, plural(slots, "evaluation"), oneLine(reason))
}

func (o *plainObserver) PutBack(model, reason string, slots int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total -= slots
	o.line("given up for now: model %s, %s not started: %s", model, plural(slots, "evaluation"), oneLine(reason))
}

func (o *plainObserver) Recovered(model string) {
	o.line("model %s failed %d times in a row, but answers again: going on", model, executor.GiveUpAfter)
}

func (o *plainObserver) Away(err error) {
	o.line("MLflow does not answer: nothing new is started until it does; what runs goes on, and its results wait on disk (%s)", oneLine(err.Error()))
}

func (o *plainObserver) StopAsked(who string) {
	o.line("%s asked for a stop: nothing new is started; what runs is finished", who)
}

func (o *plainObserver) Tracing(evaluations int) {
	o.line("all have ended; sending the traces of %s", plural(evaluations, "evaluation"))
}

func (o *plainObserver) Waiting(repeats int, by []string) {
	if repeats == 0 {
		o.line("waiting: %s is about to begin the batch", launchers(by))
		return
	}
	o.line("waiting: %s being measured by %s", repeatsAre(repeats), launchers(by))
}

func (o *plainObserver) Full(quota string, by []string) {
	o.line("waiting: quota %s is in use by %s; what needs it starts here when it is free", quota, launchers(by))
}

func (o *plainObserver) Elsewhere(s planner.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total--
	if !o.quiet {
		o.line("%s, repeat %d: ended by another launcher", s.Cell.Variant, s.Slot)
	}
}

func repeatsAre(n int) string {
	if n == 1 {
		return "1 repeat is"
	}
	return fmt.Sprintf("%d repeats are", n)
}

// launchers names launchers as people know them: by host and process.
func launchers(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, launcherName(name))
	}
	return strings.Join(out, ", ")
}

func launcherName(name string) string {
	if parts := strings.Split(name, "/"); len(parts) == 3 {
		name = fmt.Sprintf("%s (process %s)", placeTail.ReplaceAllString(parts[0], ""), parts[1])
	}
	return cleanLine(name)
}

// placeTail is what an executor adds to a host name to tell boots and containers apart.
var placeTail = regexp.MustCompile(`-[0-9a-f]{12}$`)

func (o *plainObserver) Back(after time.Duration) {
	o.line("MLflow answers again after %s", span(after))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// barObserver draws one bar for the batch and one for each running evaluation.
type barObserver struct {
	lines *plainObserver
	out   io.Writer
	mu    sync.Mutex
	p     *mpb.Progress
	all   *mpb.Bar
	bars  map[planner.SlotKey]*mpb.Bar
}

func (o *barObserver) Begin(parent ledger.Parent, missing int) {
	o.lines.Begin(parent, missing)
	if missing == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.p = mpb.New(mpb.WithOutput(o.out), mpb.WithWidth(32), mpb.WithRefreshRate(150*time.Millisecond))
	o.all = o.p.AddBar(int64(missing), mpb.BarPriority(1<<20),
		mpb.PrependDecorators(decor.Name("evaluations", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d"), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace)))
}

func key(s planner.Slot) planner.SlotKey {
	return planner.SlotKey{Cell: s.Cell.Identity.Cell, Slot: s.Slot}
}

func (o *barObserver) Started(s planner.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.p == nil {
		return
	}
	// A total of 0 can still be set: the bar ends when its evaluation does.
	o.bars[key(s)] = o.p.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("%s · r%d", s.Cell.Variant, s.Slot), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d tasks")))
}

func (o *barObserver) Progress(s planner.Slot, done, total int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.bars[key(s)]; b != nil {
		b.SetTotal(int64(total), false)
		b.SetCurrent(int64(done))
	}
}

func (o *barObserver) Ended(s planner.Slot, m evaluation.Measured) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b := o.bars[key(s)]; b != nil {
		b.SetTotal(-1, true)
		delete(o.bars, key(s))
	}
	o.lines.mu.Lock()
	o.lines.ended++
	text := o.lines.describe(s, m)
	o.lines.mu.Unlock()
	if !m.State.Counts() {
		fmt.Fprintln(o.p, strings.Join(flow(escape.Terminal(text)), "\n"))
	}
	o.all.Increment()
}

func (o *barObserver) Skipped(model, reason string, slots int) {
	o.lines.Skipped(model, reason, slots)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all != nil {
		o.all.SetTotal(int64(o.lines.total), false)
	}
}

func (o *barObserver) PutBack(model, reason string, slots int) {
	o.lines.PutBack(model, reason, slots)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all != nil {
		o.all.SetTotal(int64(o.lines.total), false)
	}
}

func (o *barObserver) Waiting(repeats int, by []string) { o.above().Waiting(repeats, by) }
func (o *barObserver) Full(quota string, by []string)   { o.above().Full(quota, by) }

func (o *barObserver) Elsewhere(planner.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines.mu.Lock()
	o.lines.total--
	total := o.lines.total
	o.lines.mu.Unlock()
	if o.all != nil {
		o.all.SetTotal(int64(total), false)
	}
}

func (o *barObserver) Recovered(model string)   { o.above().Recovered(model) }
func (o *barObserver) Away(err error)           { o.above().Away(err) }
func (o *barObserver) StopAsked(who string)     { o.above().StopAsked(who) }
func (o *barObserver) Tracing(evaluations int)  { o.above().Tracing(evaluations) }
func (o *barObserver) Back(after time.Duration) { o.above().Back(after) }

// above writes lines above the bars.
func (o *barObserver) above() *plainObserver {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.p == nil {
		return o.lines
	}
	return &plainObserver{w: o.p, fit: true}
}

// Close ends drawing.
func (o *barObserver) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.p == nil {
		return
	}
	for _, b := range o.bars {
		b.Abort(true)
	}
	o.all.Abort(false)
	o.p.Wait()
}

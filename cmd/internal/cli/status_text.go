package cli

import (
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

func (a *App) showStatus(s *batchStatus) {
	state := "unfinished"
	switch {
	case s.Frozen:
		state = "frozen"
	case s.Running > 0:
		state = plural(s.Running, "evaluation") + " running"
	}
	n := s.Counts
	a.print("%s  %s", s.Name, state)
	a.print("%d planned = %d reused + %d done + %d failed + %d skipped + %d not started\n", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	if s.Stop != "" {
		a.printFlow(cleanLine(s.Stop) + " asked its launchers to start nothing new; `benchbatch run` goes on\n")
	}
	var t table
	t.numbers(2, 3, 4, 5, 6, 7)
	t.add("agent", "model", "reused", "done", "running", "failed", "skipped", "left", "")
	for _, c := range s.Cells {
		row := []string{c.Agent, c.Model}
		for _, v := range []int{c.Reused, c.Done, c.Running, c.Failed, c.Skipped, c.Left} {
			row = append(row, fmt.Sprint(v))
		}
		t.add(append(row, c.remark(s.Frozen))...)
	}
	t.write(a.Stdout)
	a.showSlots(s)
	a.showSpent(s)
	if s.End != "" {
		a.print("done at about %s", s.End)
	}
	a.print("\nMLflow  %s", s.Page)
}

// remark is what is said beside a cell's numbers.
func (c statusCell) remark(frozen bool) string {
	text := ""
	add := func(s string) {
		if text != "" {
			text += "; "
		}
		text += s
	}
	if c.Failed > 0 && !frozen {
		add("failed: " + classes(c.Classes))
	}
	if c.PutBack > 0 {
		add(fmt.Sprintf("%d put back", c.PutBack))
	}
	switch {
	case c.WaitsFor == idle:
		add(idle)
	case c.WaitsFor != "":
		add("behind " + c.WaitsFor)
	}
	return text
}

// showSlots lists what runs and which models are left out, and why.
func (a *App) showSlots(s *batchStatus) {
	var t table
	if s.Running > 0 {
		a.print("")
	}
	for _, slot := range s.Slots {
		if slot.State != slotRunning {
			continue
		}
		where := launcherName(slot.Launcher)
		if slot.Gone {
			where += ", which is gone: `benchbatch run` or `benchbatch gc` closes it"
		}
		if slot.Lapsed {
			where += ", whose lease has lapsed: whoever runs the batch takes it over"
		}
		t.add(fmt.Sprintf("running: %s, repeat %d", slot.Variant, slot.Slot), "since "+slot.Started, "on "+where)
	}
	t.write(a.Stdout)
	said := map[string]bool{}
	for _, slot := range s.Slots {
		word := map[batch.SlotState]string{batch.SlotSkipped: "skipped", slotPutBack: "put back", batch.SlotFailed: "failed"}[slot.State]
		line := fmt.Sprintf("%s: %s: %s", word, slot.Variant, oneLine(slot.Reason))
		if word != "" && slot.Reason != "" && !said[line] {
			said[line] = true
			a.printFlow(cleanLine(line))
		}
	}
}

func (a *App) showSpent(s *batchStatus) {
	if s.Frozen {
		return
	}
	text := "unknown"
	if s.SpentUSD != nil {
		text = "$" + export.Dollars(*s.SpentUSD)
	}
	if s.SpentUSD != nil && s.CostUnknown > 0 {
		text = "at least " + text
	}
	if s.CeilingUSD != nil {
		text += fmt.Sprintf(" of $%.2f", *s.CeilingUSD)
	}
	if s.CostUnknown > 0 {
		text += fmt.Sprintf(" (%s at a cost that is not known)", plural(s.CostUnknown, "evaluation"))
	}
	a.print("\nspent: %s", text)
}

// showWaiting says what lies in the state folder of this machine and is not logged.
func (a *App) showWaiting(kept []executor.Kept, launcher string) {
	n := 0
	var since time.Time
	for _, k := range kept {
		if !k.Measured && launcher != "" {
			continue // it runs
		}
		if n++; since.IsZero() || k.Since.Before(since) {
			since = k.Since
		}
	}
	if n == 0 {
		return
	}
	who := "`benchbatch run` logs it first"
	if launcher != "" {
		who = "its launcher logs it when MLflow answers"
	}
	a.printFlow(fmt.Sprintf("waiting on disk here: %s that MLflow has not got, the oldest started %s: %s", plural(n, "evaluation"), timeText(since), who))
}

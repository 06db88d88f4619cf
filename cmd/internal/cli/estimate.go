package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/terminal"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// askAbove is what may be paid without being asked, in USD.
const askAbove = 10.0

// expect says what the missing evaluations cost, and how long they take under the
// quotas with so many at once. Only (nil = all) leaves variants out.
func expect(p *planner.Plan, only func(batch.Variant) bool, atOnce int) (planner.Estimate, *planner.Interval) {
	e := p.Estimate
	missing := p.Missing()
	if only != nil {
		var some []planner.Slot
		for _, s := range missing {
			if only(s.Cell.Variant) {
				some = append(some, s)
			}
		}
		missing = some
		e = planner.EstimateOf(missing, p.History)
	}
	t := executor.Forecast(missing, executor.LimitsOf(p.Spec(), atOnce), p.History)
	if t == nil || len(missing) == 0 || e.WallS == nil || e.WallS.Mean <= 0 {
		return e, nil
	}
	return e, &planner.Interval{Mean: *t, Low: *t * e.WallS.Low / e.WallS.Mean, High: *t * e.WallS.High / e.WallS.Mean}
}

// showEstimate prints what is expected, model by model and together.
func (a *App) showEstimate(e planner.Estimate, forecast *planner.Interval) {
	if len(e.Models) > 1 {
		var t table
		t.numbers(1, 2, 3, 4, 5)
		t.Most, t.Fits = terminal.Columns, []int{0}
		t.add("model", "missing", "cost", "likely", "time", "likely")
		for _, m := range e.Models {
			t.add(append([]string{m.Model, fmt.Sprint(m.Evaluations)}, amountCells(m.Amount)...)...)
		}
		t.write(a.Stdout)
		a.print("")
	}
	a.printFlow(estimateText(e, forecast))
}

// amountCells are cost and time with what is likely; + where some of it is unknown.
func amountCells(m planner.Amount) []string {
	cells := []string{"unknown", "", "unknown", ""}
	more := func(n int) string {
		if n > 0 {
			return "+"
		}
		return ""
	}
	if m.CostUSD != nil {
		cells[0] = "$" + export.Dollars(m.CostUSD.Mean) + more(m.UnknownCost)
		cells[1] = export.Dollars(m.CostUSD.Low) + "–" + export.Dollars(m.CostUSD.High)
	}
	if m.WallS != nil {
		mean, low, high := m.WallS.Wall()
		cells[2], cells[3] = span(mean)+more(m.UnknownTime), spans(low, high)
	}
	return cells
}

// spans is a range of durations.
func spans(low, high time.Duration) string {
	if span(low) == span(high) {
		return span(low)
	}
	return span(low) + " to " + span(high)
}

// estimateText says what the missing evaluations would cost; unknown is never 0.
func estimateText(e planner.Estimate, forecast *planner.Interval) string {
	if e.Evaluations == 0 || forecast == nil {
		return amountText(e.Amount)
	}
	mean, low, high := forecast.Wall()
	return amountText(e.Amount) + fmt.Sprintf("; done in about %s under the quotas (likely %s)", span(mean), spans(low, high))
}

func amountText(e planner.Amount) string {
	if e.Evaluations == 0 {
		return "nothing is missing: nothing would be paid"
	}
	from := ""
	if e.Calibrated > 0 {
		from = fmt.Sprintf("; of %d from calibration", e.Calibrated)
	}
	return fmt.Sprintf("missing: %s; cost %s; time %s%s", plural(e.Evaluations, "evaluation"), costText(e), wallText(e), from)
}

func costText(e planner.Amount) string {
	if e.CostUSD == nil {
		return "unknown"
	}
	text := fmt.Sprintf("about $%s (likely %s to %s)", export.Dollars(e.CostUSD.Mean), export.Dollars(e.CostUSD.Low), export.Dollars(e.CostUSD.High))
	if e.UnknownCost > 0 {
		text += fmt.Sprintf(" and the unknown cost of %s", plural(e.UnknownCost, "evaluation"))
	}
	return text
}

func wallText(e planner.Amount) string {
	if e.WallS == nil {
		return "unknown"
	}
	mean, low, high := e.WallS.Wall()
	text := fmt.Sprintf("about %s one after another (likely %s)", span(mean), spans(low, high))
	if e.UnknownTime > 0 {
		text += fmt.Sprintf(" and the unknown time of %s", plural(e.UnknownTime, "evaluation"))
	}
	return text
}

// maxUSD is the bound of one run; nil = none.
func maxUSD(f runFlags) *float64 {
	if f.maxCost == 0 {
		return nil
	}
	return &f.maxCost
}

// confirm says what is expected and asks before much money is spent, or money that
// nobody can tell. Where there is nobody to ask, much money is refused.
func (a *App) confirm(ctx context.Context, p *planner.Plan, f runFlags, only func(batch.Variant) bool) error {
	if f.maxCost < 0 {
		return usageError{fmt.Errorf("--max-cost %v: an amount in USD above 0 is expected", f.maxCost)}
	}
	e, forecast := expect(p, only, f.atOnce)
	if e.Evaluations == 0 {
		return nil
	}
	a.say("%s", estimateText(e, forecast))
	if t := tracingOf(p, e.Evaluations); t != nil {
		a.say("%s", t)
	}
	for _, w := range resolutionOfPlan(p).warnings() {
		a.say("warning: %s", w)
	}
	if f.yes || f.maxCost > 0 {
		return nil
	}
	ask := a.Terminal && !a.asJSON
	switch {
	case e.CostUSD != nil && e.CostUSD.High > askAbove && !ask:
		return usageError{fmt.Errorf("not started: it may cost more than $%.2f, and there is nobody to ask\n"+
			"  --yes starts it; --max-cost USD starts it and pays no more than that", askAbove)}
	case e.UnknownCost == 0 && e.CostUSD.High <= askAbove, !ask:
		return nil
	}
	return a.askToStart(ctx)
}

func (a *App) askToStart(ctx context.Context) error {
	fmt.Fprint(a.Stderr, "start? [y/N] ")
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // no answer is no
		answered <- line
	}()
	var answer string
	select {
	case answer = <-answered:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return usageError{errors.New("not started")}
	}
	return nil
}

package calibration

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
)

// sentences are all that a calibration can say, by code.
var sentences = map[string]document.Own{
	"no_data":             "No evaluation of the slice counts: nothing is known, and no data is never a go. See what failed, mend it, and %s.",
	"no_verdict":          "The decision rule can't be applied: %s.",
	"failures_everywhere": "%d of %d task runs failed for reasons that are not the agents': mend that first, and %s.",
	"tells_nothing":       "None of %d tasks tells anything apart: every score of every variant and run is the same. A batch of such tasks shows nothing: change the panel, or how it is scored.",

	"unmeasured":          "No repeat of %s counts: mend or exclude what does not answer.",
	"failures":            "Failures that are not the agent's could move %s by more than the margin of %s: mend the provider or harness, or raise retry.",
	"failures_undeclared": "Failures that are not the agent's could move %s by more than the batch can detect: mend the provider or harness, or raise retry.",
	"ceiling":             "The panel is at its ceiling: even the lowest mean, %s, leaves less room than the batch can detect. Take harder tasks.",
	"floor":               "The panel is at its floor: even the highest mean, %s, is less than the batch can detect. Take easier tasks, or score in steps.",
	"saturated":           "Only %d of %d tasks tell anything apart: replace those on which every score is the same.",
	"unstable_runs":       "Whole runs differ by more than rerun noise: find what shifts them, or spread the repeats over days.",
	"no_repeats":          "%d repeats are planned: below %d nothing is claimed.",
	"too_few_tasks":       "The panel has %d tasks: below %d nothing is claimed.",
	"power_unknown":       "What the batch could detect can't be told: the slice has too few tasks or repeats that two variants share. Choose more in calibration.tasks.",
	"too_few_units":       "At least %d independent tasks or families must differ before one of %d pairs can be separated, and the panel has %d: add some, or compare fewer variants.",
	"powerless":           "A difference of the margin, %s, would probably stay unseen: the batch as planned detects %s. %s",
	"over_budget":         "The rest would cost about %s, and %s are left below the ceiling: raise budget.ceiling_usd, or plan less.",
	"ceiling_unkept":      "The cost of %d evaluations is unknown, so the ceiling of %s can't be kept: let the runner and judges report cost_usd.",

	"failures_seen":       "%d of %d task runs failed for reasons that are not the agents'.",
	"silent_families":     "No task of these families told anything apart: %s.",
	"single_runs":         "Two single runs of one variant may differ by up to %s, more than the margin of %s: a single run shows nothing here.",
	"one_variant":         "One variant is planned: it is measured, and compared with nothing.",
	"margin_undeclared":   "No margin is declared, so nothing can be called equal; the batch as planned detects %s.",
	"perhaps_powerless":   "The margin, %s, is within reach, but the slice is small: what the batch detects could be up to %s.",
	"cost_unknown":        "The cost of %d evaluations is unknown.",
	"perhaps_over_budget": "The rest may cost up to %s, and %s are left below the ceiling: what does not fit is not started.",
	"whole_panel":         "The slice holds the whole panel, so its repeats are repeats of the batch and count there.",
	"left_out":            "%d variants of the batch are not in the slice: nothing is known of them.",
}

// What the margin needs, by which numbers help.
const (
	needBoth    = document.Own("It needs %d repeats, or %d tasks.")
	needRepeats = document.Own("It needs %d repeats; no number of tasks helps.")
	needTasks   = document.Own("It needs %d tasks; no number of repeats helps.")
	needUnits   = document.Own("More independent tasks or families come first.")
	needOther   = document.Own("No number of repeats or tasks helps: spread the runs over days, or declare a wider margin.")
)

// again says how to calibrate once more: a frozen calibration stays what it is.
func (c *Calibration) again() document.Own {
	if c.plan == nil {
		return "calibrate again"
	}
	return "calibrate again with --new"
}

// say adds a reason.
func (c *Calibration) say(w Verdict, code string, args ...any) {
	said := document.Say(sentences[code], args...)
	c.Reasons = append(c.Reasons, Reason{Code: code, Weight: w, Text: said.String(), Said: said})
}

// needs is what the median pair needs for the margin.
func (c *Calibration) needs() document.Text {
	k, n := c.Power.Repeats, c.Power.Tasks
	switch {
	case c.fewUnits():
		return document.Say(needUnits)
	case k != nil && n != nil:
		return document.Say(needBoth, *k, *n)
	case k != nil:
		return document.Say(needRepeats, *k)
	case n != nil:
		return document.Say(needTasks, *n)
	}
	return document.Say(needOther)
}

// mostNames is how many names a sentence holds.
const mostNames = 3

// some names the first of many.
func some(names []string) document.Text {
	var out []document.Text
	for i, n := range names {
		if i == mostNames {
			out = append(out, document.Say("%d more", len(names)-i))
			break
		}
		out = append(out, document.Foreign(n))
	}
	return document.Join(out, ", ")
}

func score(v float64) document.Own { return document.Own(fmt.Sprintf("%.3f", v)) }

// money is USD, with more digits the less it is.
func money(v float64) document.Own {
	switch {
	case v >= 1 || v == 0:
		return document.Own(fmt.Sprintf("$%.2f", v))
	case v >= 0.01:
		return document.Own(fmt.Sprintf("$%.4f", v))
	}
	return document.Own("$" + export.Dollars(v))
}

// span is a time as people say it.
func span(s float64) document.Own {
	switch {
	case s < 100:
		return document.Own(fmt.Sprintf("%.0f s", s))
	case s < 6000:
		return document.Own(fmt.Sprintf("%.0f min", s/60))
	}
	return document.Own(fmt.Sprintf("%.1f h", s/3600))
}

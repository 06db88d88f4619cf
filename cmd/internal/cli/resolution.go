package cli

import (
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Noise that is assumed while nothing is measured: that of pass/fail tasks which
// agents pass every other time, a little above the noisiest world that the rule was
// simulated in (pass rates Beta(.7,.7), variants shifted task by task with a logit SD
// of 1.5: 0.14 and 0.09). Scores that vary less show smaller differences.
const (
	assumedRerun       = 0.15 // variance of a single run of a task
	assumedInteraction = 0.10 // variance over tasks of two variants' true difference
)

// fewestTasks and fewestRepeats are below which the decision rule claims nothing.
const (
	fewestTasks   = 10
	fewestRepeats = 3
	fewUnits      = 30 // below which the exact sign-flip test must agree
)

// resolution is what a planned batch can show, before anything is paid for it (F18).
type resolution struct {
	Pairs       int      `json:"pairs"`        // that share one level
	Look        int      `json:"look"`         // 1 = the first batch of this question
	Units       int      `json:"units"`        // families where they are the units, else tasks
	UnitsNeeded int      `json:"units_needed"` // that must differ before any pair can be told apart
	Families    bool     `json:"families_are_units"`
	MDE         *float64 `json:"detectable"`     // difference that a pair shows with a chance of 80 %; nil = too few tasks or repeats for any claim
	Runs        int      `json:"from_runs"`      // earlier runs whose scatter is the noise; 0 = all of it is assumed
	Margin      *float64 `json:"margin"`         // that was declared
	Tasks       int      `json:"tasks_needed"`   // for the margin, at these repeats; 0 = no number helps, or none is needed
	Repeats     int      `json:"repeats_needed"` // for the margin, on these tasks; 0 likewise

	spec *spec.Spec
}

// resolutionOf is what the batch can show as a later look at the same question than
// earlier ones, with the noise of valid repeats where there are any.
func resolutionOf(r *spec.Resolved, earlier int, valid []ledger.Entry) *resolution {
	d, n, m := r.Spec.Decision, len(r.Spec.Tasks), len(r.Cells)
	out := &resolution{Pairs: m * (m - 1) / 2, Look: min(100, earlier+1), Margin: d.Margin, spec: r.Spec}
	if d.Compare == "reference" {
		out.Pairs = m - 1
	}
	if out.Pairs == 0 || n == 0 {
		return nil
	}
	rule := stats.Rule{Alpha: d.Alpha, Look: out.Look}
	level := 2 * rule.AlphaAtLook()
	out.Units, out.Families = unitsOf(r.Spec)
	out.UnitsNeeded, _ = stats.UnitsFor(out.Pairs, level)
	if n < fewestTasks || r.Spec.Repeats < fewestRepeats {
		return out
	}
	design := stats.Design{Interaction: assumedInteraction, NoiseA: assumedRerun, NoiseB: assumedRerun, Alpha: level / float64(out.Pairs)}
	if d.Scope == "list" {
		design.Interaction = 0
	}
	if variance, runs := scatter(d.Metric, valid); runs > 0 {
		out.Runs = runs
		design.NoiseA, design.NoiseB = variance*float64(n), variance*float64(n)
	}
	if mde, ok := design.MDE(n, r.Spec.Repeats, r.Spec.Repeats); ok {
		mde = min(1, mde)
		out.MDE = &mde
	}
	if out.small() {
		out.Tasks, _ = design.TasksFor(*d.Margin, r.Spec.Repeats, r.Spec.Repeats)
		out.Repeats, _ = design.RepeatsFor(*d.Margin, n)
	}
	return out
}

// resolutionOfPlan is nil where nothing is missing: then nothing is to be decided any more.
func resolutionOfPlan(p *planner.Plan) *resolution {
	if len(p.Missing()) == 0 {
		return nil
	}
	return resolutionOf(p.Resolved(), len(p.Doc.Earlier), p.Valid)
}

// small says whether the margin is below what the batch can resolve.
func (x *resolution) small() bool { return x.Margin != nil && x.MDE != nil && *x.Margin < *x.MDE }

// unitsOf counts what the rule takes for independent: families where there are
// several and fewer than tasks.
func unitsOf(s *spec.Spec) (n int, families bool) {
	seen := map[string]bool{}
	own := 0
	for _, t := range s.Tasks {
		if t.Family == "" {
			own++
		}
		seen[t.Family] = t.Family != ""
	}
	delete(seen, "")
	if n = own + len(seen); n > 1 && n < len(s.Tasks) {
		return n, true
	}
	return len(s.Tasks), false
}

// scatter is the variance of the mean scores of runs of one cell, pooled over cells,
// with the number of runs behind it: rerun noise and shocks of whole runs together.
// Only the score of a run is logged, so another metric has no history here.
func scatter(metric string, valid []ledger.Entry) (variance float64, runs int) {
	if metric != "score" {
		return 0, 0
	}
	scores := map[string][]float64{}
	var cells []string
	for _, v := range valid {
		if v.Score == nil {
			continue
		}
		cell := string(v.Identity.Cell)
		if scores[cell] == nil {
			cells = append(cells, cell)
		}
		scores[cell] = append(scores[cell], *v.Score)
	}
	squares, freedom := 0.0, 0
	for _, c := range cells {
		mean := 0.0
		for _, s := range scores[c] {
			mean += s / float64(len(scores[c]))
		}
		for _, s := range scores[c] {
			squares += (s - mean) * (s - mean)
		}
		if len(scores[c]) > 1 {
			freedom += len(scores[c]) - 1
			runs += len(scores[c])
		}
	}
	if freedom < fewestRepeats {
		return 0, 0
	}
	return squares / float64(freedom), runs
}

// notes say it in words: what a pair can show, and the warnings.
func (x *resolution) notes() []string {
	if x == nil {
		return nil
	}
	var out []string
	if x.MDE != nil {
		out = append(out, fmt.Sprintf("a pair shows a difference of about %.2f with a chance of 80 %% (%s at one level, %s × %s%s), %s",
			*x.MDE, plural(x.Pairs, "pair"), plural(len(x.spec.Tasks), "task"), plural(x.spec.Repeats, "repeat"), x.lookText(), x.noiseText()))
	}
	return append(out, x.warnings()...)
}

// warnings say what the batch cannot show although it was asked for.
func (x *resolution) warnings() []string {
	if x == nil {
		return nil
	}
	var out []string
	if x.spec.Decision.Scope == "population" && x.Units < fewUnits && x.UnitsNeeded > x.Units {
		out = append(out, fmt.Sprintf("\"beats\" is out of reach: with %s and %s, %d would have to differ; at most \"ahead on this list\" can be shown",
			plural(x.Pairs, "pair"), x.unit(), x.UnitsNeeded))
	}
	if x.small() {
		out = append(out, fmt.Sprintf("decision.margin %v is below what a pair can show, about %.2f: variants that are alike will probably end as \"cannot tell\"; %s", *x.Margin, *x.MDE, x.remedy()))
	}
	return append(out, x.familyNotes()...)
}

func (x *resolution) unit() string {
	if x.Families {
		return fmt.Sprintf("%d families as the independent units", x.Units)
	}
	return plural(x.Units, "task")
}

func (x *resolution) lookText() string {
	if x.Look == 1 {
		return ""
	}
	return fmt.Sprintf(", look %d at this question", x.Look)
}

func (x *resolution) noiseText() string {
	tasks := fmt.Sprintf(", and assuming that variants differ from task to task (variance %.2f)", assumedInteraction)
	if x.spec.Decision.Scope == "list" {
		tasks = ""
	}
	if x.Runs > 0 {
		return fmt.Sprintf("by the scatter of %d earlier runs%s", x.Runs, tasks)
	}
	return fmt.Sprintf("assuming the noise of pass/fail tasks (variance of a run %.2f)%s: nothing is known of these variants yet, and `benchbatch calibrate` measures it", assumedRerun, tasks)
}

// remedy is what would make the margin visible, by the same noise.
func (x *resolution) remedy() string {
	var ways []string
	if x.Tasks > len(x.spec.Tasks) {
		ways = append(ways, plural(x.Tasks, "task"))
	}
	if x.Repeats > x.spec.Repeats {
		ways = append(ways, plural(x.Repeats, "repeat"))
	}
	if len(ways) == 0 {
		return "a wider margin is the only way"
	}
	return "by this noise it takes " + strings.Join(ways, ", or ") + ", or a wider margin"
}

// familyNotes name the families on which nothing can be claimed.
func (x *resolution) familyNotes() []string {
	if x.spec.Decision.By == "" {
		return nil
	}
	sizes := map[string]int{}
	var families, small []string
	for _, t := range x.spec.Tasks {
		if t.Family != "" {
			if sizes[t.Family]++; sizes[t.Family] == 1 {
				families = append(families, t.Family)
			}
		}
	}
	for _, f := range families {
		if sizes[f] < fewestTasks {
			small = append(small, fmt.Sprintf("%s (%d)", f, sizes[f]))
		}
	}
	if len(small) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("decision.by is family: below %d tasks nothing is claimed on a family: %s", fewestTasks, strings.Join(small, ", "))}
}

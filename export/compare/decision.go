package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// decision is what a comparison uses of a decision block. Reference, compare,
// advantage and by are about one batch.
type decision struct {
	Metric        string   `json:"metric"`
	PassThreshold float64  `json:"pass_threshold"`
	Pass          string   `json:"pass"`
	Margin        *float64 `json:"margin,omitempty"`
	Alpha         float64  `json:"alpha"`
	Scope         string   `json:"scope"`
}

// Rule is the decision rule of a comparison.
type Rule struct {
	stats.Rule
	Metric string // score, passed or judge/ID
	// Decision is the part of a decision block that is used, as canonical JSON.
	Decision json.RawMessage
	Digest   batch.Digest
	// PostHoc says why the rule is not one that both batches froze; "" = it is.
	PostHoc string
}

// DecisionError says that a rule fits a batch not.
type DecisionError struct {
	Batch  string
	Reason error
}

func (e *DecisionError) Error() string { return fmt.Sprintf("batch %s: %v", e.Batch, e.Reason) }

func (e *DecisionError) Unwrap() error { return e.Reason }

// decisionOf is the frozen rule of a batch, defaults filled in.
func decisionOf(f *export.Frozen) (decision, error) {
	d := decision{Metric: "score", Alpha: 0.025, Scope: "population"}
	if err := json.Unmarshal(f.Plan.Decision, &d); err != nil {
		return d, fmt.Errorf("the decision in plan.json can't be read: %w", err)
	}
	d.PassThreshold, d.Pass = f.Plan.PassThreshold, "threshold"
	if f.Plan.PassReported {
		d.Pass = "reported"
	}
	return d, nil
}

func (d decision) text() []byte {
	b, err := batch.Canonical(d)
	if err != nil {
		panic("compare: " + err.Error()) // strings and numbers that came from JSON
	}
	return b
}

// settle finds the rule, and makes both sides use it. given is a decision block
// that was asked for; nil = the frozen one.
func settle(a, b Side, given []byte) (Rule, error) {
	var frozen [2]decision
	var err error
	for i, s := range []Side{a, b} {
		if frozen[i], err = decisionOf(s.Frozen); err != nil {
			return Rule{}, &DecisionError{s.Frozen.Result.Name, err}
		}
	}
	agree := bytes.Equal(frozen[0].text(), frozen[1].text())
	use, why := frozen[1], ""
	switch {
	case given != nil:
		use = decision{Metric: "score", PassThreshold: 1, Pass: "threshold", Alpha: 0.025, Scope: "population"}
		if err := json.Unmarshal(given, &use); err != nil {
			return Rule{}, fmt.Errorf("decision: %w", err)
		}
		if !agree || !bytes.Equal(use.text(), frozen[0].text()) {
			why = "the rule was given after both batches were frozen"
		}
	case !agree:
		why = "the batches froze different rules (" + strings.Join(differing(frozen[0], frozen[1]), ", ") + "): that of B is used for both"
	}
	for i, s := range []Side{a, b} {
		if bytes.Equal(use.text(), frozen[i].text()) {
			continue
		}
		if err := s.Redecide(use.text()); err != nil {
			return Rule{}, &DecisionError{s.Frozen.Result.Name, err}
		}
	}
	return rule(a, b, use, why)
}

// rule is the rule at the look that this is: see look.
func rule(a, b Side, d decision, postHoc string) (Rule, error) {
	r := Rule{Rule: stats.DefaultRule(), Metric: d.Metric, Decision: d.text(), PostHoc: postHoc}
	r.Digest = batch.Sum(r.Decision)
	r.Alpha, r.Margin, r.Compare, r.Look = d.Alpha, d.Margin, stats.ChosenPairs, look(a.Frozen, b.Frozen)
	if d.Scope == "list" {
		r.Scope = stats.List
	}
	switch {
	case !(d.Alpha > 0 && d.Alpha < 0.5):
		return r, &DecisionError{b.Frozen.Result.Name, fmt.Errorf("decision.alpha %v: above 0 and below 0.5 is expected", d.Alpha)}
	case d.Margin != nil && !(*d.Margin > 0 && *d.Margin < 1):
		return r, &DecisionError{b.Frozen.Result.Name, fmt.Errorf("decision.margin %v: above 0 and below 1 is expected", *d.Margin)}
	}
	return r, nil
}

// look counts this comparison (step 5b): each earlier frozen batch of the question,
// besides the two, could have been compared before.
func look(a, b *export.Frozen) int {
	earlier := map[string]bool{}
	for _, f := range []*export.Frozen{a, b} {
		for _, run := range f.Plan.Earlier {
			if run != a.Result.Batch && run != b.Result.Batch {
				earlier[run] = true
			}
		}
	}
	return min(100, len(earlier)+1)
}

// differing names the fields in which two rules differ, with both values.
func differing(a, b decision) []string {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a.text(), &x) != nil || json.Unmarshal(b.text(), &y) != nil {
		return nil
	}
	var out []string
	for _, k := range []string{"metric", "pass_threshold", "pass", "margin", "alpha", "scope"} {
		if !bytes.Equal(x[k], y[k]) {
			out = append(out, fmt.Sprintf("%s %s and %s", k, orNone(x[k]), orNone(y[k])))
		}
	}
	return out
}

func orNone(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return string(v)
}

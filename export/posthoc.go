package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// PostHoc says that a batch is decided by another rule than the one that was frozen
// before the run. Whatever is made of it says so on every page.
type PostHoc struct {
	Decision json.RawMessage // that is used instead, with defaults filled in, as canonical JSON
	Digest   batch.Digest    // of it
	Frozen   batch.Digest    // of the decision that was frozen
}

// given is a decision block as a person writes it.
type given struct {
	Metric        string             `json:"metric"`
	PassThreshold float64            `json:"pass_threshold"`
	Pass          string             `json:"pass"`
	Margin        *float64           `json:"margin,omitempty"`
	Alpha         float64            `json:"alpha"`
	Reference     string             `json:"reference,omitempty"`
	Compare       string             `json:"compare"`
	Scope         string             `json:"scope"`
	Advantage     map[string]float64 `json:"advantage,omitempty"`
	By            string             `json:"by,omitempty"`
}

// Redecide replaces the frozen decision rule by another one, a JSON object with the
// members of a spec's decision (shares as numbers). It must be called before any
// evidence is read. The plan's documents stay what they are; PostHoc says what was
// done. Where the rule is the frozen one, nothing changes and PostHoc stays nil.
func (f *Frozen) Redecide(decision []byte) error {
	d := given{Metric: "score", PassThreshold: 1, Pass: "threshold", Alpha: 0.025, Compare: "all", Scope: "population"}
	dec := json.NewDecoder(bytes.NewReader(decision))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	if dec.More() {
		return errors.New("decision: more than one JSON value")
	}
	if err := d.check(f); err != nil {
		return err
	}
	text, err := batch.Canonical(d)
	if err != nil {
		return err
	}
	frozen := f.Plan.DecisionDigest
	if f.PostHoc != nil {
		frozen = f.PostHoc.Frozen
	}
	if batch.Sum(text) == frozen {
		return nil
	}
	f.PostHoc = &PostHoc{Decision: text, Digest: batch.Sum(text), Frozen: frozen}
	f.Plan.Decision, f.Plan.DecisionDigest = text, f.PostHoc.Digest
	f.Plan.PassThreshold, f.Plan.PassReported = d.PassThreshold, d.Pass == "reported"
	return nil
}

func (d *given) check(f *Frozen) error {
	var variants []string
	for _, c := range f.Plan.Cells {
		variants = append(variants, c.Variant.String())
	}
	for _, c := range []struct{ name, value, allowed string }{
		{"pass", d.Pass, "threshold reported"}, {"compare", d.Compare, "all reference"}, {"scope", d.Scope, "population list"}, {"by", d.By, " family"},
	} {
		if !slices.Contains(strings.Split(c.allowed, " "), c.value) {
			return fmt.Errorf("decision.%s %q is not known: one of %s is expected", c.name, c.value, strings.TrimSpace(c.allowed))
		}
	}
	switch {
	case !f.measures(d.Metric):
		return fmt.Errorf("decision.metric %q is not known: score, passed or judge/ID of a judge of this batch is expected", d.Metric)
	case !(d.PassThreshold > 0 && d.PassThreshold <= 1):
		return fmt.Errorf("decision.pass_threshold %v: above 0 and at most 1 is expected", d.PassThreshold)
	case !(d.Alpha > 0 && d.Alpha < 0.5):
		return fmt.Errorf("decision.alpha %v: above 0 and below 0.5 is expected", d.Alpha)
	case d.Margin != nil && !(*d.Margin > 0 && *d.Margin < 1):
		return fmt.Errorf("decision.margin %v: above 0 and below 1 is expected; leave it out to declare none", *d.Margin)
	case d.Reference != "" && !slices.Contains(variants, d.Reference):
		return fmt.Errorf("decision.reference %q is not a variant of this batch: one of %s is expected", d.Reference, strings.Join(variants, ", "))
	case d.Compare == "reference" && d.Reference == "":
		return errors.New("decision.compare is reference, but decision.reference names none")
	}
	for _, name := range sortedKeys(d.Advantage) {
		if s := d.Advantage[name]; !slices.Contains(properties, name) || !(s > 0 && s < 1) {
			return fmt.Errorf("decision.advantage.%s %v: a share above 0 and below 1 of %s is expected", name, s, strings.Join(properties, ", "))
		}
	}
	return nil
}

// properties are what an advantage can be in.
var properties = []string{stats.ByCost.String(), stats.ByTime.String(), stats.ByConsistency.String()}

// measures says whether a metric can be decided on: a judge's only where the plan declares it.
func (f *Frozen) measures(metric string) bool {
	if metric == "score" || metric == "passed" {
		return true
	}
	name, ok := strings.CutPrefix(metric, "judge/")
	var judges []struct {
		ID string `json:"id"`
	}
	if !ok || json.Unmarshal(f.Plan.Judges, &judges) != nil {
		return false
	}
	for _, j := range judges {
		if j.ID == name {
			return true
		}
	}
	return false
}

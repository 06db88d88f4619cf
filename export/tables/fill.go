package tables

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// keys are the columns that stand in front of an evaluation's rows.
type keys struct {
	Batch
	Variant
	Run
}

func (b *builder) batch() Batch {
	return Batch{b.f.Result.Batch, b.f.Plan.Benchmark, b.f.Plan.Version}
}

func variantOf(c *batch.Cell) Variant {
	return Variant{c.Agent, c.Model, c.Variant.String(), c.Identity.Cell.Short()}
}

func (b *builder) keys(e *export.Evidence) keys {
	return keys{b.batch(), variantOf(e.Planned), Run{e.RunID, int64(e.Slot), e.Counted, e.Reused}}
}

func (b *builder) addOutcomes(k keys, e *export.Evidence) error {
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		r, err := b.outcomes.next()
		if err != nil {
			return err
		}
		r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
		r.Task = o.Task
		r.Attempt = count(o.Attempt)
		if p := e.Derived[i].Position; p >= 0 {
			t := &b.f.Tasks[p]
			r.Family, r.Anchor, r.Withdrawn = text(&t.Family), t.Anchor, t.Withdrawn != nil
		}
		if err := b.fill(&r.Result, o, &e.Derived[i]); err != nil {
			return err
		}
		if err := b.addJudges(k, o); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addAttempts(k keys, e *export.Evidence) error {
	for i := range e.Attempts {
		a := &e.Attempts[i]
		r, err := b.attempts.next()
		if err != nil {
			return err
		}
		r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
		r.Task, r.Accepted = a.Task, a.Accepted
		r.Attempt = count(a.Attempt)
		d := export.Derived{Passed: b.f.Pass(&a.Outcome)}
		d.Repriced, d.Reason = b.f.Reprice(e.Model, a.Tokens)
		if err := b.fill(&r.Result, &a.Outcome, &d); err != nil {
			return err
		}
	}
	return nil
}

// fill writes what attempts and outcomes have in common. The free text of an
// answer stays out where raw evidence is withheld.
func (b *builder) fill(r *Result, o *outcome.Outcome, d *export.Derived) error {
	r.State = string(o.State)
	r.Score = finite(o.Score)
	r.Passed = d.Passed
	r.CostUSD = finite(o.CostUSD)
	r.Repriced = finite(d.Repriced)
	if d.Repriced == nil {
		r.RepricedReason = text(&d.Reason)
	}
	if t := o.Tokens; t != nil {
		r.Tokens = Tokens{t.Input, t.CacheRead, t.CacheWrite, t.Output}
	}
	r.DurationS, r.WaitS = finite(o.DurationS), finite(o.WaitS)
	r.ToolCalls, r.ToolErrors = o.ToolCalls, o.ToolErrors
	if s := o.Served; s != nil {
		r.ServedModel, r.ServedProvider = text(&s.Model), text(&s.Provider)
	}
	r.Repaired = o.Repaired
	r.Flags = int64(len(o.Flags))
	if o.Error != nil {
		class := string(o.Error.Class)
		r.ErrorClass = &class
	}
	if len(o.Flags) > 0 {
		s, err := jsonText(o.Flags)
		if err != nil {
			return err
		}
		r.FlagsJSON = &s
	}
	if b.f.Withholds(export.WithholdRaw) {
		return nil
	}
	r.Output, r.Transcript = text(&o.Output), text(&o.Transcript)
	if o.Error != nil {
		r.ErrorMessage = text(&o.Error.Message)
	}
	return nil
}

func (b *builder) addJudges(k keys, o *outcome.Outcome) error {
	for i := range o.Judges {
		v := &o.Judges[i]
		r, err := b.judges.next()
		if err != nil {
			return err
		}
		r.Batch, r.Variant, r.Run = k.Batch, k.Variant, k.Run
		r.Task, r.Judge = o.Task, v.Name
		r.Kind, r.JudgeModel = text(&v.Kind), text(&v.Model)
		r.Score, r.RawScore = finite(v.Unit()), finite(v.Score)
		r.ScaleMin, r.ScaleMax = v.Range()
		r.CostUSD = finite(v.CostUSD)
		r.Samples = int64(len(v.Samples))
		if len(v.Samples) > 0 {
			s, err := jsonText(v.Samples)
			if err != nil {
				return err
			}
			r.SampleList = &s
		}
		if !b.f.Withholds(export.WithholdRaw) {
			r.Rationale, r.Error = text(&v.Rationale), text(&v.Error)
		}
	}
	return nil
}

var zero float64

// finite is v without what JSON can't say and without a negative zero.
func finite(v *float64) *float64 {
	switch {
	case v == nil || math.IsNaN(*v) || math.IsInf(*v, 0):
		return nil
	case *v == 0:
		return &zero
	}
	return v
}

// text is s, or null where it is empty.
func text(s *string) *string {
	if *s == "" {
		return nil
	}
	return s
}

// count is n, or null where it is 0: counted from 1, 0 means not recorded.
func count(n int) *int64 {
	if n == 0 {
		return nil
	}
	v := int64(n)
	return &v
}

// millis is t, or null where it is not believable.
func millis(t *time.Time) *int64 {
	if !export.Believable(t) {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func jsonText(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSpace(b.Bytes())), err
}

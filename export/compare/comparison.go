package compare

import (
	"context"
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Mode says what two batches are compared by.
type Mode string

// Either the whole panel under one recipe, or the tasks that stayed the same.
const (
	SameRecipe Mode = "same recipe"
	ByAnchors  Mode = "anchors"
)

// Options of Of.
type Options struct {
	// Decision is a decision block (JSON, shares as numbers) to use instead of the
	// frozen one; nil = the frozen one.
	Decision []byte
	// Reference is the variant that links batches of different recipes; "" = the one
	// that both froze.
	Reference string
	Tool      string // version of benchbatch
}

// Comparison is B against A.
type Comparison struct {
	Name    string
	A, B    Batch
	Mode    Mode
	Rule    Rule
	Changes []batch.Change // what differs between A and B: brain, agents, models, recipe

	Variants     []Variant // in both, in B's order
	OnlyA, OnlyB []batch.Variant
	Shared       []Shared // runs that both count: one measurement each

	Tasks    []Task
	Families int            // among the tasks that are compared; a task without one counts as its own
	Overall  *stats.Overall // of SameRecipe; nil = no variant was measured by both
	Level    float64        // two-sided, shared by the pairs
	Places   int            // pairs that share it
	Readings []Reading      // the same rule without some outcomes
	Link     *Link          // of ByAnchors
	Again    Price          // of measuring A's side again beside B's

	asked Options
}

// Variant is one variant in both batches.
type Variant struct {
	batch.Variant
	SameCell bool // the same agent, model, brain and recipe: only the day differs
	A, B     Half
	// Pair is the verdict on B - A under SameRecipe: A of the pair is B's half. nil = not compared.
	Pair *stats.Pair
	// Bridge is F26 under ByAnchors; nil for the reference itself.
	Bridge *Bridge
}

// Half is a variant in one of the batches.
type Half struct {
	Repeats int         // counted, with a valid outcome, shared ones on one side only
	Shared  int         // counted runs that stand on the other side
	Mean    *stats.Mean // over tasks; nil = no valid outcome
	CostUSD *float64    // mean of a task run, as reported; nil = unknown
}

// Shared is a run that both batches count. It is one measurement, which stands on
// the side that paid for it, or on A's where neither did.
type Shared struct {
	batch.Variant
	Evaluation string `json:"evaluation"`
	RunID      string `json:"run_id"` // in B
	OnA        bool   `json:"on_a"`
}

// Task is one task of the comparison with its means by variant, in the order of
// Comparison.Variants.
type Task struct {
	ID, Family string
	Withdrawn  bool
	Drift      *float64 // adjusted p of the reference's own drift; nil = not by anchors
	A, B       []*float64
}

// Price is what measuring A's side again would cost.
type Price struct {
	Evaluations int
	USD         *float64 // at A's mean cost; nil = unknown
}

// Reading is the same rule without some outcomes: withdrawn tasks, runs of
// selection, flagged outcomes.
type Reading struct {
	Name   string
	Left   int
	Turned []batch.Variant // whose mark or winner is another one
	Over   bool            // the verdict over all is another one
}

// Of compares two batches. Both sides are used up: rules were replaced in them
// where they had to be.
func Of(ctx context.Context, a, b Side, o Options) (*Comparison, error) {
	if a.Frozen.Result.Batch == b.Frozen.Result.Batch {
		return nil, &Refused{A: a.Frozen.Result.Name, B: b.Frozen.Result.Name, Why: []string{"they are the same batch"}}
	}
	c := &Comparison{A: describe(a.Frozen), B: describe(b.Frozen), asked: o}
	both, onlyA, onlyB := inBoth(a.Frozen, b.Frozen)
	c.OnlyA, c.OnlyB = onlyA, onlyB
	if len(both) == 0 {
		return nil, c.refuse([]string{"no variant is in both"}, recipeChanges(a.Frozen, b.Frozen))
	}
	references := [2]string{referenceOf(a.Frozen), referenceOf(b.Frozen)}
	var err error
	if c.Rule, err = settle(a, b, o.Decision); err != nil {
		return nil, err
	}
	c.Name = name(c)
	c.Changes = otherChanges(a.Frozen, b.Frozen, both)
	c.Mode = SameRecipe
	p := &plan{c: c, a: a, b: b, both: both, references: references}
	if !sameRecipe(a.Frozen, b.Frozen) {
		c.Mode = ByAnchors
		c.Changes = append(c.Changes, recipeChanges(a.Frozen, b.Frozen)...)
		if err := p.anchors(); err != nil {
			return nil, err
		}
	} else {
		p.panel()
	}
	m, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	if c.Mode == ByAnchors {
		return c, m.link()
	}
	return c, m.decide()
}

func (c *Comparison) refuse(why []string, changes []batch.Change) *Refused {
	return &Refused{A: c.A.Name, B: c.B.Name, Why: why, Changes: changes}
}

// name is that of the comparison's folder: what, the two batches, the later day.
func name(c *Comparison) string {
	later := c.A.Started
	if c.B.Started.After(later) {
		later = c.B.Started
	}
	return fmt.Sprintf("compare-%s_%s_%s_%s", safe(c.B.Benchmark, 64), safe(c.A.Run, 6), safe(c.B.Run, 6), later.Format("2006-01-02"))
}

// safe is the beginning of a text as part of a folder's name.
func safe(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() == most {
			break
		}
		if r > '~' || !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r) {
			r = '-'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plan says what is compared with what, before any evidence is read.
type plan struct {
	c         *Comparison
	a, b      Side
	both      []batch.Variant
	tasks     []export.Task // that are compared, in B's order
	reference int           // in both; by anchors alone
	// references are those that the batches froze, before their rules were replaced.
	references [2]string
}

// panel is the whole panel: one recipe has the same tasks.
func (p *plan) panel() {
	in := map[string]bool{}
	for _, t := range p.a.Frozen.Tasks {
		in[t.ID] = true
	}
	for _, t := range p.b.Frozen.Tasks {
		if in[t.ID] {
			p.tasks = append(p.tasks, t)
		}
	}
}

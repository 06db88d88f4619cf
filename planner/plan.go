package planner

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// Input is what a plan is made from.
type Input struct {
	Resolved *spec.Resolved
	Now      time.Time
	Tool     string   // version of benchbatch
	Fresh    []string // variants whose earlier repeats are not counted
	New      bool     // freeze another batch although one with this key is finished
	Join     string   // run id of the batch to plan for; "" = the unfinished one with this key
	Confirm  bool     // download and check the record of every repeat that counts
	// MeasureAgain goes on although measurements exist under another identity scheme.
	MeasureAgain bool
}

// Plan says which repeats exist and which are missing.
type Plan struct {
	Doc          batch.Plan      // as it is, or will be, frozen
	Slots        []Slot          // plan order: cells, then slot
	Joined       *ledger.Parent  // an unfinished batch with this key, to be continued
	Finished     *ledger.Parent  // a frozen batch with this key; nothing is to be done
	Batches      []string        // runs of all batches with this key, frozen or not
	Live         []ledger.Entry  // evaluations of the recipe that are running
	Ended        []ledger.Entry  // evaluations that ended without counting
	Ignored      []batch.Ignored // runs that do not count, with the reason
	Estimate     Estimate        // of what is missing
	Valid        []ledger.Entry  // every valid repeat, counted here or not
	History      *History        // what they took
	resolved     *spec.Resolved
	uncalibrated bool // the benchmark has no calibration
}

// Slot is one planned repeat.
type Slot struct {
	Cell  batch.Cell
	Slot  int           // 1..repeats
	Entry *ledger.Entry // the repeat that counts; nil = missing
	Own   bool          // measured by the joined batch itself
}

// Spec is the spec that was planned, which may be a later revision than the frozen one.
func (p *Plan) Spec() *spec.Spec { return p.resolved.Spec }

// Resolved is that spec with its identities.
func (p *Plan) Resolved() *spec.Resolved { return p.resolved }

// Missing lists the slots that have no repeat.
func (p *Plan) Missing() []Slot {
	var out []Slot
	for _, s := range p.Slots {
		if s.Entry == nil {
			out = append(out, s)
		}
	}
	return out
}

// Counts tells reused, done (by the joined batch) and not started apart.
func (p *Plan) Counts() batch.Counts {
	c := batch.Counts{Planned: len(p.Slots)}
	for _, s := range p.Slots {
		switch {
		case s.Entry == nil:
			c.NotStarted++
		case s.Own:
			c.Done++
		default:
			c.Reused++
		}
	}
	return c
}

// facts is what the server was asked.
type facts struct {
	found  *ledger.Found
	holder *ledger.LabelHolder
	others int
	scheme string
}

// Make asks MLflow and plans. It makes four calls, whatever the history: three
// searches, and the plan of the batch that is joined or a search for earlier looks;
// and a fifth for calibrations where there are some and no history to estimate from.
// Runs that benchbatch did not log are read besides.
func Make(ctx context.Context, l *ledger.Ledger, in Input) (*Plan, error) {
	r := in.Resolved
	doc, err := document(r, in)
	if err != nil {
		return nil, err
	}
	f, err := ask(ctx, l, r, doc)
	if err != nil {
		return nil, err
	}
	if f.holder != nil {
		return nil, labelTaken(ctx, l, r, f.holder)
	}
	p := &Plan{Doc: doc, Live: f.found.Live, Ended: f.found.Ended, Ignored: f.found.Ignored, Valid: f.found.Valid, resolved: r}
	if err := p.findBatch(ctx, l, f.found.Batches, in); err != nil {
		return nil, err
	}
	if err := p.choose(ctx, l, in); err != nil {
		return nil, err
	}
	if f.others > 0 && p.Finished == nil && len(p.Missing()) > 0 && !in.MeasureAgain {
		return nil, &OtherScheme{Count: f.others, Scheme: f.scheme}
	}
	return p, p.estimate(ctx, l)
}

func ask(ctx context.Context, l *ledger.Ledger, r *spec.Resolved, doc batch.Plan) (facts, error) {
	var f facts
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		f.found, err = l.Find(ctx, QueryOf(r))
		return err
	})
	g.Go(func() (err error) {
		f.holder, err = l.Label(ctx, doc.Benchmark, doc.Version, r.Recipe)
		return err
	})
	g.Go(func() (err error) {
		f.others, f.scheme, err = l.OtherSchemes(ctx)
		return err
	})
	return f, g.Wait()
}

// QueryOf is the question that finds a spec's repeats.
func QueryOf(r *spec.Resolved) ledger.Query {
	q := ledger.Query{
		Recipe:        r.Recipe,
		Allowed:       r.Spec.Valid.Allowed(len(r.Spec.Tasks)),
		TimeoutPolicy: outcome.TimeoutPolicy(r.Spec.Recipe.TimeoutPolicy),
		Experiments:   r.Spec.Reuse.Experiments,
	}
	for _, t := range r.Spec.Tasks {
		q.Panel = append(q.Panel, t.ID)
	}
	return q
}

// document is the plan as far as the spec alone decides it.
func document(r *spec.Resolved, in Input) (batch.Plan, error) {
	s := r.Spec
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return batch.Plan{}, err
	}
	judges, err := batch.Canonical(s.Recipe.Judges)
	if err != nil {
		return batch.Plan{}, err
	}
	doc := batch.Plan{
		Schema: batch.PlanSchema, Tool: in.Tool, Benchmark: s.Benchmark, Version: s.Version, Draft: s.Version == "draft", Question: s.Question,
		Created: in.Now.UTC().Truncate(time.Millisecond), Key: r.Key, Seed: binary.LittleEndian.Uint64(seed[:]),
		Repeats: s.Repeats, Cells: r.Cells, Exclude: s.Exclude,
		Agents: r.Agents, Models: r.Models, Brain: r.Brain, BrainPath: s.Brain, Execution: r.Execution, Scoring: r.Scoring,
		Panel: panelInfo(r), Decision: r.Decision, DecisionDigest: batch.Sum(r.Decision), Valid: s.Valid,
		PassThreshold: s.Decision.PassThreshold, PassReported: s.Decision.Pass == "reported", TimeoutPolicy: s.Recipe.TimeoutPolicy,
		JudgeStage: s.Judge != nil, Withdraw: s.Withdraw, Prices: s.PriceList, SpecDigest: batch.Sum(s.Raw), Reused: []batch.Repeat{}, Fresh: in.Fresh, Calibration: s.Of(),
	}
	if len(s.Recipe.Judges) > 0 {
		doc.Judges = judges
	}
	if s.Runner.Home == "user" {
		doc.Home = "user"
	}
	return doc, nil
}

func panelInfo(r *spec.Resolved) batch.PanelInfo {
	info := batch.PanelInfo{Digest: batch.Sum(r.PanelFile), Tasks: len(r.Spec.Tasks)}
	families := map[string]bool{}
	for _, t := range r.Spec.Tasks {
		if t.Anchor {
			info.Anchors++
		}
		if t.Family != "" {
			families[t.Family] = true
		}
	}
	info.Families = len(families)
	return info
}

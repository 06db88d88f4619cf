package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// ErrStopped says that a run was told to stop before its batch had begun.
var ErrStopped = errors.New("stopped before the batch had begun")

// open joins the batch, or creates it: of launchers that begin it at the same moment
// one does, and the others wait for it.
func (r *runner) open(ctx context.Context) error {
	for {
		p := r.Plan
		if p.Finished != nil {
			r.parent = *p.Finished
			return nil
		}
		if !r.begins() {
			var err error
			r.parent, err = begin(ctx, r.Options)
			return err
		}
		known := r.known
		for _, b := range p.Batches {
			known[b] = p.Joined == nil || p.Joined.Info.RunID != b
		}
		a, err := r.shared.member.Batch(ctx, p.Doc.Key, func(run string) bool { return known[run] })
		switch {
		case err != nil:
		case a.Held != nil:
			r.Observer.Waiting(0, []string{a.Held.Launcher})
			if err = r.pause(ctx); err == nil {
				err = r.shared.member.Beat(ctx)
			}
		case a.Done != "":
			r.told[a.Done] = true
			err = r.replan(ctx, a.Done)
		default:
			err = r.found(ctx, a.Won)
			if !errors.Is(err, claim.ErrLost) || r.parent.Info.RunID != "" {
				return err
			}
			err = nil // it took too long to plan: another launcher begins the batch
		}
		if err != nil {
			return err
		}
	}
}

// begins says whether the batch is still to be begun.
func (r *runner) begins() bool {
	p := r.Plan
	return p.Finished == nil && (p.Joined == nil || p.Joined.Plan == "")
}

// found begins the batch under a claim.
func (r *runner) found(ctx context.Context, l *claim.Lease) (err error) {
	if l.Generation() > 1 { // whoever held it before may have begun
		err = r.replan(ctx, "")
	}
	if err == nil {
		err = l.Confirm(ctx)
	}
	if err == nil && r.Plan.Finished != nil {
		r.parent = *r.Plan.Finished
	} else if err == nil {
		r.parent, err = begin(ctx, r.Options)
	}
	if err != nil {
		return errors.Join(err, l.Release(context.WithoutCancel(ctx), "the batch could not be begun"))
	}
	return l.Done(ctx, r.parent.Info.RunID)
}

// replan plans anew, for a batch that another launcher has begun ("" = any).
func (r *runner) replan(ctx context.Context, run string) error {
	in := r.Input
	in.Join, in.Confirm = run, true
	p, err := planner.Make(ctx, r.Ledger, in)
	if err == nil && run != "" && p.Joined == nil && p.Finished == nil { // it was deleted
		in.Join = r.Input.Join
		p, err = planner.Make(ctx, r.Ledger, in)
	}
	if err != nil {
		return err
	}
	r.know(p)
	return nil
}

// pause waits until the next look at what others do.
func (r *runner) pause(ctx context.Context) error {
	t := time.NewTimer(r.look())
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.Stop:
		return ErrStopped
	case <-t.C:
		return nil
	}
}

// begin joins the batch of the plan, or creates its parent run and stores the plan.
func begin(ctx context.Context, o Options) (ledger.Parent, error) {
	p := o.Plan
	var parent ledger.Parent
	if p.Joined != nil {
		parent = *p.Joined
		if parent.Plan != "" {
			return parent, noteRevision(ctx, o, parent)
		}
	} else {
		var err error
		parent, err = o.Ledger.StartBatch(ctx, &p.Doc, o.Resolved.Recipe, o.Resolved.Brains, o.From)
		if err != nil {
			return parent, err
		}
	}
	plan, err := json.MarshalIndent(p.Doc, "", " ")
	if err != nil {
		return parent, err
	}
	docs := []ledger.Document{{Name: batch.FileSpec, Body: o.Resolved.Spec.Raw}, {Name: batch.FilePanel, Body: o.Resolved.PanelFile}, {Name: batch.FilePlan, Body: plan}}
	params := []mlflow.Param{
		{Key: "benchmark", Value: p.Doc.Benchmark}, {Key: "version", Value: p.Doc.Version},
		{Key: "repeats", Value: fmt.Sprint(p.Doc.Repeats)}, {Key: "seed", Value: fmt.Sprint(p.Doc.Seed)},
	}
	panel, err := datasetOf(p.Doc.Benchmark, p.Doc.Panel.Digest, p.Doc.Panel.Tasks)
	if err != nil {
		return parent, err
	}
	return parent, o.Ledger.StorePlan(ctx, &parent, docs, params, panel)
}

// noteRevision keeps the spec beside the frozen one where a free field (budget,
// quotas, retries) was changed since the batch began.
func noteRevision(ctx context.Context, o Options, parent ledger.Parent) error {
	raw := o.Resolved.Spec.Raw
	d := batch.Sum(raw)
	if d == o.Plan.Doc.SpecDigest {
		return nil
	}
	return o.Ledger.AddDocument(ctx, parent, ledger.Document{Name: RevisionName(d), Body: raw})
}

// RevisionName is the artifact of a batch that holds a later revision of its spec.
func RevisionName(spec batch.Digest) string { return "spec-" + spec.Short() + ".yaml" }

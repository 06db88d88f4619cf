package compare

import (
	"context"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Side is one of the two batches.
type Side struct {
	Frozen *export.Frozen
	// Each calls use with the evidence of every evaluation, in the result's order.
	Each func(ctx context.Context, use func(*export.Evidence) error) error
	// Redecide replaces the frozen rule, see export.Frozen.Redecide.
	Redecide func(decision []byte) error
}

// FolderSide is a dated folder as a Side.
func FolderSide(f *export.Folder) Side { return Side{f.Frozen, f.Each, f.Redecide} }

// Batch describes one of the two batches. What it holds follows from the frozen
// documents alone, wherever the evidence is read.
type Batch struct {
	Name      string       `json:"name"`
	Run       string       `json:"batch"` // run id of the parent
	Benchmark string       `json:"benchmark"`
	Version   string       `json:"version"`
	Question  string       `json:"question,omitempty"`
	Draft     bool         `json:"draft,omitempty"`
	Result    batch.Digest `json:"result_sha256"` // the tag benchbatch.result of the parent
	Plan      batch.Digest `json:"plan_sha256"`
	Decision  batch.Digest `json:"decision_sha256"`
	Brain     batch.Digest `json:"brain_sha256"`
	BrainPath string       `json:"brain_path,omitempty"`
	Tasks     int          `json:"tasks"`
	Started   time.Time    `json:"started"` // UTC
	Frozen    time.Time    `json:"frozen"`
	First     *time.Time   `json:"first_measured"` // starts of counted evaluations; nil = none is believable
	Last      *time.Time   `json:"last_measured"`

	provisional bool
}

func describe(f *export.Frozen) Batch {
	p, r := &f.Plan, &f.Result
	b := Batch{Name: r.Name, Run: r.Batch, Benchmark: p.Benchmark, Version: p.Version, Question: p.Question, Draft: p.Draft, Result: f.ResultDigest,
		Plan: r.Plan, Decision: p.DecisionDigest, Brain: batch.NoBrain, BrainPath: p.BrainPath, Tasks: len(f.Tasks),
		Started: r.Started.UTC(), Frozen: r.Frozen.UTC(), provisional: f.Provisional}
	if len(p.Cells) > 0 {
		b.Brain = p.Cells[0].Identity.Brain
	}
	for i := range r.Evaluations {
		e := &r.Evaluations[i]
		if !e.Counted || !export.Believable(&e.Started) {
			continue
		}
		at := e.Started.UTC()
		if b.First == nil || at.Before(*b.First) {
			b.First = &at
		}
		if b.Last == nil || at.After(*b.Last) {
			b.Last = &at
		}
	}
	return b
}

// variants are the cells of a plan by variant.
func variants(f *export.Frozen) map[batch.Variant]*batch.Cell {
	out := map[batch.Variant]*batch.Cell{}
	for i := range f.Plan.Cells {
		out[f.Plan.Cells[i].Variant] = &f.Plan.Cells[i]
	}
	return out
}

// RemoteSide is a batch whose evidence is fetched as a Side.
func RemoteSide(r *export.Remote) Side { return Side{r.Frozen, r.Each, r.Frozen.Redecide} }

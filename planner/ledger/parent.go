package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Parent is the parent run of a batch.
type Parent struct {
	Info      mlflow.RunInfo
	Benchmark string
	Version   string
	Recipe    string       // digest, first 16 digits
	Brain     string       // digest, first 16 digits
	Key       string       // batch key, first 16 digits
	Decision  string       // digest of the decision, first 16 digits
	Role      string       // batch.RoleCalibration; "" = a batch
	Seed      uint64       // order of starts
	Plan      batch.Digest // of plan.json; "" = died before it was stored
	Result    batch.Digest // of result.json; "" = not frozen
	Stop      string       // who asked its launchers to start nothing new; "" = nobody
	standing  string       // as logged
	Manifest  string       // of the dated folder whose report stands on the run, first 16 digits; "" = none
	Edited    bool         // the note is a person's, as of when the run was read
}

// Frozen says whether the batch has a result, whatever its status was set to.
func (p Parent) Frozen() bool { return p.Result != "" }

// Started is the parent's start time in UTC.
func (p Parent) Started() time.Time { return time.UnixMilli(p.Info.StartTime).UTC() }

// Name is the name of the dated folder: benchmark, version, UTC day and the
// first digits of the parent's id.
func (p Parent) Name() string {
	return fmt.Sprintf("%s-%s_%s_%.6s", p.Benchmark, p.Version, p.Started().Format(time.DateOnly), p.Info.RunID)
}

func parentOf(r mlflow.Run) Parent {
	seed, _ := strconv.ParseUint(r.Tag(TagSeed), 10, 64) // 0 is a seed as good as any
	return Parent{
		Info: r.Info, Benchmark: r.Tag(TagBenchmark), Version: r.Tag(TagVersion), Recipe: r.Tag(TagRecipe), Brain: r.Tag(TagBrainHash), Key: r.Tag(TagKey), Decision: r.Tag(TagDecision), Role: r.Tag(TagRole),
		Seed: seed, Plan: batch.Digest(r.Tag(TagPlan)), Result: batch.Digest(cmp.Or(r.Param(paramResult), r.Tag(TagResult))),
		Stop: r.Tag(TagStop), standing: r.Tag(TagStanding), Manifest: r.Tag(TagManifest), Edited: edited(r),
	}
}

// Document is a file of a batch: name and bytes.
type Document struct {
	Name string
	Body []byte
}

// StartBatch creates the parent run of a plan. The tags given at creation hold
// what is needed to complete it should this process die before StorePlan.
func (l *Ledger) StartBatch(ctx context.Context, p *batch.Plan, recipe, brain batch.Digest, from Origin) (Parent, error) {
	tags := []mlflow.Tag{
		{Key: TagKind, Value: KindBatch},
		{Key: TagScheme, Value: fmt.Sprint(batch.Scheme)},
		{Key: TagRecipe, Value: recipe.Short()},
		{Key: TagBrainHash, Value: brain.Short()},
		{Key: TagBenchmark, Value: p.Benchmark},
		{Key: TagVersion, Value: p.Version},
		{Key: TagKey, Value: p.Key.Short()},
		{Key: TagDecision, Value: p.DecisionDigest.Short()},
		{Key: TagSeed, Value: strconv.FormatUint(p.Seed, 10)},
	}
	tags = append(tags, from.tags()...)
	if p.Calibration != nil {
		tags = append(tags, mlflow.Tag{Key: TagRole, Value: batch.RoleCalibration})
	}
	unique := mlflow.Tag{Key: "benchbatch.created", Value: p.Created.Format("20060102T150405.000Z") + "-" + p.Key.Short()}
	info, err := l.client.CreateRun(ctx, mlflow.CreateRun{
		ExperimentID: l.experiment.ID,
		Name:         fmt.Sprintf("%s %s · %s", p.Benchmark, p.Version, p.Created.UTC().Format(time.DateOnly)),
		StartTime:    p.Created.UnixMilli(),
		Tags:         append(tags, unique),
		UniqueTag:    unique.Key,
	})
	if err != nil {
		return Parent{}, err
	}
	r := mlflow.Run{Info: info}
	r.Data.Tags = tags
	return parentOf(r), nil
}

// StorePlan stores the frozen start of a batch: plan.json, spec and panel, the
// panel as its dataset, and then the plan's digest, which makes the batch one that
// can be joined.
func (l *Ledger) StorePlan(ctx context.Context, p *Parent, docs []Document, params []mlflow.Param, panel mlflow.DatasetInput) error {
	if err := l.put(ctx, p.Info, docs); err != nil {
		return err
	}
	if err := l.logDataset(ctx, p.Info.RunID, panel); err != nil {
		return err
	}
	for _, d := range docs {
		if d.Name == batch.FilePlan {
			p.Plan = batch.Sum(d.Body)
		}
	}
	return l.client.LogBatch(ctx, p.Info.RunID, mlflow.Batch{Params: params, Tags: []mlflow.Tag{{Key: TagPlan, Value: string(p.Plan)}}})
}

// put uploads documents and confirms their sizes with one listing.
func (l *Ledger) put(ctx context.Context, run mlflow.RunInfo, docs []Document) error {
	files := make([]upload, len(docs))
	for i, d := range docs {
		files[i] = upload{d.Name, int64(len(d.Body)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(d.Body)), nil }}
	}
	return l.putAll(ctx, run, files)
}

// AddDocument stores one more document of a batch; the same again changes nothing.
func (l *Ledger) AddDocument(ctx context.Context, p Parent, d Document) error {
	return l.put(ctx, p.Info, []Document{d})
}

// ReadDocument reads one of a batch's documents and checks it against its digest,
// where that is known ("" = not checked).
func (l *Ledger) ReadDocument(ctx context.Context, p Parent, name string, want batch.Digest) ([]byte, error) {
	b, err := l.read(ctx, p.Info, name, maxRecord)
	if err != nil {
		return nil, err
	}
	if got := batch.Sum(b); want != "" && got != want {
		return nil, &IntegrityError{Run: p.Info.RunID, File: name, Want: want, Got: got}
	}
	return b, nil
}

// ReadPlan reads a batch's plan.json. Where it will not get better by asking again,
// the error is a *PlanError.
func (l *Ledger) ReadPlan(ctx context.Context, p Parent) (*batch.Plan, []byte, error) {
	b, err := l.ReadDocument(ctx, p, batch.FilePlan, p.Plan)
	var changed *IntegrityError
	if errors.As(err, &changed) || errors.Is(err, mlflow.ErrNotFound) {
		return nil, nil, &PlanError{p.Info.RunID, err}
	}
	if err != nil {
		return nil, nil, err
	}
	var plan batch.Plan
	if err := json.Unmarshal(b, &plan); err != nil {
		return nil, nil, &PlanError{p.Info.RunID, fmt.Errorf("%s of batch %s: %w", batch.FilePlan, p.Info.RunID, err)}
	}
	return &plan, b, nil
}

// PlanError says that the stored plan of a batch is of no use: gone, changed, or
// no plan at all.
type PlanError struct {
	Run string // the batch
	Err error
}

func (e *PlanError) Error() string { return e.Err.Error() }

func (e *PlanError) Unwrap() error { return e.Err }

// IntegrityError says that a stored file is not what was frozen.
type IntegrityError struct {
	Run       string
	File      string
	Want, Got batch.Digest
}

func (e *IntegrityError) Error() string {
	return fmt.Sprintf("%s of run %s was changed after it was frozen: SHA-256 is %s, frozen was %s", e.File, e.Run, e.Got, e.Want)
}

// Latest is the name by which Batch finds the newest batch.
const Latest = "latest"

var errNoBatch = errors.New("no batch was found on this server; `benchbatch run SPEC` makes one")

// LatestOf is the newest batch that is wanted; where none is, the newest of all.
func (l *Ledger) LatestOf(ctx context.Context, wanted func(Parent) bool) (Parent, error) {
	all, err := l.Batches(ctx)
	if err != nil {
		return Parent{}, err
	}
	if len(all) == 0 {
		return Parent{}, errNoBatch
	}
	return all[max(0, slices.IndexFunc(all, wanted))], nil
}

// Batch finds a batch by run id, by the name of its dated folder, or by Latest.
func (l *Ledger) Batch(ctx context.Context, name string) (Parent, error) {
	if isRunID(name) {
		r, err := l.client.GetRun(ctx, name)
		if err != nil {
			return Parent{}, err
		}
		if r.Tag(TagKind) != KindBatch {
			return Parent{}, fmt.Errorf("run %s is not the parent of a batch (tag %s is %q)", name, TagKind, r.Tag(TagKind))
		}
		l.experiment.ID = r.Info.ExperimentID
		return parentOf(r), nil
	}
	all, err := l.Batches(ctx)
	if err != nil {
		return Parent{}, err
	}
	if len(all) == 0 {
		return Parent{}, errNoBatch
	}
	for _, p := range all {
		if name == Latest || name == p.Name() {
			return p, nil
		}
	}
	return Parent{}, fmt.Errorf("no batch is called %q; the latest is %s (run %s)", name, all[0].Name(), all[0].Info.RunID)
}

func isRunID(s string) bool {
	if len(s) != 32 {
		return false
	}
	_, err := strconv.ParseUint(s[:16], 16, 64)
	_, err2 := strconv.ParseUint(s[16:], 16, 64)
	return err == nil && err2 == nil
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Start describes an evaluation that is about to run.
type Start struct {
	Parent     Parent
	Cell       batch.Cell
	Place      int // of the cell in the plan, from 0: it decides the colour
	Slot       int
	Name       string // of the run, for people: see NamesOf
	UUID       string
	Launcher   string // who runs it: host, process id and its start time
	BrainName  string // as people read it
	From       Origin
	At         time.Time
	Generation int    // of the claim under which it starts; 0 = of none
	Continues  string // run ids of the evaluations that it goes on with, in their order; "" = none
	Again      bool   // an earlier try may have created it: it is looked for first
}

// StartEvaluation creates the nested run of an evaluation.
func (l *Ledger) StartEvaluation(ctx context.Context, s Start) (mlflow.RunInfo, error) {
	if s.Again {
		filter, err := where(condition{key: TagEvaluation, value: s.UUID})
		if err != nil {
			return mlflow.RunInfo{}, err
		}
		found, err := l.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{l.experiment.ID}, Filter: filter, Limit: 1})
		if err != nil {
			return mlflow.RunInfo{}, err
		}
		if len(found) > 0 {
			return found[0].Info, nil
		}
	}
	tags := append(IdentityTags(s.Cell),
		mlflow.Tag{Key: TagEvaluation, Value: s.UUID},
		mlflow.Tag{Key: TagBatch, Value: s.Parent.Info.RunID},
		mlflow.Tag{Key: TagSlot, Value: fmt.Sprint(s.Slot)},
		mlflow.Tag{Key: TagBenchmark, Value: s.Parent.Benchmark},
		mlflow.Tag{Key: TagVersion, Value: s.Parent.Version},
		mlflow.Tag{Key: TagAgent, Value: s.Cell.Agent},
		mlflow.Tag{Key: TagModel, Value: s.Cell.Model},
		mlflow.Tag{Key: TagLauncher, Value: s.Launcher},
		mlflow.Tag{Key: tagParent, Value: s.Parent.Info.RunID},
		mlflow.Tag{Key: "mlflow.runType", Value: "genai_evaluate"},
		mlflow.Tag{Key: "mlflow.runColor", Value: palette[s.Place%len(palette)]},
	)
	if s.BrainName != "" {
		tags = append(tags, mlflow.Tag{Key: TagBrain, Value: s.BrainName})
	}
	if s.Parent.Role != "" {
		tags = append(tags, mlflow.Tag{Key: TagRole, Value: s.Parent.Role})
	}
	if s.Generation > 0 {
		tags = append(tags, mlflow.Tag{Key: TagGeneration, Value: fmt.Sprint(s.Generation)})
	}
	if s.Continues != "" {
		tags = append(tags, mlflow.Tag{Key: TagContinues, Value: s.Continues})
	}
	tags = append(tags, s.From.tags()...)
	return l.client.CreateRun(ctx, mlflow.CreateRun{
		ExperimentID: l.experiment.ID,
		Name:         s.Name,
		StartTime:    s.At.UnixMilli(),
		Tags:         tags,
		UniqueTag:    TagEvaluation,
	})
}

// palette is a set of colours that stay apart on white and on black. All repeats of a
// cell have one, and the first cells of a plan have different ones.
var palette = []string{"#1f6feb", "#d29922", "#2da44e", "#cf222e", "#8250df", "#bf3989", "#0a7ea4", "#9a6700", "#57606a", "#1b7c83", "#bc4c00", "#6639ba"}

// Finish describes an evaluation that has ended.
type Finish struct {
	RunID     string
	URI       string // artifact location of the run
	State     batch.EvaluationState
	Reason    string // why it is not complete; "" = it is
	Ended     time.Time
	Artifacts []batch.Artifact
	Open      func(path string) (io.ReadCloser, error) // opens an artifact on disk
	Metrics   []mlflow.Metric
	Params    []mlflow.Param
	Dataset   mlflow.DatasetInput
	Note      string
}

// FinishEvaluation logs a measured evaluation: artifacts first, confirmed by
// size, then inputs, then metrics, params and tags in one batch, then the status.
// Sending it again after a crash or a lost answer changes nothing.
func (l *Ledger) FinishEvaluation(ctx context.Context, f Finish) error {
	run := mlflow.RunInfo{RunID: f.RunID, ArtifactURI: f.URI, ExperimentID: l.experiment.ID}
	var files []upload
	outcomes := batch.Digest("")
	for _, a := range f.Artifacts {
		files = append(files, upload{a.Path, a.Size, func() (io.ReadCloser, error) { return f.Open(a.Path) }})
		if a.Path == batch.FileOutcomes {
			outcomes = a.Digest
		}
	}
	if err := l.putAll(ctx, run, files); err != nil {
		return err
	}
	if err := l.logDataset(ctx, f.RunID, f.Dataset); err != nil {
		return err
	}
	list, err := artifactsTag(f.Artifacts)
	if err != nil {
		return err
	}
	tags := []mlflow.Tag{
		{Key: TagState, Value: string(f.State)},
		{Key: TagOutcomes, Value: string(outcomes)},
		{Key: TagArtifacts, Value: list},
		{Key: "mlflow.loggedArtifacts", Value: `[{"path":"` + batch.FileTable + `","type":"table"}]`},
	}
	if f.Reason != "" {
		tags = append(tags, mlflow.Tag{Key: TagReason, Value: clip(f.Reason, 1000)})
	}
	if f.Note != "" {
		tags = append(tags, mlflow.Tag{Key: tagNote, Value: f.Note})
	}
	if err := l.client.LogBatch(ctx, f.RunID, mlflow.Batch{Metrics: f.Metrics, Params: f.Params, Tags: tags}); err != nil {
		return err
	}
	status := mlflow.StatusFailed
	switch {
	case f.State.Counts():
		status = mlflow.StatusFinished
	case f.State == batch.StateInterrupted, f.State == batch.StateSuperseded:
		status = mlflow.StatusKilled
	}
	_, err = l.client.UpdateRun(ctx, f.RunID, status, f.Ended.UnixMilli())
	return err
}

// logDataset notes a dataset as a run's input. Two runs that name a new dataset in
// the same moment make the server refuse one of them; it takes it the second time.
func (l *Ledger) logDataset(ctx context.Context, runID string, d mlflow.DatasetInput) error {
	err := l.client.LogInputs(ctx, runID, []mlflow.DatasetInput{d})
	var refused *mlflow.Error
	if errors.As(err, &refused) && refused.Code == "BAD_REQUEST" {
		return l.client.LogInputs(ctx, runID, []mlflow.DatasetInput{d})
	}
	return err
}

// Standing is what the server knows of an evaluation's run.
type Standing struct {
	Here   bool             // it knows the run, deleted or not
	Counts bool             // the run was logged as one that counts, to the end
	Logged []batch.Artifact // then: what was logged
}

// StandingOf says how an evaluation's run stands.
func (l *Ledger) StandingOf(ctx context.Context, runID string) (Standing, error) {
	r, err := l.client.GetRun(ctx, runID)
	if errors.Is(err, mlflow.ErrNotFound) {
		return Standing{}, nil
	}
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Here: true}
	if r.Info.Status == mlflow.StatusFinished && batch.EvaluationState(r.Tag(TagState)).Counts() {
		s.Counts = true
		s.Logged, _ = readArtifacts(r) // an edited tag equals nothing
	}
	return s, nil
}

// Again reads how an evaluation stands by now.
func (l *Ledger) Again(ctx context.Context, e Entry) (Entry, error) {
	r, err := l.client.GetRun(ctx, e.Info.RunID)
	if err != nil {
		return e, err
	}
	e.Info, e.State, e.WallS = r.Info, batch.EvaluationState(r.Tag(TagState)), metric(r, "wall_s")
	return e, nil
}

// EndFinished sets the status of an evaluation of which everything but the status
// was logged: its tags come last, after its artifacts were confirmed.
func (l *Ledger) EndFinished(ctx context.Context, e Entry) error {
	end := e.Info.StartTime
	if e.WallS != nil {
		end += int64(*e.WallS * 1000)
	}
	_, err := l.client.UpdateRun(ctx, e.Info.RunID, mlflow.StatusFinished, end)
	return err
}

// CloseInterrupted marks a run whose launcher is gone.
func (l *Ledger) CloseInterrupted(ctx context.Context, runID, reason string, at time.Time) error {
	return l.closeAs(ctx, batch.StateInterrupted, runID, reason, at)
}

func (l *Ledger) closeAs(ctx context.Context, state batch.EvaluationState, runID, reason string, at time.Time, metrics ...mlflow.Metric) error {
	tags := []mlflow.Tag{{Key: TagState, Value: string(state)}, {Key: TagReason, Value: clip(reason, 1000)}}
	if err := l.client.LogBatch(ctx, runID, mlflow.Batch{Metrics: metrics, Tags: tags}); err != nil {
		return err
	}
	_, err := l.client.UpdateRun(ctx, runID, mlflow.StatusKilled, at.UnixMilli())
	return err
}

// Supersede marks a logged evaluation whose claim was lost before that was known: it
// does not count, and its cost does.
func (l *Ledger) Supersede(ctx context.Context, runID, reason string, at time.Time) error {
	return l.closeAs(ctx, batch.StateSuperseded, runID, reason, at)
}

// CloseCut closes a run whose launcher is gone, and with whose finished tasks another
// evaluation is to go on: what it cost is to stand there. Should it be logged after all,
// that counts: the metric is of the first millisecond of 1970.
func (l *Ledger) CloseCut(ctx context.Context, runID, reason string, at time.Time) error {
	return l.closeAs(ctx, batch.StateInterrupted, runID, reason, at, mlflow.Metric{Key: "cost_worst_usd", Timestamp: 1})
}

// CloseUnstarted closes a run of which nothing was started: it has cost nothing.
func (l *Ledger) CloseUnstarted(ctx context.Context, runID, reason string, at time.Time) error {
	return l.closeAs(ctx, batch.StateInterrupted, runID, reason, at, mlflow.Metric{Key: "cost_usd", Timestamp: 1}, mlflow.Metric{Key: "cost_worst_usd", Timestamp: 1})
}

// upload is one file to store on a run.
type upload struct {
	path string
	size int64 // bytes
	open func() (io.ReadCloser, error)
}

// putAll stores files and confirms with one listing that the server has all
// their bytes: some servers keep a part of a cut-off upload and say 200.
func (l *Ledger) putAll(ctx context.Context, run mlflow.RunInfo, files []upload) error {
	for _, f := range files {
		if err := l.client.PutArtifact(ctx, run, f.path, f.open, f.size); err != nil {
			return err
		}
	}
	want := map[string]int64{}
	for _, f := range files {
		want[f.path] = f.size
	}
	return l.client.CheckArtifacts(ctx, run, want)
}

// clip cuts text to n runes.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

package page

import (
	"context"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// ViewPrefix begins the id of every view of ours.
const ViewPrefix = "benchbatch-"

// Views are the saved views of a batch: of all evaluations of its recipe and brain,
// so that reused runs show too, and one of all batches of the experiment.
type Views struct {
	Score   views.View // evaluations, the best first
	Cells   views.View // charts of the means over repeats
	Failed  views.View // evaluations that are not complete, with the reason
	Tasks   views.View // task by task, one column a run
	History views.View // all batches
}

// All lists the views in the order in which they are offered.
func (v Views) All() []views.View {
	return []views.View{v.Score, v.Cells, v.Tasks, v.Failed, v.History}
}

// Parent's and evaluations' metrics and params that views show.
var (
	axes    = []string{views.Param("agent"), views.Param("model")}
	measure = []string{views.Metric("score"), views.Metric("pass_fraction"), views.Metric("coverage"), views.Metric("cost_usd"), views.Metric("wall_s")}
)

// ViewsOf are the views for a benchmark's recipe and brain, as the tags of a parent
// run name them: version, and the first 16 digits of both digests.
func ViewsOf(benchmark, version, recipe, brain string) (Views, error) {
	filter, err := equal(ledger.TagRecipe, recipe, ledger.TagBrainHash, brain, ledger.TagKind, ledger.KindEvaluation)
	if err != nil {
		return Views{}, err
	}
	view := func(id, name string, columns ...[]string) views.View {
		v := views.View{ID: ViewPrefix + short(recipe) + "-" + short(brain) + "-" + id, Name: benchmark + " " + version + " · " + name, Filter: filter,
			OrderBy: views.Metric("score"), ChartTitle: "benchbatch"}
		for _, c := range columns {
			v.Columns = append(v.Columns, c...)
		}
		return v
	}
	repeat, state := []string{views.Param("repeat")}, []string{views.Tag(ledger.TagState)}
	var out Views
	out.Score = view("score", "evaluations by score", axes, repeat, measure, state)
	out.Score.Charts = []views.Chart{views.Bar("score"), views.Scatter("cost_usd", "score"),
		views.Parallel([]string{"agent", "model"}, []string{"cost_usd", "wall_s", "score"})}

	out.Cells = view("cells", "cells, mean over repeats", axes, measure)
	out.Cells.GroupBy, out.Cells.Opens = axes, views.Charts
	out.Cells.Charts = []views.Chart{views.Bar("score"), views.Scatter("cost_usd", "score"), views.Bar("cost_usd"), views.Bar("pass_fraction")}

	out.Tasks = view("tasks", "tasks side by side", axes, repeat, measure[:1])
	out.Tasks.Opens = views.Artifacts

	out.Failed = view("failed", "failed and incomplete", axes, repeat, state, []string{views.Tag(ledger.TagReason), views.Metric("coverage"),
		views.Metric("count/agent"), views.Metric("count/provider"), views.Metric("count/harness"), views.Metric("cost_usd")})
	out.Failed.OrderBy, out.Failed.Ascending = views.Metric("coverage"), true
	out.Failed.Filter += " AND tags.`" + ledger.TagState + "` != '" + string(batch.StateComplete) + "'"

	out.History, err = History()
	return out, err
}

// History is the view of all batches of an experiment, the newest first.
func History() (views.View, error) {
	filter, err := equal(ledger.TagKind, ledger.KindBatch)
	v := views.View{ID: ViewPrefix + "history", Name: "history of all batches", Filter: filter,
		Columns: []string{views.Attribute("Description"), views.Param("version"), views.Param("repeats")}}
	for _, m := range []string{"planned", "reused", "done", "failed", "skipped", "cost_usd"} {
		v.Columns = append(v.Columns, views.Metric("batch/"+m))
	}
	return v, err
}

// equal joins conditions on tags, given as key, value, key, value.
func equal(pairs ...string) (string, error) {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		f, err := mlflow.TagEquals(pairs[i], pairs[i+1])
		if err != nil {
			return "", err
		}
		parts = append(parts, f)
	}
	return mlflow.And(parts...), nil
}

func short(digest string) string { return digest[:min(8, len(digest))] }

// ExperimentTags are given to a new experiment of a benchmark: what stands on all of
// its pages, and the history view.
func ExperimentTags(benchmark string, at time.Time) ([]mlflow.Tag, error) {
	v, err := History()
	if err != nil {
		return nil, err
	}
	value, err := v.Value(at)
	return []mlflow.Tag{
		{Key: "mlflow.note.content", Value: "Benchmark " + benchmark + ": a parent run is one dated batch, the runs nested under it are its evaluations (agent, model, repeat)."},
		{Key: views.Prefix + v.ID, Value: value},
	}, err
}

// SetViews writes the views that do not stand in the ledger's experiment yet, as it was when it was opened.
func SetViews(ctx context.Context, l *ledger.Ledger, v Views, at time.Time) error {
	for _, view := range v.All() {
		if _, err := views.Set(ctx, l.Client(), l.Experiment(), view, at); err != nil {
			return err
		}
	}
	return nil
}

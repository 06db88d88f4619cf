package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/page"
)

// probe is one thing that doctor tried.
type probe struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was seen, or the error with its remedy
}

func (a *App) doctorCommand() *cobra.Command {
	var experiment string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Ask the MLflow server everything that could fail later",
		Long: `doctor makes the calls that a batch makes, against the experiment
"benchbatch-doctor" (or the one named), with one small run that it deletes again:
search, create, log, upload, read back, and saved views; it says what to do where
one fails, and where the pages are.`,
		Example: "  benchbatch doctor\n  benchbatch doctor --experiment support-bench",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			d := &doctor{client: conn.client, links: views.Links{Server: conn.client.Address()}}
			d.examine(cmd.Context(), experiment)
			if err := a.result(d.probes, func() { a.showProbes(conn, d.probes) }); err != nil {
				return err
			}
			if d.failed > 0 {
				return fmt.Errorf("%s failed", plural(d.failed, "probe"))
			}
			return nil
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "benchbatch-doctor", "`NAME` of the experiment to try in")
	return c
}

func (a *App) showProbes(conn *connection, probes []probe) {
	a.print("MLflow at %s", conn.client.Address())
	var t table
	for _, p := range probes {
		mark := "ok"
		if !p.OK {
			mark = "FAILED"
		}
		t.add(mark, p.Name, oneLine(p.Detail))
	}
	t.write(a.Stdout)
}

// doctor tries calls one after another; what needs a failed one is left out.
type doctor struct {
	client *mlflow.Client
	links  views.Links
	probes []probe
	failed int
}

func (d *doctor) try(name string, f func() (string, error)) bool {
	detail, err := f()
	if err != nil {
		detail = err.Error()
		d.failed++
	}
	d.probes = append(d.probes, probe{name, err == nil, detail})
	return err == nil
}

func (d *doctor) examine(ctx context.Context, experiment string) {
	ok := d.try("version", func() (string, error) {
		info, err := d.client.ServerInfo(ctx)
		switch {
		case err == nil && info.Version == "":
			return "not said", nil
		case strings.HasPrefix(info.Version, "2."):
			return info.Version + ": saved views open by their links alone, and stand in no menu", err
		}
		return info.Version, err
	})
	if !ok {
		return
	}
	var exp mlflow.Experiment
	var run mlflow.RunInfo
	ok = d.try("experiment", func() (_ string, err error) {
		exp, err = d.client.EnsureExperiment(ctx, experiment, nil)
		return fmt.Sprintf("%s has id %s", experiment, exp.ID), err
	}) && d.try("search", func() (string, error) {
		runs, err := d.client.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{exp.ID}, Limit: 1})
		return fmt.Sprintf("%s read", plural(len(runs), "run")), err
	}) && d.try("create a run", func() (_ string, err error) {
		const tag = "benchbatch.doctor"
		run, err = d.client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: exp.ID, Name: "benchbatch doctor", StartTime: time.Now().UnixMilli(),
			Tags: []mlflow.Tag{{Key: tag, Value: uuid.NewString()}}, UniqueTag: tag})
		return run.RunID, err
	})
	if !ok {
		return
	}
	d.writes(ctx, run)
	d.shows(ctx, exp)
	d.try("delete the run", func() (string, error) {
		err := d.client.DeleteRun(ctx, run.RunID)
		if errors.Is(err, mlflow.ErrForbidden) {
			return d.client.User() + " may not (it takes MANAGE permission), so the probe's run stays; a batch deletes nothing", nil
		}
		return "", err
	})
}

// writes tries what is logged on a run, and reads it back.
func (d *doctor) writes(ctx context.Context, run mlflow.RunInfo) {
	const note = "é, 漢字 and 🙂"
	d.try("log metrics, params and tags", func() (string, error) {
		err := d.client.LogBatch(ctx, run.RunID, mlflow.Batch{
			Metrics: []mlflow.Metric{{Key: "probe/value", Value: 0.5, Timestamp: time.Now().UnixMilli()}},
			Params:  []mlflow.Param{{Key: "probe", Value: "1"}}, Tags: []mlflow.Tag{{Key: "probe", Value: note}},
		})
		if err != nil {
			return "", err
		}
		r, err := d.client.GetRun(ctx, run.RunID)
		if err == nil && r.Tag("probe") != note {
			err = fmt.Errorf("a tag came back as %q, sent was %q: the server's database can't store every character; keep ids to ASCII", r.Tag("probe"), note)
		}
		return "read back unchanged", err
	})
	d.try("dataset input", func() (string, error) {
		return "", d.client.LogInputs(ctx, run.RunID, []mlflow.DatasetInput{{Name: "probe", Digest: "0", SourceType: "code", Source: "{}", Context: "eval"}})
	})
	d.try("artifacts", func() (string, error) {
		data := []byte("benchbatch doctor\n")
		if err := d.client.PutArtifactBytes(ctx, run, "probe.txt", data); err != nil {
			return "", err
		}
		if err := d.client.CheckArtifacts(ctx, run, map[string]int64{"probe.txt": int64(len(data))}); err != nil {
			return "", err
		}
		back, err := d.client.ReadArtifact(ctx, run, "probe.txt", 1<<10)
		if err == nil && string(back) != string(data) {
			err = errors.New("a file came back changed")
		}
		where := "through the server's proxy"
		if !strings.HasPrefix(run.ArtifactURI, "mlflow-artifacts:") {
			where = fmt.Sprintf("to %s, which the server does not proxy: a file may have 10 MB at most; start it with --serve-artifacts, and make a new experiment", run.ArtifactURI)
		}
		return "stored, listed and read back, " + where, err
	})
	d.try("end the run", func() (string, error) {
		info, err := d.client.UpdateRun(ctx, run.RunID, mlflow.StatusFinished, time.Now().UnixMilli())
		return string(info.Status), err
	})
}

// shows tries what the UI needs.
func (d *doctor) shows(ctx context.Context, exp mlflow.Experiment) {
	v, err := page.History()
	v.ID = page.ViewPrefix + "doctor"
	d.try("saved views", func() (string, error) {
		if err == nil {
			_, err = views.Set(ctx, d.client, exp, v, time.Now())
		}
		if err != nil {
			return "", err
		}
		removed, err := views.Remove(ctx, d.client, exp.ID, v.ID)
		if !removed {
			return "written, and emptied again: this MLflow can't remove one", err
		}
		return "written, and removed again", err
	})
	d.try("pages", func() (string, error) { return d.links.Experiment(exp.ID), nil })
}

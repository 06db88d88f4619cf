package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/page"
)

// uninstalled is one experiment in what `uninstall-views --json` prints.
type uninstalled struct {
	Experiment string   `json:"experiment"`
	Views      []string `json:"views"`   // ids
	Removed    bool     `json:"removed"` // false = emptied: the server can't remove a tag
}

func (a *App) uninstallViewsCommand() *cobra.Command {
	var experiment string
	c := &cobra.Command{
		Use:   "uninstall-views",
		Short: "Remove the saved views that benchbatch made in MLflow",
		Long: `uninstall-views removes the saved views that benchbatch made, of all experiments or
of one, and nothing else: not the views of others, and no run. MLflow 2 can't
remove them: there they are emptied. The next run of a benchmark makes them again.`,
		Example: "  benchbatch uninstall-views\n  benchbatch uninstall-views --experiment support-bench",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			out, err := uninstallViews(cmd.Context(), conn.client, experiment)
			if err != nil {
				return err
			}
			return a.result(out, func() { a.showUninstalled(out) })
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "of experiment `NAME` only")
	return c
}

func uninstallViews(ctx context.Context, c *mlflow.Client, experiment string) ([]uninstalled, error) {
	all, err := experiments(ctx, c, experiment)
	if err != nil {
		return nil, err
	}
	out := []uninstalled{}
	for _, e := range all {
		u := uninstalled{Experiment: e.Name, Views: views.IDs(e, page.ViewPrefix)}
		for _, id := range u.Views {
			if u.Removed, err = views.Remove(ctx, c, e.ID, id); err != nil {
				return out, fmt.Errorf("view %s of experiment %s: %w", id, e.Name, err)
			}
		}
		if len(u.Views) > 0 {
			out = append(out, u)
		}
	}
	return out, nil
}

// experiments lists one experiment, or all.
func experiments(ctx context.Context, c *mlflow.Client, name string) ([]mlflow.Experiment, error) {
	if name == "" {
		return c.SearchExperiments(ctx, "")
	}
	e, err := c.GetExperimentByName(ctx, name)
	return []mlflow.Experiment{e}, err
}

func (a *App) showUninstalled(all []uninstalled) {
	if len(all) == 0 {
		a.print("no views of benchbatch")
	}
	for _, u := range all {
		what := "removed"
		if !u.Removed {
			what = "emptied (this MLflow can't remove them)"
		}
		a.print("%s: %s %s", cleanLine(u.Experiment), plural(len(u.Views), "view"), what)
	}
}

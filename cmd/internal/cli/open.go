package cli

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/mlflow/views"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/page"
)

// opened is what `open --json` prints.
type opened struct {
	Batch string            `json:"batch"`
	Name  string            `json:"name"`
	Page  string            `json:"page"`  // what would be opened
	Views map[string]string `json:"views"` // by the names that --view takes
}

// viewNames are what --view takes.
const viewNames = "score, cells, tasks, failed, history, evaluations"

func (a *App) openCommand() *cobra.Command {
	var experiment, view string
	c := &cobra.Command{
		Use:   "open [BATCH]",
		Short: "Print the page of a batch in the MLflow UI, and open it",
		Long: `open prints the address of the page that says most of a batch, and opens it where
there is a terminal and a browser. BATCH is the parent's run id, the name of the
folder, or "latest" (the default).

--view opens a saved view instead: ` + viewNames + `
(evaluations is the page "Evaluation runs" of MLflow 3).`,
		Example: "  benchbatch open\n  benchbatch open support-bench-v1_2026-11-30_7f3a9c --view cells",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			_, p, err := a.findBatch(cmd.Context(), conn, experiment, append(args, "latest")[0])
			if err != nil {
				return err
			}
			out, err := batchPages(views.Links{Server: conn.client.Address()}, p)
			if err != nil {
				return err
			}
			if view != "" {
				if out.Page = out.Views[view]; out.Page == "" {
					return usageError{fmt.Errorf("--view %s: one of %s is wanted", cleanLine(view), viewNames)}
				}
			}
			return a.result(out, func() {
				a.print("%s", out.Page)
				a.browse(out.Page)
			})
		},
	}
	c.Flags().StringVar(&view, "view", "", "a saved `VIEW` instead of the batch's page: "+viewNames)
	c.Flags().StringVar(&experiment, "experiment", "", "look for BATCH in experiment `NAME` only")
	return c
}

func batchPages(l views.Links, p ledger.Parent) (*opened, error) {
	v, err := page.ViewsOf(p.Benchmark, p.Version, p.Recipe, p.Brain)
	id := p.Info.ExperimentID
	return &opened{Batch: p.Info.RunID, Name: p.Name(), Page: l.Run(id, p.Info.RunID), Views: map[string]string{
		"score": l.View(id, v.Score), "cells": l.View(id, v.Cells), "tasks": l.View(id, v.Tasks), "failed": l.View(id, v.Failed),
		"history": l.View(id, v.History), "evaluations": l.EvaluationRuns(id),
	}}, err
}

// browse opens an address where somebody looks on. That there is no browser is no failure: the address was printed.
func (a *App) browse(address string) {
	if !a.Terminal {
		return
	}
	program := a.getenv("BROWSER")
	if program == "" {
		switch {
		case runtime.GOOS == "darwin":
			program = "open"
		case a.getenv("DISPLAY") != "" || a.getenv("WAYLAND_DISPLAY") != "":
			program = "xdg-open"
		default:
			return
		}
	}
	words := strings.Fields(program)
	if err := exec.Command(words[0], append(words[1:], address)...).Start(); err != nil {
		a.say("no browser was opened: %s", cleanLine(err.Error()))
	}
}

package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/planner/spec"
)

func (a *App) initCommand() *cobra.Command {
	var o spec.InitOptions
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a small spec, panel and runner that run at once",
		Example: `  benchbatch init my-bench
  benchbatch init my-bench --command ./ask.sh --panel questions.csv --models a,b`,
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := spec.Init(args[0], o)
			if err != nil {
				return usageError{err}
			}
			return a.result(map[string]any{"files": files}, func() {
				for _, f := range files {
					a.print("%s", f)
				}
				a.say("next: benchbatch run %s", filepath.Join(args[0], "benchmark.yaml"))
			})
		},
	}
	c.Flags().StringVar(&o.Command, "command", "", "the runner you have, as a command line")
	c.Flags().StringVar(&o.Panel, "panel", "", "the panel you have, .csv or .jsonl")
	c.Flags().StringSliceVar(&o.Models, "models", nil, "routes of the models, separated by commas")
	return c
}

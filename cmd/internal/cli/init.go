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
		Long: `init writes a benchmark into a folder: benchmark.yaml, a panel of tasks, a runner that
answers one and a check that grades it. It runs as it is, without a network. With
--command, --panel and --models it starts from what you have; paths are relative to
DIR. Nothing that exists is overwritten.`,
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
				path := filepath.Join(args[0], spec.SpecFile)
				a.say("next: benchbatch check %s\n      benchbatch run %s", path, path)
			})
		},
	}
	c.Flags().StringVar(&o.Command, "command", "", "the runner you have, a `COMMAND` line")
	c.Flags().StringVar(&o.Panel, "panel", "", "the panel you have, a `FILE` of .csv or .jsonl")
	c.Flags().StringSliceVar(&o.Models, "models", nil, "`ROUTES` of the models, separated by commas")
	return c
}

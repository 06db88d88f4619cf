package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/planner/ledger"
)

func (a *App) stopCommand() *cobra.Command {
	var experiment string
	c := &cobra.Command{
		Use:   "stop BATCH",
		Short: "Ask the launchers of a batch to start nothing new",
		Long: `stop asks the launchers of a batch, wherever they run, to start nothing new. They
see it within some seconds, finish what runs, and end with exit code 4. The batch
stays unfinished; run goes on with it. BATCH may also be a spec: the
newest of its batches that is not frozen.`,
		Example: "  benchbatch stop latest\n  benchbatch stop my-bench/benchmark.yaml\n  benchbatch stop support-bench-v1_2026-11-30_7f3a9c",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, f := args[0], statusFlags{experiment: experiment}
			if err := a.nameBatch(&name, &f); err != nil {
				return err
			}
			conn, err := a.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			l, p, err := a.findLive(cmd.Context(), conn, f.experiment, name, func(p ledger.Parent) bool { return !p.Frozen() })
			if err != nil {
				return err
			}
			if p.Frozen() {
				return usageError{fmt.Errorf("batch %s is frozen: nothing of it runs", p.Name())}
			}
			who := cmp.Or(a.getenv("USER"), a.getenv("LOGNAME"), "somebody") + " at " + timeText(a.Now())
			if err := l.AskStop(cmd.Context(), p, who); err != nil {
				return err
			}
			return a.result(map[string]string{"batch": p.Info.RunID, "stop": who}, func() {
				a.print("asked: the launchers of %s start nothing new; `benchbatch status` shows what still runs", p.Name())
			})
		},
	}
	c.Flags().StringVar(&experiment, "experiment", "", "look for BATCH in experiment `NAME` only")
	return c
}

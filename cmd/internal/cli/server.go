package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/mlflow/local"
)

// served is what `server start` and `server status` print as JSON.
type served struct {
	Running bool   `json:"running"`
	URL     string `json:"url,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Version string `json:"version,omitempty"` // of MLflow
	Log     string `json:"log,omitempty"`
}

func servedBy(s *local.Server) served {
	if s == nil {
		return served{}
	}
	return served{true, s.URL, s.PID, s.Version, s.LogFile()}
}

func (a *App) serverCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "server",
		Short: "A local MLflow server on loopback",
		Long: `server serves the current folder with a real MLflow: sqlite:///mlflow.db, the
database that Python's MLflow would use here, and its artifacts beside it.
A database of another schema is never upgraded.`,
		Example: "  benchbatch server start\n  export MLFLOW_TRACKING_URI=$(benchbatch server status --url)",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var port int
	start := &cobra.Command{
		Use: "start", Short: "Serve the current folder", Args: cobra.NoArgs, Example: "  benchbatch server start --port 5000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := local.Start(cmd.Context(), local.Options{Dir: a.Dir, Port: port, Executable: a.getenv("BENCHBATCH_MLFLOW")})
			if err != nil {
				return err
			}
			return a.result(servedBy(s), func() { a.print("%s", s.URL) })
		},
	}
	start.Flags().IntVar(&port, "port", 0, "`PORT` on 127.0.0.1 (0 = any free one)")
	stop := &cobra.Command{
		Use: "stop", Short: "End the server of the current folder", Args: cobra.NoArgs, Example: "  benchbatch server stop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			was, err := local.Stop(cmd.Context(), a.Dir)
			if err != nil {
				return err
			}
			return a.result(map[string]bool{"stopped": was}, func() {
				if was {
					a.say("stopped")
				} else {
					a.say("no server was running here")
				}
			})
		},
	}
	c.AddCommand(start, stop, a.serverStatusCommand())
	return c
}

func (a *App) serverStatusCommand() *cobra.Command {
	var url bool
	c := &cobra.Command{
		Use: "status", Short: "Say whether a server serves the current folder", Args: cobra.NoArgs, Example: "  benchbatch server status --url",
		RunE: func(*cobra.Command, []string) error {
			s, err := local.Status(a.Dir)
			if err != nil {
				return err
			}
			if s == nil && (url || !a.asJSON) {
				return fmt.Errorf("no server serves %s; `benchbatch server start` starts one", a.Dir)
			}
			return a.result(servedBy(s), func() {
				if url {
					a.print("%s", s.URL)
					return
				}
				a.print("MLflow %s at %s, process %d, log %s", s.Version, s.URL, s.PID, s.LogFile())
			})
		},
	}
	c.Flags().BoolVar(&url, "url", false, "print the address alone")
	return c
}

// Command benchbatch runs frozen benchmark batches of AI agents and models, with
// MLflow as the source of truth. See `benchbatch --help`.
package main

import (
	"os"
	"runtime/debug"

	"github.com/benchbatch/benchbatch/cmd/internal/cli"
)

func main() {
	// An export streams: a lazier collector saves a fifth of its CPU time, and the
	// soft limit keeps its memory flat. GOGC and GOMEMLIMIT win where they are set.
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(180 << 20)
	}
	os.Exit(cli.Main(cli.Process()))
}

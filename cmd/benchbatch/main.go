// Command benchbatch runs frozen benchmark batches of AI agents and models, with
// MLflow as the source of truth. See `benchbatch --help`.
package main

import (
	"os"

	"github.com/benchbatch/benchbatch/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.Process())) }

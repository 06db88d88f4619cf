package chaos_test

import (
	"os"
	"testing"
	"time"

	"github.com/benchbatch/benchbatch/cmd/internal/cli"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// lease is that of the launchers' claims: short, and long enough for a busy machine.
const lease = 6 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("BENCHBATCH_CHAOS_MAIN") != "" { // the test binary re-runs itself as the tool
		a := cli.Process()
		a.Hasten(lease)
		os.Exit(cli.Main(a))
	}
	mlflowtest.Main(m)
}

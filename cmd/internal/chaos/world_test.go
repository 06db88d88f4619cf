//go:build linux

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
	"github.com/benchbatch/benchbatch/mlflow/local"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

// world is the server that all batches share, and what went wrong in all of them.
type world struct {
	t      *testing.T
	seed   uint64
	server *local.Server
	until  time.Time // nothing is broken after it
	faults chaos.Tally
	again  chaos.Tally // repeats that were paid twice, and might be

	calm sync.RWMutex // read-locked by who needs the server to stay

	mu         sync.Mutex
	batches    int
	works      int
	paid       float64
	violations []string
}

// newWorld starts a server of its own: it is killed.
func newWorld(t *testing.T, seed uint64, limit time.Duration) *world {
	w := &world{t: t, seed: seed, until: time.Now().Add(limit)}
	dir, err := os.MkdirTemp("", "chaos-mlflow-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.server, err = local.Start(context.Background(), w.options(dir, 0))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.server.Stop(context.Background())) })
	return w
}

func (w *world) options(dir string, port int) local.Options {
	return local.Options{Dir: dir, Port: port, Executable: mlflowtest.Executable(w.t, mlflowtest.Newest), EndWithParent: true}
}

// kill ends the server as a crash would, and starts it again on the same store and port.
func (w *world) kill(dead time.Duration) error {
	w.calm.Lock()
	defer w.calm.Unlock()
	if err := syscall.Kill(-w.server.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("MLflow was not there to be killed: %w", err)
	}
	w.faults.Add("MLflow killed")
	begin := time.Now()
	defer func() { w.t.Logf("MLflow was away for %v", time.Since(begin).Round(time.Second)) }()
	if err := w.server.Stop(context.Background()); err != nil { // until nothing is left of it
		return err
	}
	time.Sleep(dead)
	var port int
	if _, err := fmt.Sscanf(w.server.URL[strings.LastIndexByte(w.server.URL, ':'):], ":%d", &port); err != nil {
		return err
	}
	server, err := local.Start(context.Background(), w.options(w.server.Dir, port))
	if err != nil {
		return err
	}
	w.server = server
	return nil
}

// killNowAndThen kills the server until done.
func (w *world) killNowAndThen(done <-chan struct{}) {
	random := rand.New(rand.NewPCG(w.seed, 2))
	for wait := 6 + random.IntN(10); ; wait = 45 + random.IntN(60) {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(wait) * time.Second):
		}
		if err := w.kill(time.Duration(random.IntN(4)) * time.Second); err != nil {
			w.note("MLflow", []string{err.Error()})
			return
		}
	}
}

// enough says that so many faults have happened, or that the time is over.
func (w *world) enough(faults int) bool {
	return w.faults.Total() >= faults || time.Now().After(w.until)
}

// next numbers the batches from 0.
func (w *world) next() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches++
	return w.batches - 1
}

// note keeps what was wrong with a batch, or with the world.
func (w *world) note(with string, violations []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range violations {
		w.t.Logf("VIOLATION, %s: %s", with, v)
		w.violations = append(w.violations, with+": "+v)
	}
}

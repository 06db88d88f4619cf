//go:build linux

package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	faults = flag.Int("faults", 30, "faults that are to happen at least; make chaos has 1,000")
	limit  = flag.Duration("limit", 5*time.Minute, "no batch begins after it")
	side   = flag.Int("side", 2, "batches side by side")
)

// TestChaos runs batches, each by two or three launchers at once, while processes are
// killed and stopped, disks are full, the network fails and the server is killed; then
// everything that was promised must hold.
func TestChaos(t *testing.T) {
	seed := rand.Uint64() >> 33
	if s := os.Getenv("BENCHBATCH_CHAOS_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "BENCHBATCH_CHAOS_SEED")
	}
	t.Logf("seed %d: BENCHBATCH_CHAOS_SEED=%d makes the same choices", seed, seed)
	begin := time.Now()
	w := newWorld(t, seed, *limit)
	done := make(chan struct{})
	var all, killing sync.WaitGroup
	killing.Go(func() { w.killNowAndThen(done) })
	for range *side {
		all.Go(func() {
			for w.try(t, w.next()) && !w.enough(*faults) {
			}
		})
	}
	all.Wait()
	close(done)
	killing.Wait()
	t.Logf("seed %d, %v: %d faults (%s) in %d batches with %d starts of the runner, for $%.2f; paid again: %s; %d violations",
		seed, time.Since(begin).Round(time.Second), w.faults.Total(), &w.faults, w.batches, w.works, w.paid, w.again.String(), len(w.violations))
	require.Empty(t, w.violations, strings.Join(w.violations, "\n"))
	require.GreaterOrEqual(t, w.faults.Total(), *faults, "too few faults within %v", *limit)
}

// try runs one batch through its storm and judges it. False = it could not.
func (w *world) try(t *testing.T, n int) bool {
	return t.Run(fmt.Sprint("batch ", n), func(t *testing.T) {
		begin := time.Now()
		b := newTrial(t, w, n)
		b.storm(90 * time.Second)
		w.calm.RLock()
		defer w.calm.RUnlock()
		stormed := time.Now()
		wrong := b.judge(context.Background())
		w.note(b.name, wrong)
		if len(wrong) == 0 {
			require.NoError(t, os.RemoveAll(b.dir))
		} else {
			t.Logf("what batch %d left is kept in %s", n, b.dir)
		}
		t.Logf("%d launchers, %v of faults and %v without: %d so far", len(b.all), stormed.Sub(begin).Round(time.Second), time.Since(stormed).Round(time.Second), w.faults.Total())
	})
}

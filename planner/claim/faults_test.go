package claim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/claim"
)

// TestUnderFaults: a fifth of all calls goes wrong in some way, and launchers die. Every repeat is measured in the end, never by two at a time.
func TestUnderFaults(t *testing.T) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) { underFaults(t, mlflowtest.NewFake(t).URL, 8, 40) })
	t.Run("MLflow "+string(mlflowtest.Newest), func(t *testing.T) { underFaults(t, mlflowtest.Real(t, mlflowtest.Newest).URL, 4, 12) })
}

// storm is what goes wrong.
type storm struct {
	mu      sync.Mutex
	rng     *rand.Rand
	happens int
}

func (s *storm) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

func (s *storm) act(w http.ResponseWriter, r *http.Request, next http.Handler) {
	faults := []mlflowtest.Act{
		mlflowtest.LoseAnswer, mlflowtest.Drop, mlflowtest.Fail(http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE", "database is locked"),
		mlflowtest.Answer(http.StatusTooManyRequests, ""), mlflowtest.Afterwards(mlflowtest.Answer(http.StatusBadGateway, "")),
		mlflowtest.Slow(5 * time.Millisecond), mlflowtest.CutBody(20),
	}
	if n := s.roll(5 * len(faults)); n < len(faults) {
		s.mu.Lock()
		s.happens++
		s.mu.Unlock()
		faults[n](w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// field is a number of launchers in a storm.
type field struct {
	*table
	*storm
	slots   int
	dead    sync.Map
	running []atomic.Int32 // by slot
	lives   atomic.Int32
	deaths  atomic.Int32
	doubled atomic.Int32
}

func underFaults(t *testing.T, server string, launchers, slots int) {
	seed := rand.Uint64()
	f := &field{storm: &storm{rng: rand.New(rand.NewPCG(seed, 0))}, slots: slots, running: make([]atomic.Int32, slots+1)}
	clear := &table{t: t, url: server}
	clear.experiment = mlflowtest.Experiment(t, clear.client())
	faults, address := mlflowtest.NewProxy(t, server)
	f.table = &table{t: t, url: address, experiment: clear.experiment}
	faults.Inject(mlflowtest.Fault{Do: f.act})
	var all sync.WaitGroup
	for range launchers {
		all.Go(f.launcher)
	}
	all.Wait()
	assert.Zero(t, f.doubled.Load(), "started twice at a time; seed %d", seed)
	after := clear.join("after")
	for slot := range slots {
		assert.Equal(t, "run", ask(t, after, want(slot+1)).Done, "slot %d is left behind; seed %d", slot+1, seed)
	}
	require.Positive(t, f.happens)
	t.Logf("%d launchers, %d repeats, %d faults, %d deaths, seed %d", launchers, slots, f.happens, f.deaths.Load(), seed)
}

// launcher works until every repeat is done, in one life after another.
func (f *field) launcher() {
	for {
		name := fmt.Sprint("launcher ", f.lives.Add(1))
		m := f.enter(name)
		if f.work(m) {
			assert.NoError(f.t, again(func() error { return m.Leave(ctx) }))
			return
		}
		f.deaths.Add(1)
		f.dead.Store(name, true)
	}
}

func (f *field) enter(name string) (m *claim.Member) {
	client := f.client()
	err := again(func() error {
		b, err := claim.OpenRecipe(ctx, client, f.experiment, recipe, "faults v1")
		if err == nil {
			m, err = b.Join(ctx, claim.Options{Launcher: name, TTL: time.Hour, Gone: func(l string) bool { _, dead := f.dead.Load(l); return dead }})
		}
		return err
	})
	assert.NoError(f.t, err)
	return m
}

// again tries until it works, or does not for far too long.
func again(do func() error) error {
	var err error
	for range 50 {
		if err = do(); err == nil || errors.Is(err, claim.ErrLost) {
			return err
		}
	}
	return err
}

// work measures what is free; false when the launcher dies.
func (f *field) work(m *claim.Member) bool {
	for left := f.slots; left > 0; {
		left = 0
		_ = m.Beat(ctx)
		for slot := 1; slot <= f.slots; slot++ {
			answers, err := m.Claim(ctx, want(slot))
			if err != nil || answers[0].Done == "" {
				left++
			}
			if err != nil || answers[0].Won == nil {
				continue
			}
			if f.running[slot].Add(1) > 1 {
				f.doubled.Add(1)
			}
			fate := f.roll(12)
			if fate > 1 {
				assert.NoError(f.t, again(func() error { return answers[0].Won.Done(ctx, "run") }))
			}
			f.running[slot].Add(-1)
			switch fate {
			case 0:
				return false
			case 1:
				_ = answers[0].Won.Release(ctx, "stopped") // tried once: what becomes of it is for the others to find out
			}
		}
	}
	return true
}

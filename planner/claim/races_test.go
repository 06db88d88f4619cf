package claim_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
)

var races = flag.Int("races", 5, "races for one repeat on SQLite and on PostgreSQL; make races runs 1,000")

const (
	contenders = 32
	perLedger  = 50 // races before all meet at a new ledger run, and elect it
	killEvery  = 5  // in every so many-th race the winner dies while it measures
)

// TestRaces lets 32 launchers race for one repeat after another, on real servers. In some the winner dies, and another must take the repeat.
func TestRaces(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) (url string, races int){
		"MLflow " + string(mlflowtest.Newest) + " on SQLite":     func(t *testing.T) (string, int) { return mlflowtest.Real(t, mlflowtest.Newest).URL, *races },
		"MLflow " + string(mlflowtest.Newest) + " on PostgreSQL": func(t *testing.T) (string, int) { return mlflowtest.RealOnPostgres(t), *races },
		"MLflow " + string(mlflowtest.Oldest) + " on SQLite":     func(t *testing.T) (string, int) { return mlflowtest.Real(t, mlflowtest.Oldest).URL, killEvery },
		"in memory": func(t *testing.T) (string, int) { return mlflowtest.NewFake(t).URL, 20 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raceOn(t, server)
		})
	}
}

// contest is a field of launchers, and what they came to.
type contest struct {
	table
	recipe  batch.Digest // of the ledger that they meet at
	clients [contenders]*mlflow.Client
	members [contenders]*claim.Member
	names   [contenders]string
	dead    sync.Map // names of launchers

	elections, won, lost, killed, doubled, behind atomic.Int64
}

func raceOn(t *testing.T, server func(t *testing.T) (url string, races int)) {
	url, n := server(t)
	c := &contest{table: table{t: t, url: url}}
	c.experiment = mlflowtest.Experiment(t, c.client())
	for i := range c.clients {
		c.clients[i] = c.client()
	}
	began := time.Now()
	for race := range n {
		if race > 0 && race%perLedger == 0 {
			c.report(race, time.Since(began))
		}
		if race%perLedger == 0 {
			c.meet(batch.Sum(fmt.Append(nil, "recipe", race)))
		}
		c.race(batch.Sum(fmt.Append(nil, "cell", race)), race%killEvery == killEvery-1)
	}
	c.report(n, time.Since(began))
	assert.Zero(t, c.doubled.Load(), "double starts")
	assert.Zero(t, c.behind.Load(), "cells left behind")
	assert.EqualValues(t, n/killEvery, c.killed.Load())
	assert.EqualValues(t, int64(n)+c.killed.Load(), c.won.Load(), "one start for each repeat, and for each launcher that died")
	assert.EqualValues(t, int64(n*(contenders-1))-c.killed.Load(), c.lost.Load())
}

// report says what it came to so far.
func (c *contest) report(n int, took time.Duration) {
	calls := 0
	for _, client := range c.clients {
		calls += total(client)
	}
	c.t.Logf("%d races of %d launchers in %v (%v and %d calls each): %d starts, %d of them by heirs of launchers that died; %d losers that spent nothing; "+
		"%d double starts, %d cells left behind; %d elections",
		n, contenders, took.Round(time.Second), (took / time.Duration(n)).Round(time.Millisecond), calls/n,
		c.won.Load(), c.killed.Load(), c.lost.Load(), c.doubled.Load(), c.behind.Load(), c.elections.Load())
}

// meet lets all open the ledger of a recipe and join it, at once.
func (c *contest) meet(recipe batch.Digest) {
	var all sync.WaitGroup
	c.recipe = recipe
	runs := make([]string, contenders)
	for i := range contenders {
		all.Go(func() { runs[i] = c.enter(i, "first") })
	}
	all.Wait()
	for _, run := range runs {
		require.Equal(c.t, runs[0], run, "all meet at one ledger run")
	}
	c.elections.Add(1)
}

// enter joins a launcher under a new name.
func (c *contest) enter(i int, life string) string {
	b, err := claim.OpenRecipe(ctx, c.clients[i], c.experiment, c.recipe, "races v1")
	if !assert.NoError(c.t, err) {
		return ""
	}
	c.names[i] = fmt.Sprintf("%s/%.8s/%s", name(i), c.recipe, life)
	c.members[i], err = b.Join(ctx, claim.Options{Launcher: c.names[i], TTL: time.Hour, Gone: func(l string) bool { _, dead := c.dead.Load(l); return dead }})
	assert.NoError(c.t, err)
	return b.RunID()
}

// race lets all claim one repeat at once. Where the winner dies, the others try again when that is known.
func (c *contest) race(cell batch.Digest, kill bool) {
	var all sync.WaitGroup
	var running, starts atomic.Int64
	start, death := make(chan struct{}), make(chan struct{})
	for i := range contenders {
		all.Go(func() {
			<-start
			lease := c.try(i, cell)
			if lease == nil {
				if !kill {
					c.lost.Add(1)
					return
				}
				<-death
				if lease = c.try(i, cell); lease == nil {
					c.lost.Add(1)
					return
				}
			}
			if running.Add(1) > 1 {
				c.doubled.Add(1)
			}
			c.won.Add(1)
			if starts.Add(1) == 1 && kill {
				running.Add(-1)
				c.killed.Add(1)
				c.dead.Store(c.names[i], true)
				close(death)
				return
			}
			assert.NoError(c.t, lease.Done(ctx, "run"))
			running.Add(-1)
		})
	}
	close(start)
	all.Wait()
	c.check(cell)
}

func (c *contest) try(i int, cell batch.Digest) *claim.Lease {
	answers, err := c.members[i].Claim(ctx, claim.Want{Cell: cell, Slot: 1})
	if !assert.NoError(c.t, err) {
		return nil
	}
	return answers[0].Won
}

// check lets the dead be replaced, and looks whether the repeat is done.
func (c *contest) check(cell batch.Digest) {
	for i, name := range c.names {
		if _, dead := c.dead.Load(name); dead {
			c.enter(i, cell.Short())
		}
	}
	m := c.members[0]
	require.NoError(c.t, m.Beat(ctx))
	answers, err := m.Claim(ctx, claim.Want{Cell: cell, Slot: 1})
	require.NoError(c.t, err)
	if answers[0].Done == "" {
		c.behind.Add(1)
	}
}

package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// rowOf is a cell's row.
func (s *batchStatus) rowOf(t *testing.T, variant string) statusCell {
	t.Helper()
	for _, c := range s.Cells {
		if c.Variant.String() == variant {
			return c
		}
	}
	t.Fatalf("no row of %s", variant)
	return statusCell{}
}

// TestStatusOfARunningBatch looks on while one model's provider fails, another does
// not answer, and the rest waits; then somebody stops the batch.
func TestStatusOfARunningBatch(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "models:\n", "models:\n  - {id: m-out, route: local/out, preflight: {kind: command, command: [\"false\"]}}\n")
	s.edit("benchmark.yaml", "quotas: {all: {at_once: 4}}", "quotas: {all: {at_once: 1}}")
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}", "budget: {ceiling_usd: 50}\nretry: {provider: 0}")
	s.edit("prices.yaml", "", "m-out: {input: 1, output: 1}\n")
	s.faults(map[string]any{"m-one": 9})
	s.json(new(ran), "run", s.spec, "--only", "agent=quick,model=m-one")
	s.faults(nil)
	s.json(new(ran), "run", s.spec, "--only", "agent=careful")

	s.faults(map[string]any{"until": s.env["STARTS"] + ".go"})
	n := len(s.starts())
	c := s.child(nil, "run", s.spec, "--at-once", "3")
	c.until("a start", func() bool { return len(s.starts()) == n+1 })
	var st batchStatus
	c.until("the run in MLflow", func() bool { s.json(&st, "status"); return st.Running == 1 })
	assert.Equal(t, ExitIncomplete, s.json(&st, "status", s.spec).code, "a spec names its newest batch")
	assert.Equal(t, batch.Counts{Planned: 12, Done: 4, Skipped: 4, Failed: st.Counts.Failed, NotStarted: 4 - st.Counts.Failed}, st.Counts)
	assert.Contains(t, []int{1, 2}, st.Counts.Failed, "one of the two may be what runs")
	assert.InDelta(t, 50, *st.CeilingUSD, 1e-9)
	assert.InDelta(t, 0.072, *st.SpentUSD, 1e-6, "failed evaluations are paid too")
	assert.Equal(t, 4, st.rowOf(t, "quick+m-out").Skipped+st.rowOf(t, "careful+m-out").Skipped)
	assert.Equal(t, st.Counts.Failed, st.rowOf(t, "quick+m-one").Classes[string(outcome.Provider)])
	assert.Equal(t, "quota all: 1 of 1 run", st.rowOf(t, "quick+m-two").WaitsFor)
	assert.NotEmpty(t, st.End, "what the model took before says when it is done")
	running := 0
	for _, slot := range st.Slots {
		if slot.State == slotRunning {
			running++
			assert.NotEmpty(t, slot.Started)
			assert.Contains(t, slot.Launcher, "/")
			assert.False(t, slot.Gone)
		}
	}
	assert.Equal(t, 1, running)
	text := s.run("status").out
	for _, want := range []string{"1 evaluation running", "behind quota all: 1 of 1 run", "skipped: quick+m-out: command failed", "spent: $0.0720 of $50.00", "done at about 2", ", repeat ", "since 2"} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, s.ok("gc").out, "at work")

	// From anywhere: what runs is finished, nothing new is started.
	assert.Contains(t, s.ok("stop", "latest").out, "start nothing new")
	c.until("the answer", func() bool { return strings.Contains(c.err.String(), "asked for a stop: nothing new is started") })
	require.NoError(t, os.WriteFile(s.env["STARTS"]+".go", nil, 0o600))
	got := c.wait()
	assert.Equal(t, ExitIncomplete, got.code, got.stderr)
	assert.Contains(t, got.stderr, "stopped by ")
	assert.Len(t, s.starts(), n+1)
	assert.Contains(t, s.run("status").out, "asked its launchers to start nothing new")

	// Who runs it again goes on; a frozen batch can't be stopped.
	s.edit("benchmark.yaml", "  - {id: m-out, route: local/out, preflight: {kind: command, command: [\"false\"]}}\n", "")
	s.edit("prices.yaml", "m-out: {input: 1, output: 1}\n", "")
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 8, Done: r.Counts.Done, Reused: 8 - r.Counts.Done}, r.Counts)
	assert.Equal(t, ExitUsage, s.run("stop", r.Batch).code)
	assert.Contains(t, s.ok("status", r.Batch).out, "frozen")
	assert.Contains(t, s.ok("status", r.Batch, "--watch").out, "frozen", "there is nothing to wait for")
}

// TestRunGoesOnAfterAStop takes a request back that was meant for an earlier launcher.
func TestRunGoesOnAfterAStop(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.json(new(ran), "run", s.spec, "--max-cost", "0.001")
	s.ok("stop", "latest", "--experiment", s.name())
	r := s.measure()
	assert.Equal(t, batch.Counts{Planned: 2, Done: 2}, r.Counts)
}

// A calibration that was made and ended meanwhile is not what status and stop are asked about.
func TestStatusOfASpecWithACalibration(t *testing.T) {
	t.Parallel()
	s, _ := fakeShell(t)
	var open ran
	part := s.run("run", s.spec, "--json", "--only", "agent=quick")
	require.NoError(t, json.Unmarshal([]byte(part.out), &open), part.stderr)
	calibration := s.run("calibrate", s.spec, "--json")
	require.NotEqual(t, ExitFailed, calibration.code, calibration.stderr)
	for _, command := range []string{"status", "stop"} {
		var got batchStatus
		require.NoError(t, json.Unmarshal([]byte(s.run(command, s.spec, "--json").out), &got))
		assert.Equal(t, open.Batch, got.Batch, command)
	}
	s.measure()
	assert.Contains(t, s.run("stop", s.spec).stderr, "is frozen: nothing of it runs")
}

// TestStatusIsWatchedWhileMLflowIsAway: a watch outlives the server, and stays with its batch.
func TestStatusIsWatchedWhileMLflowIsAway(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	s.json(new(ran), "run", s.spec, "--max-cost", "0.001")
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	c := s.child([]string{"MLFLOW_TRACKING_URI=" + address, "MLFLOW_HTTP_REQUEST_MAX_RETRIES=0"}, "status", s.spec, "--watch", "--every", "1s")
	seen := func(n int) func() bool {
		return func() bool { return strings.Count(c.out.String(), "2 planned = ") >= n }
	}
	c.until("a first look", seen(1))
	faults.Inject(mlflowtest.Fault{Route: "mlflow", Do: mlflowtest.Drop})
	c.until("the news", func() bool { return strings.Contains(c.err.String(), "MLflow is away, and is asked again and again") })
	before := strings.Count(c.out.String(), "2 planned = ")
	faults.Clear()
	c.until("another look", seen(before+1))
	s.measure()
	s.json(new(ran), "run", s.spec, "--new", "--yes", "--max-cost", "0.001")
	got := c.wait()
	assert.Equal(t, ExitDone, got.code, got.stderr)
	assert.Contains(t, got.out, "frozen")
	assert.Equal(t, 1, strings.Count(got.stderr, "MLflow is away"))
}

// TestStatusSaysWhatWaits has MLflow away after a measurement: what waits on disk is
// told without it.
func TestStatusSaysWhatWaits(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.one()
	faults, address := mlflowtest.NewProxy(t, s.env["MLFLOW_TRACKING_URI"])
	real := s.env["MLFLOW_TRACKING_URI"]
	s.env["MLFLOW_TRACKING_URI"], s.env["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = address, "0"
	faults.Inject(mlflowtest.Fault{Route: batch.FileOutcomes, Do: mlflowtest.Drop})
	c := s.child(nil, "run", s.spec, "--at-once", "1")
	c.until("the news", func() bool { return strings.Contains(c.err.String(), "MLflow does not answer") })
	var st batchStatus
	s.json(&st, "status", s.spec)
	require.Len(t, st.Waiting, 1)
	assert.True(t, st.Waiting[0].Measured)
	assert.Contains(t, s.run("status", s.spec).out, "waiting on disk here: 1 evaluation that MLflow has not got")
	c.kill()

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	s.env["MLFLOW_TRACKING_URI"] = "http://" + closed.Addr().String()
	got := s.run("status", s.spec)
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.out, "waiting on disk here: 1 evaluation that MLflow has not got")
	assert.Contains(t, got.out, "`benchbatch run` logs it first")

	s.env["MLFLOW_TRACKING_URI"] = real
	delete(s.env, "MLFLOW_HTTP_REQUEST_MAX_RETRIES")
	assert.Contains(t, s.run("status", s.spec).out, "which is gone: `benchbatch run` or `benchbatch gc` closes it")
	r := s.measure()
	assert.Equal(t, 1, r.Started, "the other one was only logged")
	assert.Len(t, s.starts(), 2)
}

// TestGCClosesWhatADeadLauncherLeft kills a launcher; of another host's run its lease
// tells, and of another tool's nothing.
func TestGCClosesWhatADeadLauncherLeft(t *testing.T) {
	s := newShell(t, mlflowtest.Newest)
	s.edit("benchmark.yaml", "budget: {ceiling_usd: 100}\n", "")
	s.ownTemp()
	s.faults(map[string]any{"sleep": 600, "detach": true})
	c := s.child([]string{lease}, "run", s.spec, "--at-once", "3")
	c.until("three processes left behind", func() bool { return len(s.detached()) == 3 })
	c.kill()
	evaluations, _ := s.history()
	elsewhere, foreign := evaluations[0].Info.RunID, evaluations[1].Info.RunID
	client := mlflowtest.Client(t, s.env["MLFLOW_TRACKING_URI"])
	for _, run := range []string{elsewhere, foreign} {
		require.NoError(t, client.SetTag(t.Context(), run, "benchbatch.launcher", "elsewhere/1/1"))
	}
	require.NoError(t, client.SetTag(t.Context(), foreign, "benchbatch.generation", "")) // as another tool would log it

	got := s.run("gc", "--experiment", "no-such")
	assert.Equal(t, ExitUsage, got.code, "nothing there is not the same as nobody there")
	assert.Contains(t, got.stderr, `no experiment is called "no-such"`)
	text := s.ok("gc", "--experiment", s.name()).out
	assert.Contains(t, text, "without a lease, so only who runs it can tell: left alone")
	assert.Contains(t, text, "`benchbatch gc --yes` closes those that are gone")
	var left leftOvers
	c.until("the end of the lease", func() bool {
		s.json(&left, "gc", "--experiment", s.name())
		return slices.ContainsFunc(left.Runs, func(r leftRun) bool { return r.RunID == elsewhere && r.Lapsed })
	})
	time.Sleep(time.Second) // the server tells whole seconds: a later answer can seem earlier
	assert.Contains(t, s.ok("gc", "--experiment", s.name()).out, "its lease has lapsed")
	evaluations, _ = s.history()
	assert.Equal(t, map[string]int{"RUNNING": 3}, statuses(evaluations), "listing changes nothing")
	assert.Contains(t, s.run("status", "latest", "--experiment", s.name()).out, "whose lease has lapsed: whoever runs the batch takes it over")
	s.json(&left, "gc", "--experiment", s.name())
	require.Len(t, left.Claims, 2, "of the recipe and of the quotas")
	for _, c := range left.Claims {
		assert.True(t, c.Gone)
		assert.Equal(t, 3, c.Repeats+c.Slots)
	}
	s.lease = 6 * time.Second
	assert.Contains(t, s.json(&left, "gc", "--yes", "--experiment", s.name()).stderr, "watching for 3")
	require.Len(t, left.Runs, 3)
	evaluations, _ = s.history()
	assert.Equal(t, map[string]int{"RUNNING": 1, "KILLED interrupted": 2}, statuses(evaluations))
	alive := 0
	for _, pid := range s.detached() {
		if running(pid) {
			alive++
		}
	}
	assert.Equal(t, 1, alive, "what the closed ones left was ended")
	for _, r := range left.Runs {
		assert.Equal(t, r.RunID != foreign, r.Closed)
		assert.Equal(t, r.RunID == elsewhere, r.Lapsed)
	}
	require.Len(t, left.Claims, 2)
	assert.True(t, left.Claims[0].Closed && left.Claims[1].Closed)
	text = s.ok("gc", "--experiment", s.name()).out
	assert.NotContains(t, text, "claims of", "what it held is free")
	s.faults(nil)
	s.measure("--take-over")
	assert.Contains(t, s.ok("gc", "--experiment", s.name()).out, "nothing is RUNNING")
}

// TestGCFreesClaimsWithoutARun: a launcher of another host died before its run was
// created; gc waits for half a lease before it says so on the ledger run.
func TestGCFreesClaimsWithoutARun(t *testing.T) {
	s, fake := fakeShell(t)
	s.small()
	s.measure()
	client := s.client()
	e, err := client.GetExperimentByName(t.Context(), s.name())
	require.NoError(t, err)
	book, err := claim.OpenQuotas(t.Context(), client, e.ID)
	require.NoError(t, err)
	join := func(name string) *claim.Member {
		m, err := book.Join(t.Context(), claim.Options{Launcher: name, TTL: claim.MinTTL})
		require.NoError(t, err)
		return m
	}
	dead, alive := join("elsewhere/9/9"), join("elsewhere/8/8")
	for _, m := range []*claim.Member{dead, alive} {
		_, err = m.Slot(t.Context(), "north", 2)
		require.NoError(t, err)
	}
	assert.Equal(t, "nothing is RUNNING\n", s.ok("gc").out, "their leases hold")
	fake.Advance(claim.MinTTL + time.Second)
	text := s.ok("gc").out
	assert.Contains(t, text, "elsewhere (process 9)")
	assert.Contains(t, text, "ledger · quotas  1 slot  its lease has lapsed")
	assert.Contains(t, text, "`benchbatch gc --yes` closes those that are gone")

	s.lease = time.Second
	renewed := make(chan error, 1)
	go func() {
		time.Sleep(100 * time.Millisecond)
		renewed <- errors.Join(alive.Beat(t.Context()), alive.Beat(t.Context())) // with the first it learns the server's time
	}()
	var left leftOvers
	s.json(&left, "gc", "--yes")
	require.NoError(t, <-renewed)
	require.Len(t, left.Claims, 1)
	assert.Equal(t, "elsewhere/9/9", left.Claims[0].Launcher)
	assert.True(t, left.Claims[0].Closed)
	_, err = join("heir").Slot(t.Context(), "north", 2)
	require.NoError(t, err)
}

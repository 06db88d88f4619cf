package chaos_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
)

// at is a moment of a made-up batch, in seconds.
func at(s int) time.Time { return time.Unix(1_790_000_000+int64(s), 0) }

// work is a process that ran from one second to another and succeeded.
func work(uuid, launcher, model string, slot, from, to int) chaos.Work {
	return chaos.Work{UUID: uuid, Cell: "solo+" + model, Model: model, Slot: slot, Attempt: 1, PID: from*100 + slot, Launcher: launcher,
		Start: at(from), Over: at(to), Succeeded: true, Paid: 0.03, Told: 0.03}
}

// quiet is a batch of three evaluations by two launchers at which nothing is wrong.
func quiet() *chaos.Facts {
	f := &chaos.Facts{
		Works:  []chaos.Work{work("u1", "a", "m-a", 1, 0, 5), work("u2", "b", "m-b", 1, 1, 4), work("u3", "a", "m-a", 2, 6, 9)},
		Killed: map[chaos.Process]time.Time{}, Lives: map[string]*chaos.Life{"a": {}, "b": {}}, Lease: 6 * time.Second, Ceiling: 0.09,
		Quotas: []chaos.Quota{{Name: "pool", Models: []string{"m-a", "m-b"}, AtOnce: 2}, {Name: "engine", Models: []string{"m-c", "m-d"}, Exclusive: true}},
		Logged: map[string]chaos.Evaluated{},
	}
	for _, w := range f.Works {
		f.Logged[w.UUID] = chaos.Evaluated{RunID: "run-" + w.UUID, Cell: w.Cell, Slot: w.Slot, Status: "FINISHED", State: "complete", Outcomes: true, CostUSD: 0.03}
	}
	return f
}

// add adds a process whose evaluation MLflow has as superseded, under a higher ceiling.
func add(f *chaos.Facts, w chaos.Work) {
	f.Works = append(f.Works, w)
	f.Ceiling += w.Paid
	f.Logged[w.UUID] = chaos.Evaluated{RunID: "run-" + w.UUID, Cell: w.Cell, Slot: w.Slot, Status: "KILLED", State: "superseded", Outcomes: true, CostUSD: w.Told}
}

// log changes what MLflow has of an evaluation.
func log(f *chaos.Facts, uuid string, change func(e *chaos.Evaluated)) {
	e := f.Logged[uuid]
	change(&e)
	f.Logged[uuid] = e
}

func TestViolations(t *testing.T) {
	assert.Empty(t, quiet().Violations())
	for name, c := range map[string]struct {
		change func(f *chaos.Facts)
		says   string // "" = it is allowed
	}{
		"three at once": {func(f *chaos.Facts) { add(f, work("u4", "b", "m-b", 2, 2, 3)) }, "quota pool lets 2 run at once, but 3 did"},
		"three at once, one of them killed before": {func(f *chaos.Facts) {
			f.Works[1].Over, f.Killed[f.Works[1].Process()] = time.Time{}, at(2)
			f.Works[1].Succeeded = false
			add(f, work("u4", "b", "m-b", 2, 3, 4))
		}, ""},
		"two models of one engine": {func(f *chaos.Facts) {
			add(f, work("u4", "a", "m-c", 1, 10, 12))
			add(f, work("u5", "b", "m-d", 1, 11, 13))
		}, "quota engine is exclusive, but m-c ran (a) when m-d started (b)"},
		"one after another": {func(f *chaos.Facts) {
			add(f, work("u4", "a", "m-c", 1, 10, 12))
			add(f, work("u5", "b", "m-d", 1, 12, 13))
		}, ""},
		"ended without a word":  {func(f *chaos.Facts) { f.Works[1].Over, f.Works[1].Succeeded = time.Time{}, false }, "did not say that it ended"},
		"started while at work": {func(f *chaos.Facts) { add(f, work("u4", "b", "m-a", 2, 7, 8)) }, "although it was at work at a (u3)"},
		"started while one was at work that failed later": {func(f *chaos.Facts) {
			f.Works[2].Succeeded = false
			add(f, work("u4", "b", "m-a", 2, 7, 8))
		}, "although it was at work at a (u3)"},
		"three at once, after the launcher of one was killed": {func(f *chaos.Facts) {
			f.Works[1].Over, f.Works[1].Succeeded = time.Time{}, false
			f.Lives["b"].Killed, f.Killed[f.Works[1].Process()] = at(2), at(4)
			add(f, work("u4", "a", "m-b", 2, 3, 4))
		}, ""},
		"three at once, one of them begun by a launcher that was killed": {func(f *chaos.Facts) {
			f.Works[1].Over, f.Works[1].Succeeded, f.Lives["b"].Killed = time.Time{}, false, at(0)
			add(f, work("u4", "a", "m-b", 2, 3, 4))
		}, ""},
		"three at once, past the lease of one": {func(f *chaos.Facts) {
			f.Works[0].Over, f.Lives["a"].Stops = at(20), []chaos.Span{{From: at(1), To: at(19)}}
			add(f, work("u4", "b", "m-b", 2, 8, 10))
			add(f, work("u5", "b", "m-b", 3, 8, 10))
		}, ""},
		"three at once, before the lease of one ended": {func(f *chaos.Facts) {
			f.Works[0].Over, f.Lives["a"].Stops = at(20), []chaos.Span{{From: at(1), To: at(19)}}
			add(f, work("u4", "b", "m-b", 2, 6, 10))
		}, "quota pool lets 2 run at once, but 3 did"},
		"started when measured": {func(f *chaos.Facts) { add(f, work("u4", "b", "m-a", 2, 10, 12)) }, "although it had been measured at a (u3)"},
		"measured again after a failure": {func(f *chaos.Facts) {
			f.Works[2].Succeeded = false
			add(f, work("u4", "b", "m-a", 2, 10, 12))
		}, ""},
		"measured again after a kill":  {func(f *chaos.Facts) { f.Lives["a"].Killed = at(9); add(f, work("u4", "b", "m-a", 2, 10, 12)) }, ""},
		"measured again before a kill": {func(f *chaos.Facts) { f.Lives["a"].Killed = at(11); add(f, work("u4", "b", "m-a", 2, 10, 12)) }, "had been measured"},
		"measured again after an error": {func(f *chaos.Facts) {
			f.Lives["a"].Failed = at(9)
			add(f, work("u4", "b", "m-a", 2, 10, 12))
		}, ""},
		"measured again before an error": {func(f *chaos.Facts) {
			f.Lives["a"].Failed = at(11)
			add(f, work("u4", "b", "m-a", 2, 10, 12))
		}, "had been measured"},
		"measured again during a stop without end": {func(f *chaos.Facts) {
			f.Lives["a"].Stops = []chaos.Span{{From: at(7)}}
			add(f, work("u4", "b", "m-a", 2, 16, 18))
		}, ""},
		"measured again after a long stop before it": {func(f *chaos.Facts) {
			f.Lives["a"].Stops = []chaos.Span{{From: at(-20), To: at(-5)}}
			add(f, work("u4", "b", "m-a", 2, 10, 12))
		}, "had been measured"},
		"measured again after a long stop": {func(f *chaos.Facts) {
			f.Lives["a"].Stops = []chaos.Span{{From: at(7), To: at(20)}}
			add(f, work("u4", "b", "m-a", 2, 16, 18))
		}, ""},
		"measured again during a stop, before the lease ended": {func(f *chaos.Facts) {
			f.Lives["a"].Stops = []chaos.Span{{From: at(7), To: at(20)}}
			add(f, work("u4", "b", "m-a", 2, 10, 12))
		}, "had been measured"},
		"measured again after a short stop": {func(f *chaos.Facts) {
			f.Lives["a"].Stops = []chaos.Span{{From: at(7), To: at(8)}}
			add(f, work("u4", "b", "m-a", 2, 16, 18))
		}, "had been measured"},
		"not in MLflow":    {func(f *chaos.Facts) { delete(f.Logged, "u2") }, "u2), and MLflow has no run of it"},
		"without its cost": {func(f *chaos.Facts) { log(f, "u2", func(e *chaos.Evaluated) { e.CostUSD = 0.02 }) }, "for $0.0300, and run run-u2 (FINISHED complete) tells of $0.0200"},
		"without a record": {func(f *chaos.Facts) { log(f, "u2", func(e *chaos.Evaluated) { e.Outcomes = false }) }, "run-u2"},
		"with the one that went on": {func(f *chaos.Facts) {
			log(f, "u2", func(e *chaos.Evaluated) { e.State, e.Outcomes, e.CostUSD = "interrupted", false, 0 })
			f.Logged["u4"] = chaos.Evaluated{RunID: "run-u4", Cell: "solo+m-b", Slot: 1, Status: "FINISHED", State: "complete", Outcomes: true, CostUSD: 0.03, Continues: []string{"run-u2"}}
		}, ""},
		"counted twice": {func(f *chaos.Facts) { log(f, "u3", func(e *chaos.Evaluated) { e.Slot = 1 }) }, "2 runs count for solo+m-a #1"},
		"counted twice, once in part": {func(f *chaos.Facts) {
			log(f, "u3", func(e *chaos.Evaluated) { e.Slot, e.State = 1, "partial" })
		}, "2 runs count for solo+m-a #1"},
		"tried again": {func(f *chaos.Facts) {
			f.Works[1].Succeeded = false
			add(f, work("u2", "b", "m-b", 1, 4, 6))
			log(f, "u2", func(e *chaos.Evaluated) { e.State, e.CostUSD = "complete", 0.06 })
		}, ""},
		"tried again, and without the cost of the first time": {func(f *chaos.Facts) {
			f.Works[1].Succeeded = false
			add(f, work("u2", "b", "m-b", 1, 4, 6))
		}, "for $0.0600, and run run-u2 (KILLED superseded) tells of $0.0300"},
		"running":                           {func(f *chaos.Facts) { log(f, "u3", func(e *chaos.Evaluated) { e.Status = "RUNNING" }) }, "run run-u3 of solo+m-a #2 is RUNNING"},
		"too dear":                          {func(f *chaos.Facts) { f.Ceiling = 0.05 }, "$0.0900 were paid under a ceiling of $0.0500, and only $0.0300 of it before prices were known"},
		"beyond the ceiling by a first one": {func(f *chaos.Facts) { f.Ceiling = 0.06 }, ""},
		"beyond the ceiling by what was cut short before the first": {func(f *chaos.Facts) {
			f.Works[0].Succeeded, f.Works[1].Succeeded, f.Ceiling = false, false, 0.001
		}, ""},
		"too dear by one that was cut short when a price was known": {func(f *chaos.Facts) {
			w := work("u4", "a", "m-a", 3, 10, 12)
			w.Succeeded, f.Works[0].Over = false, at(50)
			add(f, w)
			f.Ceiling = 0.08
		}, "$0.1200 were paid under a ceiling of $0.0800, and only $0.0300 of it"},
	} {
		t.Run(name, func(t *testing.T) {
			f := quiet()
			c.change(f)
			if c.says == "" {
				assert.Empty(t, f.Violations())
				return
			}
			require.NotEmpty(t, f.Violations())
			assert.Contains(t, f.Violations()[0], c.says)
		})
	}
}

// An evaluation whose end nobody knows is at work as far as anybody knows.
func TestAnEndThatNobodyKnows(t *testing.T) {
	f := quiet()
	f.Works[2].Over, f.Works[2].Succeeded = time.Time{}, false
	add(f, work("u4", "b", "m-a", 2, 20, 22))
	got := f.Violations()
	require.Len(t, got, 2)
	assert.Contains(t, got[0], "did not say that it ended")
	assert.Contains(t, got[1], "although it was at work at a (u3)")
}

func TestAgain(t *testing.T) {
	f := quiet()
	add(f, work("u4", "b", "m-a", 2, 10, 12))
	assert.Empty(t, f.Again(), "what is a violation is not told as allowed")
	f.Lives["a"].Killed = at(9)
	assert.Equal(t, map[string]int{"after a kill": 1}, f.Again())
}

func TestReadLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	works, err := chaos.ReadLog(name)
	require.NoError(t, err)
	assert.Empty(t, works)
	require.NoError(t, os.WriteFile(name, []byte(`{"word": "start", "uuid": "u", "pid": 7, "at": 2000000000, "agent": "solo", "model": "m-a", "slot": 2, "attempt": 1, "launcher": "a.1"}
{"word": "paid", "uuid": "u", "pid": 7, "at": 3, "usd": 0.5}
{"word": "told", "uuid": "u", "pid": 7, "at": 4, "usd": 0.25}
{"word": "start", "uuid": "v", "pid": 8, "at": 1000000000, "agent": "solo", "model": "m-b", "slot": 1, "attempt": 2, "launcher": "b.1"}
{"word": "end", "uuid": "u", "pid": 7, "at": 3000000000, "scored": true}
{"word": "en`), 0o600))
	works, err = chaos.ReadLog(name)
	require.NoError(t, err)
	assert.Equal(t, []chaos.Work{
		{UUID: "v", Cell: "solo+m-b", Model: "m-b", Slot: 1, Attempt: 2, PID: 8, Launcher: "b.1", Start: time.Unix(1, 0)},
		{UUID: "u", Cell: "solo+m-a", Model: "m-a", Slot: 2, Attempt: 1, PID: 7, Launcher: "a.1", Start: time.Unix(2, 0), Over: time.Unix(3, 0), Succeeded: true, Paid: 0.5, Told: 0.25},
	}, works)
	require.NoError(t, os.WriteFile(name, []byte("{\"word\": \"end\", \"uuid\": \"u\", \"pid\": 7}\n"), 0o600))
	_, err = chaos.ReadLog(name)
	assert.ErrorContains(t, err, name+":1: process 7 says \"end\" before it says start")
}

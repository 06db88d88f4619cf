package planner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

var day = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// cellOf is a cell whose identity follows from its name.
func cellOf(agent, model string) batch.Cell {
	sum := func(s string) batch.Digest { return batch.Sum([]byte(s)) }
	id := batch.NewIdentity(sum(agent), sum(model), batch.NoBrain, sum("execution"), sum("scoring"))
	return batch.Cell{Variant: batch.Variant{Agent: agent, Model: model}, Identity: id}
}

// repeat is a valid repeat that started so many minutes into the day.
func repeat(c batch.Cell, minute, slot int, parent string) ledger.Entry {
	return ledger.Entry{
		Info:     mlflow.RunInfo{RunID: fmt.Sprintf("run-%03d", minute), Status: mlflow.StatusFinished, StartTime: day.Add(time.Duration(minute) * time.Minute).UnixMilli()},
		Identity: c.Identity, UUID: fmt.Sprint("uuid-", minute), State: batch.StateComplete, Slot: slot, Batch: parent, Agent: c.Agent, Model: c.Model,
	}
}

func planOf(repeats int, cells ...batch.Cell) *Plan {
	return &Plan{Doc: batch.Plan{Repeats: repeats, Cells: cells, Created: day.Add(24 * time.Hour)}, resolved: &spec.Resolved{Spec: &spec.Spec{}}}
}

// seated are the run ids by slot, "" = missing.
func seated(p *Plan) []string {
	var out []string
	for _, s := range p.Slots {
		id := ""
		if s.Entry != nil {
			id = s.Entry.Info.RunID
		}
		out = append(out, id)
	}
	return out
}

func TestTheEarliestCount(t *testing.T) {
	c := cellOf("quick", "m-one")
	good, bad := 0.9, 0.1
	first, second, third := repeat(c, 1, 0, ""), repeat(c, 2, 0, ""), repeat(c, 3, 0, "")
	first.Score, second.Score, third.Score = &bad, &bad, &good
	p := planOf(2, c)
	p.fill([]ledger.Entry{first, second, third})
	assert.Equal(t, []string{"run-001", "run-002"}, seated(p), "never the best")
}

func TestOwnRepeatsFirst(t *testing.T) {
	c := cellOf("quick", "m-one")
	p := planOf(3, c)
	p.Joined = &ledger.Parent{Info: mlflow.RunInfo{RunID: "parent"}}
	p.Doc.Reused = []batch.Repeat{{RunID: "run-005"}}
	p.fill([]ledger.Entry{repeat(c, 1, 0, ""), repeat(c, 5, 0, "other"), repeat(c, 9, 3, "parent")})
	assert.Equal(t, []string{"run-005", "run-001", "run-009"}, seated(p), "its own, then what it chose at its start, then the earliest")
	assert.Equal(t, []bool{false, false, true}, []bool{p.Slots[0].Own, p.Slots[1].Own, p.Slots[2].Own})
	assert.Equal(t, batch.Counts{Planned: 3, Reused: 2, Done: 1}, p.Counts())
}

func TestGapsKeepTheirNumbers(t *testing.T) {
	c := cellOf("quick", "m-one")
	p := planOf(4, c)
	p.fill([]ledger.Entry{repeat(c, 1, 1, "old"), repeat(c, 2, 3, "old")})
	assert.Equal(t, []string{"run-001", "", "run-002", ""}, seated(p))
	var missing []int
	for _, s := range p.Missing() {
		missing = append(missing, s.Slot)
	}
	assert.Equal(t, []int{2, 4}, missing)
}

// Whatever the repeats say of their slots, each takes one, none is lost and none counts twice.
func TestSeatingIsAMatching(t *testing.T) {
	c := cellOf("quick", "m-one")
	rapid.Check(t, func(t *rapid.T) {
		repeats := rapid.IntRange(1, 6).Draw(t, "repeats")
		var entries []ledger.Entry
		for i := range rapid.IntRange(0, 9).Draw(t, "entries") {
			entries = append(entries, repeat(c, i, rapid.IntRange(-1, 8).Draw(t, "slot"), ""))
		}
		p := planOf(repeats, c)
		p.fill(entries)
		require.Len(t, p.Slots, repeats)
		got := slices.DeleteFunc(seated(p), func(id string) bool { return id == "" })
		slices.Sort(got)
		var want []string
		for _, e := range entries[:min(repeats, len(entries))] {
			want = append(want, e.Info.RunID)
		}
		require.ElementsMatch(t, want, got)
	})
}

func TestReuseLimits(t *testing.T) {
	c, other := cellOf("quick", "m-one"), cellOf("quick", "m-two")
	old, young := repeat(c, 0, 0, ""), repeat(c, 1400, 0, "") // the batch begins at minute 1440
	for name, want := range map[string]struct {
		reuse spec.Reuse
		fresh []string
		left  []string
	}{
		"unbounded":           {spec.Reuse{}, nil, []string{"run-000", "run-1400", "run-010"}},
		"max_age":             {spec.Reuse{MaxAge: time.Hour}, nil, []string{"run-1400"}},
		"not_before":          {spec.Reuse{NotBefore: "2026-11-30T00:05:00Z"}, nil, []string{"run-1400", "run-010"}},
		"the later of both":   {spec.Reuse{MaxAge: time.Hour, NotBefore: "2026-11-01"}, nil, []string{"run-1400"}},
		"fresh":               {spec.Reuse{}, []string{"quick+m-one"}, []string{"run-010"}},
		"the edge is counted": {spec.Reuse{MaxAge: 40 * time.Minute}, nil, []string{"run-1400"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(2, c, other)
			p.resolved.Spec.Reuse = want.reuse
			p.Doc.Fresh = want.fresh
			p.Valid = []ledger.Entry{old, young, repeat(other, 10, 0, "")}
			var left []string
			for _, e := range p.usable() {
				left = append(left, e.Info.RunID)
			}
			assert.Equal(t, want.left, left)
			assert.Len(t, p.Ignored, 3-len(want.left), "every other is named with its reason")
		})
	}
	// What a batch has measured itself counts, however long it takes.
	p := planOf(2, c)
	p.resolved.Spec.Reuse.MaxAge = time.Minute
	p.Joined = &ledger.Parent{Info: mlflow.RunInfo{RunID: "parent"}}
	p.Doc.Fresh = []string{"quick+m-one"}
	p.Valid = []ledger.Entry{repeat(c, 0, 1, "parent")}
	assert.Len(t, p.usable(), 1)
	// Once it is frozen, what --fresh left out is history: no later plan names it.
	p.Joined, p.Finished = nil, p.Joined
	p.Valid = append(p.Valid, old)
	assert.Len(t, p.usable(), 1)
	assert.Empty(t, p.Ignored)
}

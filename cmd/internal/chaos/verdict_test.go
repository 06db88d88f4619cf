//go:build linux

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/claim"
	"github.com/benchbatch/benchbatch/planner/ledger"
)

// answer is what run --json says.
type answer struct {
	Batch  string       `json:"batch"`
	Counts batch.Counts `json:"counts"`
	Frozen bool         `json:"frozen"`
	Folder string       `json:"folder"`
}

// finish runs all launchers once more while nothing goes wrong: each logs what it has
// kept, and the batch is measured to its end. What one of them has logged last may
// be news to the others, so it may take another time.
func (b *trial) finish() (out []answer, wrong []string) {
	for range 3 {
		said := make([]said, len(b.all))
		var all sync.WaitGroup
		for i, l := range b.all {
			all.Go(func() { said[i] = l.run() })
		}
		all.Wait()
		out, wrong = nil, nil
		for i, s := range said {
			var a answer
			if !s.final() || json.Unmarshal([]byte(s.out), &a) != nil {
				wrong = append(wrong, fmt.Sprintf("%s ends with %d when nothing goes wrong: %s%s", b.all[i].name, s.code, s.out, s.stderr))
			}
			out = append(out, a)
		}
		if len(wrong) == 0 && !slices.ContainsFunc(out, func(a answer) bool { return a.Counts != out[0].Counts }) {
			break
		}
	}
	return out, wrong
}

// judge says what was wrong with the batch when it is over.
func (b *trial) judge(ctx context.Context) []string {
	out, wrong := b.finish()
	wrong = append(wrong, b.agree(out)...)
	facts, more := b.look(ctx, out)
	wrong = append(wrong, more...)
	if b.ceiling == tight { // the rest, under a higher one
		b.ceiling = 100
		for _, l := range b.all {
			b.edit(l, fmt.Sprint("ceiling_usd: ", tight), fmt.Sprint("ceiling_usd: ", b.ceiling))
		}
		out, more = b.finish()
		wrong = append(append(wrong, more...), b.agree(out)...)
		facts, more = b.look(ctx, out)
		wrong = append(wrong, more...)
	}
	for why, n := range facts.Again() {
		for range n {
			b.world.again.Add(why)
		}
	}
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	b.world.works += len(facts.Works)
	for _, w := range facts.Works {
		b.world.paid += w.Paid
	}
	return wrong
}

// look says what was wrong until now.
func (b *trial) look(ctx context.Context, out []answer) (*chaos.Facts, []string) {
	runs, err := b.runs(ctx)
	if err != nil {
		return &chaos.Facts{}, []string{err.Error()}
	}
	facts := b.facts(runs)
	wrong := append(facts.Violations(), b.claims(ctx, runs)...)
	return facts, append(wrong, b.leftovers(len(out) > 0 && out[0].Frozen)...)
}

// agree checks that all launchers tell the same of the batch, that its counts add up,
// that it is frozen unless it has run out of money, and that its folder verifies,
// exported by the launcher and anew.
func (b *trial) agree(out []answer) (wrong []string) {
	for _, a := range out {
		c := a.Counts
		if c.Planned != 8 || c.Planned != c.Reused+c.Done+c.Failed+c.Skipped+c.NotStarted {
			wrong = append(wrong, fmt.Sprintf("counts do not add up: %+v", c))
		}
		if a.Batch != out[0].Batch || a.Counts != out[0].Counts {
			wrong = append(wrong, fmt.Sprintf("launchers disagree: %+v and %+v", out[0], a))
		}
		switch {
		case a.Frozen:
			wrong = append(wrong, b.ok("verify", a.Folder)...)
		case b.ceiling != tight:
			wrong = append(wrong, fmt.Sprintf("the ceiling pays for all, and the batch is not frozen: %+v", a))
		}
	}
	if len(out) > 0 && out[0].Frozen {
		anew := filepath.Join(b.dir, "anew")
		wrong = append(wrong, b.ok("export", out[0].Batch, "--out", anew)...)
		wrong = append(wrong, b.ok("verify", filepath.Join(anew, filepath.Base(out[0].Folder)))...)
	}
	return wrong
}

// ok runs a command that must exit with 0.
func (b *trial) ok(args ...string) []string {
	if text, err := b.tool("ok", args...).CombinedOutput(); err != nil {
		return []string{fmt.Sprintf("%v: %v: %s", args, err, text)}
	}
	return nil
}

func (b *trial) facts(runs []mlflow.Run) *chaos.Facts {
	f := &chaos.Facts{
		Works: b.works(), Killed: b.killed, Lives: b.lives, Lease: lease, Ceiling: b.ceiling, Logged: map[string]chaos.Evaluated{},
		Quotas: []chaos.Quota{{Name: "pool", Models: []string{"m-a", "m-b"}, AtOnce: 2}, {Name: "engine", Models: []string{"m-c", "m-d"}, AtOnce: 3, Exclusive: true}},
	}
	for _, r := range runs {
		if r.Tag(ledger.TagKind) != ledger.KindEvaluation {
			continue
		}
		slot, _ := strconv.Atoi(r.Tag(ledger.TagSlot))
		cost, _ := r.Metric("cost_usd")
		f.Logged[r.Tag(ledger.TagEvaluation)] = chaos.Evaluated{
			RunID: r.Info.RunID, Cell: r.Tag(ledger.TagAgent) + "+" + r.Tag(ledger.TagModel), Slot: slot, Status: string(r.Info.Status),
			State: r.Tag(ledger.TagState), Outcomes: r.Tag(ledger.TagOutcomes) != "", CostUSD: cost, Continues: strings.Fields(r.Tag(ledger.TagContinues)),
		}
	}
	return f
}

func (b *trial) runs(ctx context.Context) ([]mlflow.Run, error) {
	c := mlflowtest.Client(b.t, b.proxy.URL)
	e, err := c.GetExperimentByName(ctx, b.name)
	if err != nil {
		return nil, err
	}
	return c.SearchRuns(ctx, mlflow.Search{ExperimentIDs: []string{e.ID}})
}

// claims checks that nobody holds a repeat when all have ended, and gc has freed what
// the dead had left.
func (b *trial) claims(ctx context.Context, runs []mlflow.Run) (wrong []string) {
	wrong = b.ok("gc", "--yes", "--experiment", b.name)
	recipes := map[batch.Digest]bool{}
	for _, r := range runs {
		var id batch.Identity
		if text := r.Tag(ledger.TagIdentity); text == "" || json.Unmarshal([]byte(text), &id) != nil || recipes[id.Recipe] {
			continue
		}
		recipes[id.Recipe] = true
		all, err := claim.Look(ctx, mlflowtest.Client(b.t, b.proxy.URL), r.Info.ExperimentID, id.Recipe)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, s := range all {
			if s.Held() {
				wrong = append(wrong, fmt.Sprintf("repeat %d of cell %s is held by %s, and nobody is at work", s.Slot, s.Cell, s.Holder.Launcher))
			}
		}
	}
	if len(recipes) == 0 {
		wrong = append(wrong, "no run tells of which recipe it is")
	}
	return wrong
}

// leftovers are processes of the runner that nobody waits for any more, and private
// folders that nobody needs: while repeats are missing, a launcher keeps what it is to go
// on with.
func (b *trial) leftovers(frozen bool) (wrong []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		if env, _ := os.ReadFile(name); strings.Contains(string(env), "CHAOS_LOG="+b.log+"\x00") && strings.Contains(string(env), "BENCHBATCH_OUT=") {
			wrong = append(wrong, "process "+filepath.Base(filepath.Dir(name))+" of the runner has outlived its launchers")
		}
	}
	folders, _ := filepath.Glob(filepath.Join(b.dir, "tmp", "benchbatch-*"))
	for _, name := range folders {
		kept, _ := filepath.Glob(filepath.Join(b.dir, "*", "bench", ".benchbatch", "evaluations", filepath.Base(name)[len("benchbatch-"):][:36]))
		if !frozen && len(kept) > 0 {
			continue
		}
		wrong = append(wrong, "private folder "+name+" was left")
	}
	return wrong
}

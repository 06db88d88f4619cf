// Package exporttest makes synthetic frozen batches for tests and benchmarks.
// Everything in them is invented, and the same Shape always gives the same bytes.
//
// Order of use: fill a Shape, call New, change what the test is about, call
// Freeze, and give Batch to export.Write.
package exporttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// Shape says how large a synthetic batch is and what it holds.
type Shape struct {
	Agents, Models int
	Tasks          int
	Repeats        int
	Judges         int  // votes on every scored outcome
	Attempts       bool // attempts.jsonl and a bundle beside outcomes.jsonl
	Bare           bool // outcomes hold task and score alone: no cost, tokens, times or errors
	Seed           uint64
	// Dir holds the artifacts as <run>/<name>, for batches that are too large for
	// memory; "" keeps them in Synthetic.Files.
	Dir string
}

// Synthetic is a batch that can still be changed.
type Synthetic struct {
	Shape  Shape
	Plan   batch.Plan
	Result batch.Result
	Tasks  []batch.Task
	// Files are the artifacts by run id and name.
	Files map[string]map[string][]byte
	// Said is what people said; nil = nobody was asked, or said anything.
	Said []batch.Assessment
	rnd  *rand.Rand
	disk map[string][]batch.Artifact // of Shape.Dir, by run id
}

// Start is when every synthetic batch began.
var Start = time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)

// New makes a batch in which every slot is done.
func New(shape Shape) *Synthetic {
	s := &Synthetic{Shape: shape, Files: map[string]map[string][]byte{}, disk: map[string][]batch.Artifact{}, rnd: rand.New(rand.NewPCG(shape.Seed, 7))}
	s.plan()
	s.tasks()
	s.Result = batch.Result{Schema: batch.ResultSchema, Tool: "v0-test", Batch: RunID("parent"), Name: "support-bench-v1_2026-11-30_7f3a9c",
		Experiment: "support-bench", Started: Start, Frozen: Start.Add(3 * time.Hour), Key: batch.Sum([]byte("key"))}
	for i := range s.Plan.Cells {
		for slot := 1; slot <= shape.Repeats; slot++ {
			s.AddEvaluation(i, slot)
		}
	}
	return s
}

// RunID is an invented MLflow run id.
func RunID(of string) string { return string(batch.Sum([]byte("run " + of)))[:32] }

func (s *Synthetic) plan() {
	price := func(v float64) *float64 { return &v }
	s.Plan = batch.Plan{Schema: batch.PlanSchema, Tool: "v0-test", Benchmark: "support-bench", Version: "v1",
		Question: "Which variant should answer first-line tickets?", Created: Start, Key: batch.Sum([]byte("key")), Seed: 42, Repeats: s.Shape.Repeats,
		Decision: json.RawMessage(`{"metric":"score"}`), DecisionDigest: batch.Sum([]byte(`{"metric":"score"}`)), Valid: batch.Validity{MaxMissing: 0.05},
		PassThreshold: 0.8, TimeoutPolicy: "fail", Prices: batch.Prices{}}
	for a := range s.Shape.Agents {
		for m := range s.Shape.Models {
			v := batch.Variant{Agent: fmt.Sprintf("agent-%d", a+1), Model: fmt.Sprintf("model-%d", m+1)}
			id := batch.NewIdentity(batch.Sum([]byte(v.Agent)), batch.Sum([]byte(v.Model)), batch.NoBrain, batch.Sum([]byte("execution")), batch.Sum([]byte("scoring")))
			s.Plan.Cells = append(s.Plan.Cells, batch.Cell{Variant: v, AgentVersion: "1.0", Route: "lab/" + v.Model, Identity: id})
			s.Plan.Prices[v.Model] = batch.Price{Input: price(0.5), CacheRead: price(0.05), Output: price(2)}
		}
	}
}

func (s *Synthetic) tasks() {
	families := map[string]bool{}
	for i := range s.Shape.Tasks {
		t := batch.Task{ID: fmt.Sprintf("T-%04d", i+1), Input: json.RawMessage(fmt.Sprintf(`{"ticket":"invented question %d"}`, i+1)), Anchor: i%10 == 0}
		if i%3 != 2 {
			t.Family = fmt.Sprintf("family-%d", i/3)
			families[t.Family] = true
		}
		if i%2 == 0 {
			t.Expected = json.RawMessage(`"invented answer"`)
		}
		s.Tasks = append(s.Tasks, t)
		if t.Anchor {
			s.Plan.Panel.Anchors++
		}
	}
	s.Plan.Panel.Tasks, s.Plan.Panel.Families = len(s.Tasks), len(families)
}

// AddEvaluation adds a complete evaluation of a cell and the slot that it fills.
func (s *Synthetic) AddEvaluation(cell, slot int) *batch.Evaluation {
	c := s.Plan.Cells[cell]
	n := len(s.Result.Evaluations)
	run := RunID(fmt.Sprintf("%s %d %d", c.Variant, slot, n))
	started := Start.Add(time.Duration(n) * time.Minute)
	ended := started.Add(95 * time.Second)
	s.Result.Evaluations = append(s.Result.Evaluations, batch.Evaluation{Variant: c.Variant, RunID: run,
		Evaluation: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), Cell: c.Identity.Cell, Slot: slot, State: batch.StateComplete, Counted: true,
		Batch: s.Result.Batch, RunName: fmt.Sprintf("%s #%d", c.Variant, slot), Started: started, Ended: &ended, ArtifactURI: "mlflow-artifacts:/1/" + run})
	s.Result.Slots = append(s.Result.Slots, batch.Slot{Variant: c.Variant, Cell: c.Identity.Cell, Slot: slot, State: batch.SlotDone, RunID: run})
	s.keep(run, s.artifacts(cell))
	return &s.Result.Evaluations[n]
}

func (s *Synthetic) keep(run string, files map[string][]byte) {
	if s.Shape.Dir == "" {
		s.Files[run] = files
		return
	}
	must(os.MkdirAll(filepath.Join(s.Shape.Dir, run), 0o777))
	for name, data := range files {
		must(os.WriteFile(filepath.Join(s.Shape.Dir, run, name), data, 0o666))
	}
	s.disk[run] = describe(files)
}

func describe(files map[string][]byte) []batch.Artifact {
	list := []batch.Artifact{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, batch.Artifact{Path: name, Digest: batch.Sum(files[name]), Size: int64(len(files[name]))})
	}
	return list
}

// AddSlot adds a planned repeat that was not measured.
func (s *Synthetic) AddSlot(cell, slot int, state batch.SlotState, reason string) {
	c := s.Plan.Cells[cell]
	s.Result.Slots = append(s.Result.Slots, batch.Slot{Variant: c.Variant, Cell: c.Identity.Cell, Slot: slot, State: state, Reason: reason})
}

// SetOutcomes replaces an evaluation's record.
func (s *Synthetic) SetOutcomes(run string, outcomes []outcome.Outcome) {
	var b bytes.Buffer
	for _, o := range outcomes {
		must(outcome.Append(&b, o))
	}
	s.Files[run][batch.FileOutcomes] = b.Bytes()
}

func (s *Synthetic) artifacts(cell int) map[string][]byte {
	var record, tries bytes.Buffer
	for _, t := range s.Tasks {
		o := s.Outcome(t.ID, cell)
		must(outcome.Append(&record, o))
		if !s.Shape.Attempts {
			continue
		}
		if s.rnd.IntN(50) == 0 {
			failed := outcome.Failed(t.ID, outcome.Provider, "429 too many requests")
			failed.Attempt = 1
			o.Attempt = 2
			must(outcome.Append(&tries, outcome.Attempt{Outcome: failed}))
		}
		must(outcome.Append(&tries, outcome.Attempt{Accepted: true, Outcome: o}))
	}
	files := map[string][]byte{batch.FileOutcomes: record.Bytes()}
	if s.Shape.Attempts {
		files[batch.FileAttempts] = tries.Bytes()
		files[batch.FileBundle] = []byte(fmt.Sprintf("invented bundle of cell %d, %d", cell, s.rnd.Uint64()))
	}
	return files
}

// Outcome invents the result of one task.
func (s *Synthetic) Outcome(task string, cell int) outcome.Outcome {
	score := float64(s.rnd.IntN(101)) / 100
	o := outcome.Outcome{Task: task, State: outcome.Scored, Score: &score}
	if s.Shape.Bare {
		return o
	}
	c := s.Plan.Cells[cell]
	o.Attempt = 1
	if s.rnd.IntN(20) == 0 {
		class := []outcome.State{outcome.Agent, outcome.Provider, outcome.Timeout, outcome.Judge}[s.rnd.IntN(4)]
		o.State, o.Error, o.Score = class, &outcome.Failure{Class: class, Message: "invented failure"}, nil
		if class == outcome.Agent || class == outcome.Timeout {
			zero := 0.0
			o.Score = &zero
		}
	}
	in, read, out := int64(s.rnd.IntN(5000)), int64(s.rnd.IntN(900)), int64(s.rnd.IntN(1200))
	o.Tokens = &outcome.Tokens{Input: &in, CacheRead: &read, Output: &out}
	cost, took, wait := float64(s.rnd.IntN(40000))/1e6, float64(s.rnd.IntN(600))/10, float64(s.rnd.IntN(30))/10
	calls, bad := int64(s.rnd.IntN(20)), int64(s.rnd.IntN(2))
	o.CostUSD, o.DurationS, o.WaitS, o.ToolCalls, o.ToolErrors = &cost, &took, &wait, &calls, &bad
	o.Served = &outcome.Served{Model: c.Model + "-0811", Provider: "lab"}
	o.Output, o.Transcript = "answers/"+task+".md", "logs/"+task+".jsonl"
	if o.State == outcome.Scored {
		for j := range s.Shape.Judges {
			vote := float64(s.rnd.IntN(11)) / 10
			o.Judges = append(o.Judges, outcome.Vote{Name: fmt.Sprintf("judge-%d", j+1), Score: &vote, Kind: "model", Model: "judge-model",
				Samples: []float64{vote, vote}, CostUSD: &wait, Rationale: "invented reason"})
		}
	}
	return o
}

// Freeze computes counts and digests, and gives the batch as export reads it.
func (s *Synthetic) Freeze() export.Batch {
	b := export.Batch{SpecYAML: []byte("benchmark: support-bench\n"), Fetch: s.Fetch}
	for _, t := range s.Tasks {
		line, err := json.Marshal(t)
		must(err)
		b.PanelJSONL = append(append(b.PanelJSONL, line...), '\n')
	}
	s.Plan.Panel.Digest, s.Plan.SpecDigest = batch.Sum(b.PanelJSONL), batch.Sum(b.SpecYAML)
	b.PlanJSON = encode(s.Plan)
	if s.Said != nil {
		var err error
		s.Result.Feedback, b.FeedbackJSONL, err = batch.NewFeedback(s.Result.Frozen, 4*len(s.Said), slices.Clone(s.Said))
		must(err)
	}
	s.Result.Plan, s.Result.Spec, s.Result.Panel = batch.Sum(b.PlanJSON), batch.Sum(b.SpecYAML), batch.Sum(b.PanelJSONL)
	s.count()
	for i := range s.Result.Evaluations {
		e := &s.Result.Evaluations[i]
		if s.Shape.Dir != "" {
			e.Artifacts = s.disk[e.RunID]
		} else {
			e.Artifacts = describe(s.Files[e.RunID])
		}
	}
	b.ResultJSON = encode(s.Result)
	return b
}

func (s *Synthetic) count() {
	var n batch.Counts
	for _, slot := range s.Result.Slots {
		n.Count(slot.State)
	}
	s.Result.Counts = n
}

// Fetch gives an artifact from memory or from Shape.Dir.
func (s *Synthetic) Fetch(_ context.Context, ev batch.Evaluation, a batch.Artifact) (io.ReadCloser, error) {
	if s.Shape.Dir != "" {
		return os.Open(filepath.Join(s.Shape.Dir, ev.RunID, a.Path))
	}
	data, ok := s.Files[ev.RunID][a.Path]
	if !ok {
		return nil, fmt.Errorf("404: no artifact %s", a.Path)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func encode(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	must(err)
	return append(b, '\n')
}

// must is for what can't fail with invented data.
func must(err error) {
	if err != nil {
		panic("exporttest: " + err.Error())
	}
}

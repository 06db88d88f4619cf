package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Batch is a frozen batch: its documents as stored, and the way to its raw evidence.
type Batch struct {
	PlanJSON   []byte
	ResultJSON []byte
	SpecYAML   []byte
	PanelJSONL []byte
	// FeedbackJSONL is what people said, as Result.Feedback or Options.Feedback counts it.
	FeedbackJSONL []byte
	// Fetch opens one artifact of one evaluation. It is called by several
	// goroutines at once; the reader is closed by the caller. An error that is not an
	// *Unavailable says that there is no such artifact.
	Fetch func(ctx context.Context, ev batch.Evaluation, a batch.Artifact) (io.ReadCloser, error)
}

// What a folder may leave out.
const (
	WithholdRaw    = "raw"    // raw/, and the free text of answers in the tables
	WithholdInputs = "inputs" // what the tasks ask and expect, and the bundles, which quote it
)

// Options of Write.
type Options struct {
	Out         string      // parent folder, made if absent; "" = the current one
	Workers     int         // evaluations read at once; 0 = 4
	Withhold    []string    // WithholdRaw, WithholdInputs
	Provisional bool        // the batch was not frozen: evidence may be missing
	Supersedes  *Superseded // the folder that this one replaces; nil = none
	Tool        string      // version of benchbatch that writes
	// Feedback was read again after the freeze, and takes the place of the frozen one; nil = it was not.
	Feedback *batch.Feedback
	Outputs  []Output // what to make besides the evidence
	// Progress is told how many evaluations are read; calls do not overlap. nil = not wanted.
	Progress func(done, total int)
	// Summarized is given what the outputs were made from, once. nil = not wanted.
	Summarized func(*Frozen, *Summary)
}

// Frozen is a batch as its documents tell it, checked and decoded. Outputs are
// made from it and from the Evidence of its evaluations, and from nothing else.
type Frozen struct {
	Plan        batch.Plan
	Result      batch.Result
	Tasks       []Task // panel order
	Withheld    []string
	Provisional bool
	Supersedes  *Superseded
	Feedback    *Feedback // nil = nobody was asked: the evaluations have no traces
	Tool        string    // version of benchbatch that writes the folder
	// ResultDigest is that of result.json: the tag benchbatch.result of the parent run.
	ResultDigest batch.Digest
	// PostHoc says that another decision rule is used than the frozen one; nil = the
	// frozen one is.
	PostHoc *PostHoc

	secrets  []SecretHit // in the documents
	position map[string]int
	cells    map[batch.Digest]int
}

// Task is a task of the panel with the digests of what may be withheld.
type Task struct {
	batch.Task
	InputDigest    batch.Digest
	ExpectedDigest batch.Digest // "" = no expected answer
	Withdrawn      *batch.Withdrawal
}

// Withholds says whether part is left out of the folder.
func (f *Frozen) Withholds(part string) bool { return slices.Contains(f.Withheld, part) }

// Position is the place of a task in the panel, counted from 0; -1 = not in it.
func (f *Frozen) Position(task string) int {
	if i, ok := f.position[task]; ok {
		return i
	}
	return -1
}

// place is Position of a task that probably stands at guess.
func (f *Frozen) place(task string, guess int) int {
	if guess < len(f.Tasks) && f.Tasks[guess].ID == task {
		return guess
	}
	return f.Position(task)
}

// Cell is the cell with this digest; nil = not in the plan.
func (f *Frozen) Cell(d batch.Digest) *batch.Cell {
	if i, ok := f.cells[d]; ok {
		return &f.Plan.Cells[i]
	}
	return nil
}

var (
	safeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}$`)
	safeRun  = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)
	safePath = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
)

// newFrozen decodes the documents and checks that they belong together.
func newFrozen(b Batch, o Options) (*Frozen, error) {
	return decodeFrozen(b, o, false)
}

// decodeFrozen is newFrozen; bare says that the panel is the one without inputs.
func decodeFrozen(b Batch, o Options, bare bool) (*Frozen, error) {
	f := &Frozen{Provisional: o.Provisional, Supersedes: o.Supersedes, Tool: o.Tool, ResultDigest: batch.Sum(b.ResultJSON)}
	for _, w := range o.Withhold {
		if w != WithholdRaw && w != WithholdInputs {
			return nil, fmt.Errorf("withhold %q: raw or inputs is expected", w)
		}
	}
	f.Withheld = slices.Compact(slices.Sorted(slices.Values(o.Withhold)))
	if err := decode(batch.FilePlan, b.PlanJSON, batch.PlanSchema, &f.Plan, func() int { return f.Plan.Schema }); err != nil {
		return nil, err
	}
	if err := decode(batch.FileResult, b.ResultJSON, batch.ResultSchema, &f.Result, func() int { return f.Result.Schema }); err != nil {
		return nil, err
	}
	if err := f.checkChain(b, bare); err != nil {
		return nil, err
	}
	if err := f.checkResult(); err != nil {
		return nil, &InputError{batch.FileResult, err}
	}
	tasks, err := readPanel(b.PanelJSONL)
	if err != nil {
		return nil, &InputError{batch.FilePanel, err}
	}
	if b.PanelJSONL != nil && len(tasks) != f.Plan.Panel.Tasks {
		return nil, &InputError{batch.FilePanel, fmt.Errorf("%d tasks, plan.json has %d", len(tasks), f.Plan.Panel.Tasks)}
	}
	if err := f.setFeedback(b.FeedbackJSONL, o.Feedback, bare && b.FeedbackJSONL == nil); err != nil {
		return nil, err
	}
	f.secrets = scanDocuments(f, b)
	return f, f.setTasks(tasks)
}

func decode(name string, data []byte, known int, v any, schema func() int) error {
	if err := json.Unmarshal(data, v); err != nil {
		return &InputError{name, err}
	}
	if schema() != known {
		return &SchemaError{File: name, Found: schema(), Known: known}
	}
	return nil
}

// checkChain compares the documents with the digests that the result froze.
func (f *Frozen) checkChain(b Batch, bare bool) error {
	var bad []Finding
	for _, d := range []struct {
		name string
		data []byte
		want batch.Digest
	}{{batch.FilePlan, b.PlanJSON, f.Result.Plan}, {batch.FileSpec, b.SpecYAML, f.Result.Spec}, {batch.FilePanel, b.PanelJSONL, f.Result.Panel}} {
		if got := batch.Sum(d.data); got != d.want && !(bare && d.name == batch.FilePanel) {
			bad = append(bad, Finding{File: d.name, Reason: fmt.Sprintf("SHA-256 is %s, result.json froze %s", got, d.want)})
		}
	}
	if len(bad) > 0 {
		return &IntegrityError{f.Result.Name, bad}
	}
	return nil
}

// checkResult refuses names that could leave the folder or meet each other in
// it, counts that do not add up and slots that name no evaluation.
func (f *Frozen) checkResult() error {
	r := &f.Result
	if !safeName.MatchString(r.Name) {
		return fmt.Errorf("name %q: a folder name of A-Z a-z 0-9 . _ + - is expected", r.Name)
	}
	f.cells = map[batch.Digest]int{}
	for i, c := range f.Plan.Cells {
		f.cells[c.Identity.Cell] = i
	}
	runs := map[string]string{}
	for _, e := range r.Evaluations {
		if err := checkEvaluation(e); err != nil {
			return err
		}
		if other, ok := runs[strings.ToLower(e.RunID)]; ok {
			return fmt.Errorf("evaluations %q and %q: run ids must differ by more than case", other, e.RunID)
		}
		if _, ok := f.cells[e.Cell]; !ok {
			return fmt.Errorf("evaluation %s: cell %q is not in plan.json", e.RunID, e.Cell)
		}
		runs[strings.ToLower(e.RunID)] = e.RunID
	}
	return f.checkSlots()
}

func checkEvaluation(e batch.Evaluation) error {
	if !safeRun.MatchString(e.RunID) {
		return fmt.Errorf("evaluations: run_id %q: A-Z a-z 0-9 . _ - are expected", e.RunID)
	}
	var names []string
	for _, a := range e.Artifacts {
		if !safePath.MatchString(a.Path) {
			return fmt.Errorf("evaluation %s: artifact path %q is refused: names of A-Z a-z 0-9 . _ - are expected, none starting with a dot", e.RunID, a.Path)
		}
		if !a.Digest.Valid() || a.Size < 0 {
			return fmt.Errorf("evaluation %s: artifact %s: sha256 %q and size %d are not usable", e.RunID, a.Path, a.Digest, a.Size)
		}
		if slices.Contains(names, strings.ToLower(a.Path)) {
			return fmt.Errorf("evaluation %s: artifact path %q stands twice (case aside)", e.RunID, a.Path)
		}
		names = append(names, strings.ToLower(a.Path))
	}
	return nil
}

func (f *Frozen) checkSlots() error {
	r := &f.Result
	counted := map[string]int{}
	for _, e := range r.Evaluations {
		if e.Counted {
			counted[e.RunID]++
		}
	}
	var n batch.Counts
	for _, s := range r.Slots {
		if _, ok := f.cells[s.Cell]; !ok {
			return fmt.Errorf("slot %d of %s: cell %q is not in plan.json", s.Slot, s.Variant, s.Cell)
		}
		if !s.State.Known() {
			return fmt.Errorf("slot %d of %s: state %q is not known", s.Slot, s.Variant, s.State)
		}
		n.Count(s.State)
		if s.State == batch.SlotReused || s.State == batch.SlotDone {
			if counted[s.RunID] == 0 {
				return fmt.Errorf("slot %d of %s: run %q is not a counted evaluation, or counts twice", s.Slot, s.Variant, s.RunID)
			}
			delete(counted, s.RunID)
		}
	}
	for _, e := range r.Evaluations {
		if counted[e.RunID] > 0 {
			return fmt.Errorf("evaluation %s is counted, but fills no slot", e.RunID)
		}
	}
	if n != r.Counts || !r.Counts.AddUp() {
		return fmt.Errorf("counts %+v are not those of the slots (%+v)", r.Counts, n)
	}
	return nil
}

func (f *Frozen) setTasks(tasks []Task) error {
	f.position = make(map[string]int, len(tasks))
	f.Tasks = tasks
	for i, t := range tasks {
		if _, ok := f.position[t.ID]; ok {
			return &InputError{batch.FilePanel, fmt.Errorf("line %d: task %q stands twice", i+1, t.ID)}
		}
		f.position[t.ID] = i
	}
	for i, w := range f.Plan.Withdraw {
		if p := f.Position(w.Task); p >= 0 {
			f.Tasks[p].Withdrawn = &f.Plan.Withdraw[i]
		}
	}
	return nil
}

// panelLine is a line of panel.jsonl, or of what stands for it where inputs are withheld.
type panelLine struct {
	batch.Task
	InputDigest    batch.Digest `json:"input_sha256,omitempty"`
	ExpectedDigest batch.Digest `json:"expected_sha256,omitempty"`
}

func readPanel(data []byte) ([]Task, error) {
	var tasks []Task
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var p panelLine
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if !batch.IDPattern.MatchString(p.ID) {
			return nil, fmt.Errorf("line %d: task id %q: 1 to 64 of A-Z a-z 0-9 . _ - are expected", n+1, p.ID)
		}
		t := Task{Task: p.Task, InputDigest: p.InputDigest, ExpectedDigest: p.ExpectedDigest}
		if p.Input != nil {
			t.InputDigest = batch.Sum(p.Input)
		}
		if p.Expected != nil {
			t.ExpectedDigest = batch.Sum(p.Expected)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// withheldPanel is the panel without what the tasks ask and expect: their digests stand there instead.
func withheldPanel(tasks []Task) ([]byte, error) {
	var b bytes.Buffer
	for _, t := range tasks {
		line, err := json.Marshal(struct {
			ID             string       `json:"id"`
			Family         string       `json:"family,omitempty"`
			Anchor         bool         `json:"anchor,omitempty"`
			InputDigest    batch.Digest `json:"input_sha256"`
			ExpectedDigest batch.Digest `json:"expected_sha256,omitempty"`
		}{t.ID, t.Family, t.Anchor, t.InputDigest, t.ExpectedDigest})
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

package evaluation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// FileJournal is there from before the first launch until the evaluation is
// saved: whatever was paid for in between is written down at once, redacted.
const FileJournal = "measuring.jsonl"

// record is one line of the journal; one member is set (Lost beside Row).
type record struct {
	Head   *head            `json:"head,omitzero"`
	Launch string           `json:"launch,omitzero"` // stage that is about to start
	Stage  *stage           `json:"stage,omitzero"`  // that has ended
	Answer *journalAnswer   `json:"answer,omitzero"`
	Again  *outcome.Attempt `json:"again,omitzero"` // a judge's failure that is followed by another try
	Row    *outcome.Attempt `json:"row,omitzero"`   // of attempts.jsonl
	Lost   bool             `json:"lost,omitzero"`  // the row is of an answer whose evidence is gone with a launcher
	End    *ending          `json:"end,omitzero"`
}

// head is what Resave needs to know about a request.
type head struct {
	UUID     string         `json:"uuid"`
	From     int            `json:"from_attempt,omitzero"` // of an evaluation that goes on with others: its first attempt
	Cell     batch.Cell     `json:"cell"`
	Slot     int            `json:"slot"`
	Started  time.Time      `json:"started"`
	Bench    string         `json:"benchmark"`
	Tasks    []batch.Task   `json:"tasks"` // inputs as the table shows them, no expected answers
	Judges   []string       `json:"judges"`
	Valid    batch.Validity `json:"valid"`
	PassAt   float64        `json:"pass_threshold"`
	Pass     string         `json:"pass"`
	Policy   string         `json:"timeout_policy"`
	IsScored bool           `json:"scored"` // by a judge or check
}

// journalAnswer is what a runner said about a task. Without a state it was read
// while the runner still wrote.
type journalAnswer struct {
	Open    bool            `json:"open"`          // not scored yet
	Live    bool            `json:"live,omitzero"` // read while the runner wrote: without evidence
	Outcome outcome.Outcome `json:"outcome"`
}

// ending is how an evaluation ended, before it was saved.
type ending struct {
	At          time.Time `json:"at"`
	Interrupted bool      `json:"interrupted"`
	Final       string    `json:"final"`
	Tail        string    `json:"tail"`
	Problems    []string  `json:"problems"`
}

func newHead(r *Request, scored bool, started time.Time) *head {
	s := r.Spec
	h := &head{
		UUID: r.UUID, Cell: r.Cell, Slot: r.Slot, Started: started, Bench: s.Benchmark, Valid: s.Valid,
		PassAt: s.Decision.PassThreshold, Pass: s.Decision.Pass, Policy: s.Recipe.TimeoutPolicy, IsScored: scored,
	}
	for _, j := range s.Recipe.Judges {
		h.Judges = append(h.Judges, j.ID)
	}
	for _, t := range s.Tasks {
		shown, _ := json.Marshal(cutText(text(t.Input), tableText)) // text always marshals
		h.Tasks = append(h.Tasks, batch.Task{ID: t.ID, Input: shown})
	}
	return h
}

// request is as much of the request as saving needs.
func (h *head) request(dir string) *Request {
	s := &spec.Spec{Benchmark: h.Bench, Tasks: h.Tasks, Valid: h.Valid}
	s.Decision.PassThreshold, s.Decision.Pass, s.Recipe.TimeoutPolicy = h.PassAt, h.Pass, h.Policy
	for _, id := range h.Judges {
		s.Recipe.Judges = append(s.Recipe.Judges, spec.Judge{ID: id})
	}
	return &Request{Spec: s, Cell: h.Cell, Slot: h.Slot, UUID: h.UUID, Dir: dir}
}

// journal appends records, each synced. After the first failure it writes
// nothing more, so that no line stands behind half a line.
type journal struct {
	mu   sync.Mutex
	f    *os.File
	size int64 // bytes of whole lines
	err  error
}

// Room that a journal claims on disk before anything is paid, in bytes, so that
// outcomes still fit when the disk is full.
const (
	roomLeast  = 256 << 10
	roomPerRow = 4 << 10
	roomMost   = 64 << 20
)

func newJournal(dir string, tasks int) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, FileJournal), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s holds an evaluation that was not saved; save it again or choose another folder", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := reserve(f, int64(min(max(roomLeast, tasks*roomPerRow), roomMost))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: no room for the outcomes: %w", f.Name(), err), f.Close(), os.Remove(f.Name()))
	}
	if err := onDisk(dir); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &journal{f: f}, nil
}

func (j *journal) add(records ...record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || len(records) == 0 {
		return j.err
	}
	var b bytes.Buffer
	for _, r := range records {
		if j.err = outcome.Append(&b, r); j.err != nil {
			return j.err
		}
	}
	if _, j.err = j.f.Write(b.Bytes()); j.err != nil {
		_ = j.f.Truncate(j.size) // all of them stand there, or none
		return j.err
	}
	j.size += int64(b.Len())
	j.err = j.f.Sync()
	return j.err
}

func (j *journal) close() { _ = j.f.Close() }

// readJournal reads a journal up to its end or to what a crash or a full disk
// left of its last line.
func readJournal(dir string) ([]record, error) {
	b, err := os.ReadFile(filepath.Join(dir, FileJournal))
	if err != nil {
		return nil, err
	}
	var all []record
	for line := range bytes.Lines(b) {
		var r record
		if line[len(line)-1] != '\n' || jsonv2.Unmarshal(line, &r) != nil {
			break
		}
		all = append(all, r)
	}
	launched := slices.ContainsFunc(all, func(r record) bool { return r.Launch != "" })
	if len(all) == 0 || all[0].Head == nil || !launched {
		return nil, fmt.Errorf("%s: nothing was started: %w", dir, fs.ErrNotExist)
	}
	return all, nil
}

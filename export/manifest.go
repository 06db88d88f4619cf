package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// ManifestSchema is the version of manifest.json, of the folder's layout and of
// the content digests.
const ManifestSchema = 1

// Manifest is manifest.json: what the folder holds, what it leaves out, and the
// digests of both kinds.
type Manifest struct {
	Schema      int               `json:"schema"`
	Tool        string            `json:"tool,omitempty"` // version that wrote the folder
	Formats     map[string]int    `json:"formats"`        // version of each output's text or schema
	Writers     map[string]string `json:"writers"`        // versions of the libraries that arrange the bytes
	Name        string            `json:"name"`
	Benchmark   string            `json:"benchmark"`
	Version     string            `json:"version"`
	Question    string            `json:"question,omitempty"`
	Draft       bool              `json:"draft"`
	Provisional bool              `json:"provisional"` // the batch was not frozen
	Supersedes  *Superseded       `json:"supersedes,omitempty"`
	Withheld    []string          `json:"withheld"`

	Batch      string       `json:"batch"` // run id of the parent
	Key        batch.Digest `json:"key"`
	Decision   batch.Digest `json:"decision_sha256"`
	Started    string       `json:"started"` // RFC 3339, UTC
	Frozen     string       `json:"frozen"`
	PlanTool   string       `json:"plan_tool"`
	ResultTool string       `json:"result_tool"`

	Feedback *Feedback      `json:"feedback,omitempty"` // what people had said, and when it was read
	Counts   batch.Counts   `json:"counts"`             // of planned repeats; they add up
	Evals    EvalCounts     `json:"evaluations"`        // of runs; they add up
	Outcomes OutcomeCounts  `json:"outcomes"`           // of counted evaluations; they add up
	Ignored  map[string]int `json:"ignored,omitempty"`  // runs of this recipe that do not count, by reason
	Reasons  map[string]int `json:"reasons,omitempty"`  // why planned repeats failed, were skipped or not started

	Missing []MissingFile `json:"missing"` // what the folder does not hold, and why
	Secrets SecretScan    `json:"secrets"`
	// Digest says how to read the two kinds of digests below.
	Digests  DigestNotes `json:"digests"`
	Contents []Content   `json:"contents"`
	Files    []FileEntry `json:"files"` // every file but manifest.json and SHA256SUMS
}

// EvalCounts adds up: Total = Counted + NotCounted = sum of States.
type EvalCounts struct {
	Total      int            `json:"total"`
	Counted    int            `json:"counted"`
	NotCounted int            `json:"not_counted"`
	Foreign    int            `json:"foreign"`
	States     map[string]int `json:"states"`
}

// OutcomeCounts adds up: Planned = sum of States + Absent.
type OutcomeCounts struct {
	Planned int            `json:"planned"` // counted evaluations × tasks of the panel
	States  map[string]int `json:"states"`
	Absent  int            `json:"absent"` // no line in outcomes.jsonl
	Scored  int            `json:"with_score"`
	Missing int            `json:"without_score"`
}

// MissingFile is a file that the folder does not hold.
type MissingFile struct {
	File   string       `json:"file"`
	Run    string       `json:"run,omitempty"`
	Reason string       `json:"reason"`
	Digest batch.Digest `json:"sha256,omitempty"` // of the file that is not here
	Size   int64        `json:"size,omitempty"`   // bytes
}

// Why a file is not in the folder.
const (
	ReasonWithheld  = "withheld"
	ReasonNotKept   = "never kept by the run"
	ReasonNotFolder = "not part of the folder"
)

// DigestNotes says what each kind of digest covers.
type DigestNotes struct {
	Bytes   string `json:"sha256"`
	Content string `json:"content_sha256"`
}

var digestNotes = DigestNotes{
	Bytes: "SHA-256 of the file's bytes; changes with the compressor and the writer's version",
	Content: "SHA-256 of what a table holds, row by row in the file's order; the same for any writer. Column: for each row a byte 0 for null, " +
		"else a byte 1 and the value (string: length as 8 bytes little-endian, then UTF-8; int64, timestamp and double: 8 bytes little-endian, double as IEEE 754 bits; bool: 1 byte). " +
		"Table: the line 'benchbatch-table 1 NAME ROWS', then for each column a line 'COLUMN TYPE DIGEST'",
}

// FileEntry is one file of the folder.
type FileEntry struct {
	Path   string       `json:"path"`
	Digest batch.Digest `json:"sha256"`
	Size   int64        `json:"size"` // bytes
}

const stamp = "2006-01-02T15:04:05.000Z"

func newManifest(f *Frozen, s *Summary, outputs []Output) *Manifest {
	p, r := &f.Plan, &f.Result
	m := &Manifest{Schema: ManifestSchema, Tool: f.Tool, Formats: map[string]int{}, Writers: writers(), Name: f.Name(),
		Benchmark: p.Benchmark, Version: p.Version, Question: p.Question, Draft: p.Draft, Provisional: f.Provisional,
		Supersedes: f.Supersedes, Withheld: append([]string{}, f.Withheld...), Batch: r.Batch, Key: r.Key, Decision: p.DecisionDigest,
		Started: r.Started.UTC().Format(stamp), Frozen: r.Frozen.UTC().Format(stamp), PlanTool: p.Tool, ResultTool: r.Tool,
		Feedback: f.Feedback, Counts: r.Counts, Missing: missingFiles(f, s), Secrets: newSecretScan(s.Secrets), Digests: digestNotes}
	for _, o := range outputs {
		name, version := o.Format()
		m.Formats[name] = version
	}
	m.Evals, m.Outcomes = evalCounts(s), outcomeCounts(s)
	m.Ignored, m.Reasons = map[string]int{}, map[string]int{}
	for _, g := range r.Ignored {
		m.Ignored[g.Reason]++
	}
	for _, slot := range r.Slots {
		if slot.State != batch.SlotDone && slot.State != batch.SlotReused {
			m.Reasons[string(slot.State)+": "+slot.Reason]++
		}
	}
	return m
}

func evalCounts(s *Summary) EvalCounts {
	c := EvalCounts{States: map[string]int{}}
	for i := range s.Evaluations {
		e := &s.Evaluations[i]
		c.Total++
		c.States[string(e.State)]++
		if e.Counted {
			c.Counted++
		} else {
			c.NotCounted++
		}
		if e.Foreign {
			c.Foreign++
		}
	}
	return c
}

func outcomeCounts(s *Summary) OutcomeCounts {
	c := OutcomeCounts{States: map[string]int{}}
	for _, st := range outcome.States {
		c.States[string(st)] = 0
	}
	for i := range s.Evaluations {
		e := &s.Evaluations[i]
		if !e.Counted {
			continue
		}
		c.Planned += e.Tasks
		c.Absent += e.Absent
		c.Scored += e.Score.Known
		for _, st := range outcome.States {
			c.States[string(st)] += e.Measures.States[st]
		}
	}
	c.Missing = c.Planned - c.Scored
	return c
}

// missingFiles lists what a reader may look for and will not find.
func missingFiles(f *Frozen, s *Summary) []MissingFile {
	list := []MissingFile{}
	if f.Withholds(WithholdRaw) || f.Withholds(WithholdInputs) {
		list = append(list, MissingFile{File: panelPath, Reason: ReasonWithheld, Digest: f.Result.Panel})
	}
	if f.Withholds(WithholdRaw) && f.Feedback != nil && f.Feedback.Rows > 0 {
		list = append(list, MissingFile{File: feedbackPath, Reason: ReasonWithheld, Digest: f.Feedback.Digest, Size: f.Feedback.Size})
	}
	for i := range s.Evaluations {
		e := &s.Evaluations[i]
		for _, m := range e.Missing {
			list = append(list, MissingFile{File: m.File, Run: e.RunID, Reason: m.Reason})
		}
		for _, name := range exported {
			if !slices.ContainsFunc(e.Evaluation.Artifacts, func(a batch.Artifact) bool { return a.Path == name }) {
				list = append(list, MissingFile{File: rawPath(e.RunID, name), Run: e.RunID, Reason: ReasonNotKept})
			}
		}
		for _, a := range e.Evaluation.Artifacts {
			if !slices.Contains(exported, a.Path) {
				list = append(list, MissingFile{File: rawPath(e.RunID, a.Path), Run: e.RunID, Reason: ReasonNotFolder, Digest: a.Digest, Size: a.Size})
			} else if f.leavesOut(a.Path) {
				list = append(list, MissingFile{File: rawPath(e.RunID, a.Path), Run: e.RunID, Reason: ReasonWithheld, Digest: a.Digest, Size: a.Size})
			}
		}
	}
	return list
}

// unread are the artifacts, by run, that a provisional folder says nobody could read.
func (m *Manifest) unread() map[string][]Finding {
	out := map[string][]Finding{}
	if !m.Provisional {
		return out
	}
	for _, f := range m.Missing {
		switch f.Reason {
		case ReasonWithheld, ReasonNotKept, ReasonNotFolder:
		default:
			out[f.Run] = append(out[f.Run], Finding{File: f.File, Run: f.Run, Reason: f.Reason})
		}
	}
	return out
}

// leavesOut says whether an artifact that could be in the folder is withheld.
func (f *Frozen) leavesOut(name string) bool {
	return f.Withholds(WithholdRaw) || f.Withholds(WithholdInputs) && name == batch.FileBundle
}

// encode is the manifest as it stands in the folder.
func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ReadManifest reads the manifest of the folder at dir. It checks nothing: Verify does.
func ReadManifest(dir string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, fileManifest))
	if err != nil {
		return nil, err
	}
	return decodeManifest(data)
}

func decodeManifest(data []byte) (*Manifest, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if head.Schema != ManifestSchema {
		return nil, &SchemaError{File: fileManifest, Found: head.Schema, Known: ManifestSchema}
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("not a manifest of schema %d: %w", ManifestSchema, err)
	}
	return &m, nil
}

// writers are the libraries whose version decides how a table's bytes are arranged.
func writers() map[string]string {
	out := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/parquet-go/parquet-go", "github.com/klauspost/compress":
			out[d.Path] = d.Version
		}
	}
	return out
}

// again is the feedback of a folder that was read after the freeze; nil = it has the frozen one, or none.
func (m *Manifest) again() *batch.Feedback {
	if m.Feedback == nil || !m.Feedback.Refreshed {
		return nil
	}
	return &m.Feedback.Feedback
}

// options are those with which the folder says that it was written.
func (m *Manifest) options() Options {
	return Options{Withhold: m.Withheld, Provisional: m.Provisional, Supersedes: m.Supersedes, Tool: m.Tool, Feedback: m.again()}
}

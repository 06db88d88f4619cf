package evaluation

import (
	"encoding/json"
	"slices"
	"time"
)

// shownProblems is how many problems a Measured lists.
const shownProblems = 50

// stage is one process of the evaluation, as evaluation.json tells it.
type stage struct {
	Attempt     int       `json:"attempt"`
	Stage       string    `json:"stage"` // runner, check or judge
	Try         int       `json:"try,omitempty"`
	Task        string    `json:"task,omitempty"` // unit task and checks
	Tasks       int       `json:"tasks"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended"`
	ExitCode    int       `json:"exit_code"`
	Signal      string    `json:"signal,omitempty"`
	TimedOut    bool      `json:"timed_out,omitempty"`
	Interrupted bool      `json:"interrupted,omitempty"`
	OutputCut   bool      `json:"output_cut,omitempty"`
	Left        int       `json:"processes_left,omitempty"`
	Error       string    `json:"error,omitempty"` // why it did not start
}

// evidence writes our own two files into the bundle and lists the problems.
func (m *measurement) evidence(out Measured) error {
	content := map[string]any{
		"schema": 1, "evaluation": m.req.UUID, "benchmark": m.req.Spec.Benchmark, "cell": m.req.Cell, "slot": m.req.Slot,
		"state": out.State, "reason": out.Reason, "started": out.Started, "ended": out.Ended, "processes": m.stages,
	}
	if len(m.earlier) > 1 { // whose attempts these are
		content["evaluations"] = m.earlier
	}
	doc, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	if err := m.keep.text("evaluation.json", append(doc, '\n')); err != nil {
		return err
	}
	all := m.allProblems()
	if len(all) == 0 {
		return nil
	}
	var b []byte
	for _, p := range all {
		b = append(append(b, p...), '\n')
	}
	return m.keep.text("problems.txt", b)
}

func (m *measurement) allProblems() []string {
	var all []string
	for _, p := range slices.Concat(m.problems, m.keep.skipped) {
		all = append(all, cutText(p, 1000))
	}
	return all
}

package evaluation

import (
	"bytes"
	"encoding/json"
	"os"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// JobSchema is the version of the job file.
const JobSchema = 1

// job is what a runner, check or judge reads from BENCHBATCH_JOB.
type job struct {
	Schema    int       `json:"schema"`
	Benchmark string    `json:"benchmark"`
	Agent     jobAgent  `json:"agent"`
	Model     jobModel  `json:"model"`
	Brain     *string   `json:"brain"` // folder in the working folder; null = none
	Tasks     []jobTask `json:"tasks"`
	Repeat    int       `json:"repeat"`  // 1..
	Attempt   int       `json:"attempt"` // 1..
	Limits    jobLimits `json:"limits"`
	RunnerOut string    `json:"runner_out,omitempty"` // judges: folder with a copy of what the runner left
}

type jobAgent struct {
	ID       string         `json:"id"`
	Version  string         `json:"version"`
	Settings map[string]any `json:"settings"`
}

type jobModel struct {
	ID       string         `json:"id"`
	Route    string         `json:"route"`
	Revision string         `json:"revision"`
	Settings map[string]any `json:"settings"`
}

type jobTask struct {
	ID         string          `json:"id"`
	Input      json.RawMessage `json:"input"`
	Expected   json.RawMessage `json:"expected,omitempty"`
	Output     string          `json:"output,omitempty"`     // judges: slash path in runner_out
	Transcript string          `json:"transcript,omitempty"` // judges: slash path in runner_out
}

type jobLimits struct {
	Turns        *int     `json:"turns"`          // null = unlimited
	TaskTimeoutS *float64 `json:"task_timeout_s"` // seconds; null = unlimited
}

func (r *Request) job(attempt int, tasks []batch.Task, expected bool) job {
	j := job{
		Schema:    JobSchema,
		Benchmark: r.Spec.Benchmark,
		Agent:     jobAgent{r.Agent.ID, r.Agent.Version, orEmpty(r.Agent.Settings)},
		Model:     jobModel{r.Model.ID, r.Model.Route, r.Model.Revision, orEmpty(r.Model.Settings)},
		Repeat:    r.Slot,
		Attempt:   attempt,
		Tasks:     make([]jobTask, 0, len(tasks)),
	}
	if r.Spec.Brain != "" {
		at := r.brainPlacement()
		j.Brain = &at
	}
	if n := r.Spec.Recipe.Limits.Turns; n > 0 {
		j.Limits.Turns = &n
	}
	if d := r.Spec.Recipe.Limits.TaskTimeout; d > 0 {
		s := d.Seconds()
		j.Limits.TaskTimeoutS = &s
	}
	for _, t := range tasks {
		jt := jobTask{ID: t.ID, Input: t.Input}
		if expected {
			jt.Expected = t.Expected
		}
		j.Tasks = append(j.Tasks, jt)
	}
	return j
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func (r *Request) brainPlacement() string {
	if r.Agent.BrainPlacement == "" {
		return "brain"
	}
	return r.Agent.BrainPlacement
}

func (j job) bytes() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(j); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (j job) write(path string) error {
	b, err := j.bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Question is the beginning of a task's input as the table shows it: 300 characters, on one line.
func Question(t batch.Task) string { return cutText(text(t.Input), tableText) }

// text is a task's input as plain text: a JSON string's value, other JSON as it stands.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

func seconds(d time.Duration) *float64 {
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

package evaluation

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/benchbatch/benchbatch/planner/outcome"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// tableText is how many characters of a text the table shows.
const tableText = 300

// table is outcomes_table.json, in the split form of pandas, which MLflow's UI renders.
type table struct {
	Columns []string `json:"columns"`
	Data    [][]any  `json:"data"`
}

// newTable lists outcomes for reading: the record is outcomes.jsonl.
func newTable(s *spec.Spec, outcomes []outcome.Outcome) table {
	judges := judgeNames(s, outcomes)
	t := table{Columns: []string{"task", "score", "passed"}, Data: [][]any{}}
	rest := []string{"state", "attempt", "cost_usd", "tokens_in", "tokens_out", "duration_s", "error", "question"}
	for _, name := range judges {
		if slices.Contains(t.Columns, name) || slices.Contains(rest, name) {
			name = "judge/" + name
		}
		t.Columns = append(t.Columns, cutText(name, 80))
	}
	t.Columns = append(t.Columns, rest...)
	inputs := make(map[string]string, len(s.Tasks))
	for _, task := range s.Tasks {
		inputs[task.ID] = Question(task)
	}
	for _, o := range outcomes {
		t.Data = append(t.Data, row(s, o, judges, inputs[o.Task]))
	}
	return t
}

func row(s *spec.Spec, o outcome.Outcome, judges []string, question string) []any {
	r := []any{o.Task, value(o.Score), value(o.Pass(s.Decision.PassThreshold, s.Decision.Pass == "reported"))}
	for _, name := range judges {
		var score any
		for _, v := range o.Judges {
			if v.Name == name {
				score = value(v.Score)
			}
		}
		r = append(r, score)
	}
	var in, out any
	if o.Tokens != nil {
		in, out = value(o.Tokens.Input), value(o.Tokens.Output)
	}
	failure := ""
	if o.Error != nil {
		failure = cutText(o.Error.Message, tableText)
	}
	return append(r, o.State, o.Attempt, value(o.CostUSD), in, out, value(o.DurationS), failure, question)
}

// value is what a pointer points to, or null.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// judgeNames are the declared judges in the spec's order, then others by name.
func judgeNames(s *spec.Spec, outcomes []outcome.Outcome) []string {
	var names []string
	seen := map[string]bool{}
	for _, j := range s.Recipe.Judges {
		names = append(names, j.ID)
		seen[j.ID] = true
	}
	declared := len(names)
	for _, o := range outcomes {
		for _, v := range o.Judges {
			if !seen[v.Name] {
				seen[v.Name] = true
				names = append(names, v.Name)
			}
		}
	}
	slices.Sort(names[declared:])
	return names
}

func (t table) bytes() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(t); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

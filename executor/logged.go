package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// finishOf is what MLflow is told of a measured evaluation.
func finishOf(e entry, dir string, m evaluation.Measured) (ledger.Finish, error) {
	metrics := metricsOf(m, e.Pass, m.Ended.UnixMilli())
	params := []mlflow.Param{
		{Key: "agent", Value: e.Cell.Agent}, {Key: "model", Value: e.Cell.Model}, {Key: "repeat", Value: fmt.Sprint(e.Slot)},
		{Key: "benchmark", Value: e.Labels.Benchmark}, {Key: "version", Value: e.Labels.Version},
	}
	if e.Labels.Brain != "" {
		params = append(params, mlflow.Param{Key: "brain", Value: e.Labels.Brain})
	}
	panel, err := datasetOf(e.Labels.Benchmark, e.Panel, e.Tasks)
	if err != nil {
		return ledger.Finish{}, err
	}
	return ledger.Finish{
		RunID: e.RunID, URI: e.URI, State: m.State, Reason: reasonOf(m), Ended: m.Ended, Artifacts: m.Artifacts,
		Open:    func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, path)) },
		Metrics: metrics, Params: params, Note: noteOf(m),
		Dataset: panel,
	}, nil
}

// reasonOf is why an evaluation is not complete, with the first refused line.
func reasonOf(m evaluation.Measured) string {
	if m.Reason == "" || len(m.Problems) == 0 {
		return m.Reason
	}
	return fmt.Sprintf("%s; %s (all %d problems are in the bundle's problems.txt)", m.Reason, m.Problems[0], len(m.Problems))
}

// datasetOf is the panel as MLflow shows it beside a run.
func datasetOf(benchmark string, panel batch.Digest, tasks int) (mlflow.DatasetInput, error) {
	profile, err := json.Marshal(map[string]int{"num_rows": tasks})
	return mlflow.DatasetInput{
		Name: benchmark + " panel", Digest: string(panel[:32]), SourceType: "code", Source: `{"tags":{}}`,
		Schema:  `{"mlflow_colspec":[{"name":"task","type":"string","required":true},{"name":"input","type":"string","required":true}]}`,
		Profile: string(profile), Context: "eval",
	}, err
}

// metricsOf lists an evaluation's metrics in their one order. What is unknown is left out.
func metricsOf(m evaluation.Measured, rule passRule, at int64) []mlflow.Metric {
	var out []mlflow.Metric
	add := func(key string, v *float64) {
		if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
			out = append(out, mlflow.Metric{Key: key, Value: round6(*v), Timestamp: at})
		}
	}
	score, pass := means(m.Outcomes, rule)
	add("score", score)
	add("pass_fraction", pass)
	n := float64(len(m.Outcomes))
	coverage := (n - float64(outcome.Missing(m.Outcomes))) / n
	add("coverage", &coverage)
	cost := billOf(m)
	unknown := float64(cost.unknown)
	add("cost_usd", cost.known)
	add("cost_unknown", &unknown)
	add("cost_worst_usd", cost.worst)
	for _, kind := range []struct {
		name string
		of   func(outcome.Tokens) *int64
	}{
		{"tokens/input", func(t outcome.Tokens) *int64 { return t.Input }},
		{"tokens/cache_read", func(t outcome.Tokens) *int64 { return t.CacheRead }},
		{"tokens/cache_write", func(t outcome.Tokens) *int64 { return t.CacheWrite }},
		{"tokens/output", func(t outcome.Tokens) *int64 { return t.Output }},
	} {
		add(kind.name, sum(m.Attempts, func(a outcome.Attempt) *float64 {
			if a.Tokens == nil {
				return nil
			}
			return float(kind.of(*a.Tokens))
		}))
	}
	wall := m.Ended.Sub(m.Started).Seconds()
	add("wall_s", &wall)
	add("wait_s", sum(m.Attempts, func(a outcome.Attempt) *float64 { return a.WaitS }))
	tally := outcome.Count(m.Outcomes)
	for _, s := range outcome.States {
		c := float64(tally[s])
		add("count/"+string(s), &c)
	}
	for _, j := range judgeMeans(m.Outcomes) {
		add("judge/"+j.name, &j.mean)
	}
	return out
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// means are the mean score and the share that passes, over outcomes with a score; nil where there is none.
func means(outcomes []outcome.Outcome, rule passRule) (score, pass *float64) {
	var sum, passed, n, judged float64
	for _, o := range outcomes {
		if o.Score == nil {
			continue
		}
		n++
		sum += *o.Score
		if p := o.Pass(rule.Threshold, rule.Reported); p != nil {
			judged++
			if *p {
				passed++
			}
		}
	}
	if n > 0 {
		s := sum / n
		score = &s
	}
	if judged > 0 {
		p := passed / judged
		pass = &p
	}
	return score, pass
}

// sum adds the known values; nil where none is known.
func sum(attempts []outcome.Attempt, of func(outcome.Attempt) *float64) *float64 {
	var total float64
	known := false
	for _, a := range attempts {
		if v := of(a); v != nil {
			total += *v
			known = true
		}
	}
	if !known {
		return nil
	}
	return &total
}

type judgeMean struct {
	name string
	mean float64
}

// judgeMeans is each judge's mean on [0,1], by name.
func judgeMeans(outcomes []outcome.Outcome) []judgeMean {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, o := range outcomes {
		for _, v := range o.Judges {
			if u := v.Unit(); u != nil && batch.IDPattern.MatchString(v.Name) {
				sums[v.Name] += *u
				counts[v.Name]++
			}
		}
	}
	var out []judgeMean
	for name, s := range sums {
		out = append(out, judgeMean{name, s / counts[name]})
	}
	slices.SortFunc(out, func(a, b judgeMean) int { return strings.Compare(a.name, b.name) })
	return out
}

// noteOf says in a few lines what failed. Foreign text stands in a code block.
func noteOf(m evaluation.Measured) string {
	if m.State == batch.StateComplete {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This evaluation is %s.\n", m.State)
	for _, text := range []string{m.Reason, m.LogTail} {
		if text != "" {
			b.WriteString("\n" + codeBlock(clipRunes(text, 3000)))
		}
	}
	return b.String()
}

// codeBlock makes foreign text harmless in a note: a block that no backticks in
// the text can end, and nothing that changes how the rest reads without being seen.
func codeBlock(text string) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	return "```\n" + strings.ReplaceAll(text, "```", "'''") + "\n```\n"
}

func clipRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n:])
}

// tokensOf is how many tokens of all kinds an evaluation used, the known part; nil = unknown.
func tokensOf(m evaluation.Measured) *float64 {
	return sum(m.Attempts, func(a outcome.Attempt) *float64 { return float(a.Tokens.TotalTokens()) })
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

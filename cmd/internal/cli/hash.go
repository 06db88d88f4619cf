package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// hashed is one cell of `hash --json`.
type hashed struct {
	Agent string            `json:"agent"`
	Model string            `json:"model"`
	Tags  map[string]string `json:"tags"`
	Panel hashedPanel       `json:"panel"`
}

// hashedPanel is what the record of a run is checked against.
type hashedPanel struct {
	Digest        batch.Digest `json:"digest"`         // of panel.jsonl in normal form
	Tasks         []string     `json:"tasks"`          // ids, sorted
	MaxMissing    int          `json:"max_missing"`    // how many tasks may be missing
	TimeoutPolicy string       `json:"timeout_policy"` // fail or missing
	PassThreshold float64      `json:"pass_threshold"` // a score of at least this passes
	PassReported  bool         `json:"pass_reported"`  // passed is what the record says
	// Questions are the beginnings of the tasks' inputs, for tables. All cells have one panel: only the first one that is printed has them.
	Questions map[string]string `json:"questions,omitempty"`
}

func hashedPanelOf(r *spec.Resolved) hashedPanel {
	s := r.Spec
	p := hashedPanel{
		Digest: batch.Sum(r.PanelFile), Tasks: make([]string, 0, len(s.Tasks)), MaxMissing: s.Valid.Allowed(len(s.Tasks)), TimeoutPolicy: s.Recipe.TimeoutPolicy,
		PassThreshold: s.Decision.PassThreshold, PassReported: s.Decision.Pass == "reported",
	}
	for _, t := range s.Tasks {
		p.Tasks = append(p.Tasks, t.ID)
	}
	slices.Sort(p.Tasks)
	return p
}

func questionsOf(r *spec.Resolved) map[string]string {
	out := map[string]string{}
	for _, t := range r.Spec.Tasks {
		out[t.ID] = evaluation.Question(t)
	}
	return out
}

func (a *App) hashCommand() *cobra.Command {
	var agent, model string
	c := &cobra.Command{
		Use:   "hash SPEC",
		Short: "Print the tags that a run made elsewhere must carry to count",
		Long: `hash prints, for every cell, the tags that an MLflow run must carry to count as a
repeat of it. Such a run also needs the tag benchbatch.evaluation with a UUID of
its own, the status FINISHED, and the artifact outcomes.jsonl. With --json it also
prints what the record is checked against: the tasks of the panel, and the rules.
Python has all of it in one call: see mlflow/plugin.`,
		Example: `  benchbatch hash my-bench/benchmark.yaml
  benchbatch hash my-bench/benchmark.yaml --agent direct --model qwen-27b --json`,
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.load(args[0])
			if err != nil {
				return err
			}
			out, panel := []hashed{}, hashedPanelOf(r)
			for _, cell := range r.Cells {
				if (agent != "" && cell.Agent != agent) || (model != "" && cell.Model != model) {
					continue
				}
				h := hashed{cell.Agent, cell.Model, map[string]string{
					ledger.TagBenchmark: r.Spec.Benchmark, ledger.TagVersion: r.Spec.Version, ledger.TagAgent: cell.Agent, ledger.TagModel: cell.Model,
				}, panel}
				for _, t := range ledger.IdentityTags(cell) {
					h.Tags[t.Key] = t.Value
				}
				out = append(out, h)
			}
			if len(out) > 0 {
				out[0].Panel.Questions = questionsOf(r)
			}
			if len(out) == 0 {
				return usageError{fmt.Errorf("no cell has agent %q and model %q; see `benchbatch check %s`", agent, model, args[0])}
			}
			return a.result(out, func() { a.showHashes(out) })
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only this agent, an `ID`")
	c.Flags().StringVar(&model, "model", "", "only this model, an `ID`")
	return c
}

func (a *App) showHashes(cells []hashed) {
	for i, h := range cells {
		if i > 0 {
			a.print("")
		}
		a.print("%s on %s", h.Agent, h.Model)
		var t table
		for _, key := range []string{ledger.TagKind, ledger.TagScheme, ledger.TagRecipe, ledger.TagCell, ledger.TagAgentHash, ledger.TagModelHash,
			ledger.TagBrainHash, ledger.TagExecution, ledger.TagBenchmark, ledger.TagVersion, ledger.TagAgent, ledger.TagModel, ledger.TagIdentity} {
			t.add("  "+key, h.Tags[key])
		}
		t.write(a.Stdout)
	}
	a.say("\neach run also needs %s (a new UUID), status FINISHED, and the artifact outcomes.jsonl", ledger.TagEvaluation)
}

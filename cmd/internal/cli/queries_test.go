package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/stats"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// row is a row of an answer; only the columns that stand there are compared.
type row map[string]any

// known is what a batch holds, as the outputs of a folder are given it.
type known struct {
	*export.Summary
	evidence []*export.Evidence
}

func (*known) Format() (string, int) { return "known", 1 }

func (k *known) Start(*export.Frozen, string) (export.Making, error) { return k, nil }

func (k *known) Add(e *export.Evidence) error {
	k.evidence = append(k.evidence, e)
	return nil
}

func (k *known) Finish(s *export.Summary) ([]export.Content, error) {
	k.Summary = s
	return nil, nil
}

func (*known) Abandon() {}

func (*known) Read(context.Context, string, []export.Content) ([]export.Content, []export.Finding) {
	return nil, nil
}

// eventful is a batch in which every question has an answer.
func eventful(t *testing.T) *exporttest.Synthetic {
	t.Helper()
	s := exporttest.New(exporttest.Shape{Agents: 3, Models: 1, Tasks: 36, Repeats: 4, Judges: 3, Attempts: true, Seed: 21})
	s.SetDecision(`{"metric":"score","margin":0.2,"reference":"agent-1+model-1","by":"family","advantage":{"cost_usd":0.2}}`)
	s.Plan.PassThreshold = 0.3
	for i := range s.Tasks {
		s.Tasks[i].Family = []string{"billing", "returns", ""}[i/14]
	}
	s.Plan.Withdraw = []batch.Withdrawal{{Task: "T-0003", Why: "verifier was wrong", Date: "2026-12-02"}}
	for i := range s.Result.Evaluations {
		e := &s.Result.Evaluations[i]
		var list []outcome.Outcome
		require.NoError(t, outcome.Lines(strings.NewReader(string(s.Files[e.RunID][batch.FileOutcomes])), func(_ int, line []byte) error {
			o, err := outcome.ParseLine(line)
			if o.State == outcome.Scored {
				*o.Score = min(1, *o.Score/2+.4*float64(len(list)%7)/6*float64(i/4))
			}
			list = append(list, o)
			return err
		}))
		list[i].Flags = []outcome.Flag{{Audit: "test-awareness", Evidence: "named the benchmark"}}
		s.SetOutcomes(e.RunID, list)
	}
	e := s.Result.Evaluations
	e[0].Reused, e[0].Started, e[4].Role = true, e[0].Started.Add(-30*time.Hour), export.RoleSelection
	s.Result.Slots[0].State = batch.SlotReused
	s.AddSlot(2, 5, batch.SlotSkipped, "the model does not answer")
	s.Say(e[1].RunID, "T-0001", "tone", "0.25", "ann")
	s.Say(e[1].RunID, "T-0002", "tone", "0.75", "bob")
	s.Say(e[1].RunID, "T-0002", "right", `"yes"`, "bob")
	s.Say(e[5].RunID, "T-0002", "right", `false`, "")
	return s
}

// Every ready question has an answer of ours that DuckDB's agrees with.
func TestQuestionsAreAnsweredAlike(t *testing.T) {
	var k known
	dir, err := export.Write(t.Context(), eventful(t).Freeze(), export.Options{Out: t.TempDir(), Tool: "test", Outputs: append(outputs(), &k)})
	require.NoError(t, err)
	require.True(t, k.Verdict.Decided())
	var got map[string][]map[string]any
	readers(t, dir, &got, "queries")
	for name, rows := range got {
		require.Contains(t, questions, name, "no answer of ours")
		want := questions[name](&k)
		require.Len(t, rows, len(want), name)
		require.NotEmpty(t, rows, "%s has no row here, and so proves nothing", name)
		for i := range want {
			for column, w := range want[i] {
				alike(t, w, rows[i][column], fmt.Sprintf("%s row %d %s", name, i+1, column))
			}
		}
	}
	assert.Len(t, got, len(questions))
}

// alike compares a value with a decoded one; queries round to 4 digits at least.
func alike(t *testing.T, want, got any, what string) {
	t.Helper()
	switch w := want.(type) {
	case *float64:
		if w == nil {
			assert.Nil(t, got, what)
			return
		}
		require.IsType(t, 0.0, got, what)
		assert.InDelta(t, *w, got, 5.1e-5, what)
	case *bool:
		if w == nil {
			assert.Nil(t, got, what)
			return
		}
		assert.Equal(t, *w, got, what)
	case int:
		assert.EqualValues(t, w, got, what)
	case string:
		if w == "" {
			assert.Contains(t, []any{nil, ""}, got, what)
			return
		}
		assert.Equal(t, w, got, what)
	default:
		assert.Equal(t, want, got, what)
	}
}

var questions = map[string]func(*known) []row{
	"01-grid.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			worst, best := v.Range()
			out = append(out, row{"agent": v.Cell.Agent, "model": v.Cell.Model, "runs": len(v.Runs), "score": v.Mean, "worst_run": worst, "best_run": best,
				"pass_fraction": v.Passed, "coverage": v.Cover})
		}
		return out
	},
	"21-feedback.sql": func(k *known) []row {
		score := func(run string, tasks ...string) any {
			var sum, n float64
			for _, e := range k.evidence {
				for _, o := range e.Outcomes {
					if e.RunID == run && slices.Contains(tasks, o.Task) && o.Score != nil {
						sum, n = sum+*o.Score, n+1
					}
				}
			}
			mean := sum / n
			return &mean
		}
		half, one, zero, e := .5, 1., 0., k.evidence
		none := (*float64)(nil)
		out := []row{
			{"judge": "human/right", "variant": e[1].Variant.String(), "said": 1, "people": 1, "mean": none, "share_yes": &one, "score": score(e[1].RunID, "T-0002")},
			{"judge": "human/right", "variant": e[5].Variant.String(), "said": 1, "people": 0, "mean": none, "share_yes": &zero, "score": score(e[5].RunID, "T-0002")},
			{"judge": "human/tone", "variant": e[1].Variant.String(), "said": 2, "people": 2, "mean": &half, "share_yes": none, "score": score(e[1].RunID, "T-0001", "T-0002")},
		}
		slices.SortStableFunc(out, func(a, b row) int {
			return cmp.Or(cmp.Compare(a["judge"].(string), b["judge"].(string)), cmp.Compare(a["variant"].(string), b["variant"].(string)))
		})
		return out
	},
	"02-counts.sql": func(k *known) []row {
		var n batch.Counts
		for i := range k.Variants {
			n.Done += k.Variants[i].Slots.Done
			n.Reused += k.Variants[i].Slots.Reused
			n.Skipped += k.Variants[i].Slots.Skipped
		}
		return []row{{"state": "done", "repeats": n.Done}, {"state": "reused", "repeats": n.Reused},
			{"state": "skipped", "reason": "the model does not answer", "repeats": n.Skipped}}
	},
	"03-reliability.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			total := 0
			var states []outcome.State
			for _, s := range outcome.States {
				if total += v.States[s]; v.States[s] > 0 {
					states = append(states, s)
				}
			}
			slices.SortFunc(states, func(a, b outcome.State) int { return cmp.Or(v.States[b]-v.States[a], cmp.Compare(a, b)) })
			for _, s := range states {
				percent := math.Round(1e4*float64(v.States[s])/float64(total)) / 100
				out = append(out, row{"variant": v.Cell.Variant.String(), "state": string(s), "outcomes": v.States[s], "percent": &percent})
			}
		}
		return out
	},
	"04-families.sql": func(k *known) (out []row) {
		type key struct{ family, variant string }
		sums := map[key]*export.Sum{}
		for t := range k.Verdict.Description.Tasks {
			family, withdrawn := k.family(t)
			if withdrawn {
				continue
			}
			for v, m := range k.Verdict.Description.Tasks[t].Means {
				at := key{cmp.Or(family, k.task(t)), k.name(v)}
				if sums[at] == nil {
					sums[at] = &export.Sum{}
				}
				if m != nil {
					sums[at].Add(m)
				}
			}
		}
		for at, s := range sums {
			out = append(out, row{"family": at.family, "variant": at.variant, "tasks": s.Known, "score": s.Mean()})
		}
		return sorted(out, "family", "variant")
	},
	"05-cost.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			out = append(out, row{"variant": v.Cell.Variant.String(), "evaluations": 4, "cost_usd_at_least": v.Spent.Reported.Value(),
				"attempts_of_unknown_cost": v.Spent.Reported.Unknown, "repriced_usd_at_least": v.Spent.Repriced.Value(), "attempts_not_repriced": v.Spent.Repriced.Unknown})
		}
		return out
	},
	"06-unstable-tasks.sql": unstable,
	"07-judges.sql": func(k *known) (out []row) {
		j := k.Verdict.Description.Judging
		for _, judge := range j.Judges {
			for v := range k.Variants {
				out = append(out, row{"judge": k.Verdict.JudgeNames[judge.Judge], "kind": "model", "variant": k.name(v), "mean": judge.Means[v], "without_score": 0})
			}
		}
		return sorted(out, "judge", "variant")
	},
	"08-attempts.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			tries := slices.Clone(v.Tries)
			slices.SortFunc(tries, func(a, b export.Tries) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.State, b.State)) })
			for _, x := range tries {
				if x.Failed("fail") && x.Count > 0 {
					out = append(out, row{"variant": v.Cell.Variant.String(), "state": string(x.State), "attempts": x.Count, "accepted": x.Accepted,
						"cost_usd_at_least": x.Reported.Value(), "of_unknown_cost": x.Reported.Unknown})
				}
			}
		}
		return out
	},
	"09-verdicts.sql": func(k *known) (out []row) {
		for i := range k.Verdict.Pairs {
			p := &k.Verdict.Pairs[i]
			out = append(out, row{"a": k.name(p.A), "b": k.name(p.B), "verdict": p.Mark.String(), "winner": k.name(p.Winner), "codes": strings.Join(p.Codes.Strings(), ","),
				"difference": p.Difference, "low": &p.Interval.Low, "high": &p.Interval.High, "p_adjusted": p.PAdj, "range_tie": k.Pairs[i].RangeTie})
		}
		return out
	},
	"10-ranks.sql": func(k *known) (out []row) {
		for i, r := range k.Verdict.Ranks {
			d := &k.Verdict.Description.Variants[i]
			hat := d.PassHat[len(d.PassHat)-1]
			out = append(out, row{"variant": k.name(i), "rank_low": r.Low, "rank_high": r.High, "letters": k.Verdict.Letters[i], "mean": &d.Mean.Value,
				"k": hat.K, "all_k_pass": &hat.Mean.Value, "pass_k_tasks": hat.Mean.Tasks, "usd_a_pass": &d.Cost.CostPerPass.Value, "standing": k.standing(i)})
		}
		slices.SortStableFunc(out, func(a, b row) int {
			return cmp.Or(cmp.Compare(a["rank_low"].(int), b["rank_low"].(int)), cmp.Compare(a["rank_high"].(int), b["rank_high"].(int)))
		})
		return out
	},
	"11-separating-tasks.sql": separating,
	"12-pass-k-families.sql": func(k *known) (out []row) {
		for n := range k.Verdict.Description.Families {
			f := &k.Verdict.Description.Families[n]
			var part []row
			for i := range f.Variants {
				v := &f.Variants[i]
				part = append(part, row{"family": f.Family, "variant": k.name(i), "k": v.PassHat.K, "pass_at_k": &v.PassAt.Mean.Value, "pass_hat_k": &v.PassHat.Mean.Value,
					"tasks": v.PassHat.Mean.Tasks, "excluded": v.PassHat.Excluded, "exploratory": false})
			}
			slices.SortStableFunc(part, func(a, b row) int { return cmp.Compare(*b["pass_hat_k"].(*float64), *a["pass_hat_k"].(*float64)) })
			out = append(out, part...)
		}
		return out
	},
	"13-measured-when.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			days := 1
			if v.Slots.Reused > 0 {
				days = 2
			}
			out = append(out, row{"variant": v.Cell.Variant.String(), "evaluations": v.Slots.Done + v.Slots.Reused, "reused": v.Slots.Reused,
				"first_started": v.First.UTC().Format(time.DateTime), "last_started": v.Last.UTC().Format(time.DateTime), "days": days})
		}
		return out
	},
	"14-paid.sql": func(k *known) (out []row) {
		for _, v := range k.byName() {
			tries, usd, _ := v.Wasted("fail")
			out = append(out, row{"variant": v.Cell.Variant.String(), "ran": v.Paid.Ran, "reused": v.Paid.Reused, "paid_usd": v.Paid.Today.Reported.Value(),
				"paid_unknown": v.Paid.Today.Reported.Unknown, "paid_repriced_usd": v.Paid.Today.Repriced.Value(), "reused_usd": v.Paid.Value.Reported.Value(),
				"reused_unknown": v.Paid.Value.Reported.Unknown, "paid_judges_usd": v.Paid.Today.Judges.Value(), "failed_attempts": tries, "failed_attempts_usd": usd.Value()})
		}
		return out
	},
	"15-cost-per-pass.sql": func(k *known) (out []row) {
		for i := range k.Variants {
			d := &k.Verdict.Description.Variants[i]
			c, r := d.Cost.CostPerPass, d.Repriced.CostPerPass
			out = append(out, row{"variant": k.name(i), "cost_per_pass_usd": &c.Value, "cost_per_pass_low": &c.Interval.Low, "cost_per_pass_high": &c.Interval.High,
				"repriced_per_pass_usd": &r.Value, "repriced_per_pass_low": &r.Interval.Low, "repriced_per_pass_high": &r.Interval.High, "work_s": &d.WallS.Value,
				"work_s_median": d.WallMedian, "work_s_p90": d.WallP90, "tokens_input": k.Variants[i].Spent.Input.Value(), "tokens_output": k.Variants[i].Spent.Output.Value()})
		}
		slices.SortStableFunc(out, func(a, b row) int {
			return cmp.Compare(*a["cost_per_pass_usd"].(*float64), *b["cost_per_pass_usd"].(*float64))
		})
		return out
	},
	"16-does-it-stand.sql": func(k *known) (out []row) {
		for i := range k.Verdict.Pairs {
			p, stands := &k.Verdict.Pairs[i], k.Verdict.Stands(i)
			r := row{"a": k.name(p.A), "b": k.name(p.B), "verdict": p.Mark.String(), "winner": k.name(p.Winner), "stands": &stands, "first_verdict": p.First.Mark.String(),
				"second_verdict": p.Second.Mark.String()}
			for column, name := range map[string]string{"kept_verdict": export.WithoutWithdrawn, "selection_verdict": export.WithoutSelection, "flagged_verdict": export.WithoutFlagged} {
				r[column] = k.Verdict.Reading(name).Pairs[i].Mark.String()
			}
			out = append(out, r)
		}
		return out
	},
	"17-flags.sql": func(k *known) (out []row) {
		for _, e := range k.evidence {
			for i := range e.Outcomes {
				for _, f := range e.Outcomes[i].Flags {
					out = append(out, row{"audit": f.Audit, "variant": e.Variant.String(), "task": e.Outcomes[i].Task, "run_id": e.RunID, "counted": true,
						"state": string(e.Outcomes[i].State), "score": e.Outcomes[i].Score, "evidence": f.Evidence, "transcript": e.Outcomes[i].Transcript})
				}
			}
		}
		return sorted(out, "audit", "variant", "task", "run_id")
	},
	"18-outliers.sql": outliers,
	"19-judges-lose.sql": func(k *known) (out []row) {
		j := k.Verdict.Description.Judging
		for v, n := range j.Lost {
			out = append(out, row{"variant": k.name(v), "judge": k.Verdict.JudgeNames[n], "mean": j.Judges[n].Means[v], "gap_to_other_judges": j.Judges[n].Gaps[v],
				"alpha": j.Alpha.Value, "agreement_raw": &j.Alpha.Raw, "agreement_mean_vote": &j.Alpha.Prevalence})
		}
		return out
	},
	"20-routing.sql": func(k *known) (out []row) {
		for n := range k.Verdict.Families {
			f, d := &k.Verdict.Families[n], &k.Verdict.Description.Families[n]
			var part []row
			for i, r := range f.Ranks {
				part = append(part, row{"family": f.Family, "variant": k.name(i), "mean": &d.Variants[i].Mean.Value, "rank_low": r.Low, "rank_high": r.High, "letters": f.Letters[i]})
			}
			slices.SortStableFunc(part, func(a, b row) int {
				return cmp.Or(cmp.Compare(a["rank_low"].(int), b["rank_low"].(int)), cmp.Compare(*b["mean"].(*float64), *a["mean"].(*float64)))
			})
			out = append(out, part...)
		}
		return out
	},
}

// unstable computes the spread of every task from the evidence.
func unstable(k *known) (out []row) {
	for v := range k.Variants {
		for t := range k.Verdict.Description.Tasks {
			var scores []float64
			for _, e := range k.evidence {
				if e.Variant.String() != k.name(v) {
					continue
				}
				if o := &e.Outcomes[t]; o.Score != nil {
					scores = append(scores, *o.Score)
				}
			}
			low, high := slices.Min(scores), slices.Max(scores)
			if len(scores) > 1 && high > low {
				out = append(out, row{"variant": k.name(v), "task": k.task(t), "runs": len(scores), "mean": k.Verdict.Description.Tasks[t].Means[v],
					"lowest": &low, "highest": &high})
			}
		}
	}
	spread := func(r row) float64 { return *r["highest"].(*float64) - *r["lowest"].(*float64) }
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(spread(b), spread(a)) })
	return out[:min(50, len(out))]
}

// separating lists the tasks by the difference of the best and the worst variant.
func separating(k *known) (out []row) {
	a, b := 0, 0
	for v := range k.Variants {
		if m := k.Verdict.Description.Variants[v].Mean.Value; m > k.Verdict.Description.Variants[a].Mean.Value {
			a = v
		} else if m < k.Verdict.Description.Variants[b].Mean.Value {
			b = v
		}
	}
	for t := range k.Verdict.Description.Tasks {
		task := &k.Verdict.Description.Tasks[t]
		x, y := task.Means[a], task.Means[b]
		if x != nil && y != nil && *x != *y {
			d := *x - *y
			out = append(out, row{"task": k.task(t), "a": k.name(a), "b": k.name(b), "mean_a": x, "mean_b": y, "difference": &d, "runs_a": task.Runs[a], "runs_b": task.Runs[b]})
		}
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Compare(math.Abs(*b["difference"].(*float64)), math.Abs(*a["difference"].(*float64)))
	})
	return out[:min(50, len(out))]
}

func outliers(k *known) (out []row) {
	size := map[string]float64{}
	for t := range k.Verdict.Description.Tasks {
		d := &k.Verdict.Description.Tasks[t]
		if !d.Informative {
			continue
		}
		r := row{"task": k.task(t), "mean": d.Mean, "above": "", "below": "", "item_rest": d.ItemRest}
		if d.Above != nil {
			r["above"], r["above_by"] = k.name(d.Above.Variant), &d.Above.By
			size[k.task(t)] = d.Above.By
		}
		if d.Below != nil {
			r["below"], r["below_by"] = k.name(d.Below.Variant), &d.Below.By
			size[k.task(t)] = max(size[k.task(t)], -d.Below.By)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(size[b["task"].(string)], size[a["task"].(string)]) })
	return out[:min(50, len(out))]
}

// byName is the variants sorted by name, which is the order of the plan here.
func (k *known) byName() []*export.VariantNumber {
	var out []*export.VariantNumber
	for i := range k.Variants {
		out = append(out, &k.Variants[i])
	}
	return out
}

func (k *known) name(v int) string {
	if v == stats.Nobody {
		return ""
	}
	return k.Variants[v].Cell.Variant.String()
}

func (k *known) task(t int) string { return fmt.Sprintf("T-%04d", t+1) }

// family is the family of a task in eventful, and whether the task is withdrawn.
func (k *known) family(t int) (string, bool) {
	return []string{"billing", "returns", ""}[t/14], t == 2
}

func (k *known) standing(v int) string {
	for i := range k.Verdict.NonInferiority {
		if n := &k.Verdict.NonInferiority[i]; n.Candidate == v {
			return n.Standing.String()
		}
	}
	return ""
}

// sorted orders rows by columns of text.
func sorted(rows []row, columns ...string) []row {
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, c := range columns {
			if x := cmp.Compare(a[c].(string), b[c].(string)); x != 0 {
				return x
			}
		}
		return 0
	})
	return rows
}

package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// restored are the tables from which everything else of a folder follows.
type restored struct {
	reported    bool
	evaluations *cursor[evaluationBack]
	outcomes    *cursor[outcomeBack]
	judges      *cursor[judgeBack]
	attempts    *cursor[attemptBack]
	all         []interface {
		end() error
		close() error
	}
}

// The columns of each table that give the evidence back.
type (
	evaluationBack struct {
		RunID        string   `parquet:"run_id,dict"`
		JudgeCostUSD *float64 `parquet:"judge_cost_usd"`
		JudgeKnown   int64    `parquet:"judge_cost_known"`
		JudgeUnknown int64    `parquet:"judge_cost_unknown"`
		HasAttempts  bool     `parquet:"has_attempts"`
		Unreadable   *string  `parquet:"unreadable,plain"`
	}
	outcomeBack struct {
		RunID   string `parquet:"run_id,dict"`
		Task    string `parquet:"task,dict"`
		Attempt *int64 `parquet:"attempt"`
		Result
	}
	attemptBack struct {
		RunID    string `parquet:"run_id,dict"`
		Task     string `parquet:"task,dict"`
		Attempt  *int64 `parquet:"attempt"`
		Accepted bool   `parquet:"accepted"`
		Result
	}
	judgeBack struct {
		RunID      string   `parquet:"run_id,dict"`
		Task       string   `parquet:"task,dict"`
		Judge      string   `parquet:"judge,dict"`
		Kind       *string  `parquet:"kind,dict"`
		JudgeModel *string  `parquet:"judge_model,dict"`
		RawScore   *float64 `parquet:"raw_score"`
		ScaleMin   float64  `parquet:"scale_min"`
		ScaleMax   float64  `parquet:"scale_max"`
		SampleList *string  `parquet:"samples_json,plain"`
		CostUSD    *float64 `parquet:"cost_usd"`
		Rationale  *string  `parquet:"rationale,plain"`
		Error      *string  `parquet:"error,plain"`
	}
)

// Rows reads the tables in dir back. reported says that passing is what the
// runner reported: then the column passed is that report.
func (Output) Rows(ctx context.Context, dir string, reported bool) (export.Rows, error) {
	t := &restored{reported: reported}
	err := safely(func() (err error) {
		restore(ctx, t, &t.evaluations, dir, "evaluations", &err)
		restore(ctx, t, &t.outcomes, dir, "outcomes", &err)
		restore(ctx, t, &t.judges, dir, "judges", &err)
		restore(ctx, t, &t.attempts, dir, "attempts", &err)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// restore opens one table unless an earlier one failed.
func restore[T any](ctx context.Context, t *restored, c **cursor[T], dir, table string, err *error) {
	if *err != nil {
		return
	}
	name := filepath.Join(dir, filepath.FromSlash(path(table)))
	if *err = newDigester(table, schemaOf(table)).open(name); *err != nil {
		*err = fmt.Errorf("%s: %w", path(table), *err)
		return
	}
	if *c, *err = newCursor[T](ctx, name, table); *err == nil {
		t.all = append(t.all, *c)
	}
}

// Close closes the files.
func (t *restored) Close() error {
	var errs []error
	for _, c := range t.all {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// Finish says whether rows are left over: of no evaluation, or out of order.
func (t *restored) Finish() error {
	return safely(func() error {
		for _, c := range t.all {
			if err := c.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tasks reads the panel back from the table of tasks in dir.
func (Output) Tasks(ctx context.Context, dir string) (tasks []export.Task, err error) {
	t := &restored{}
	var rows *cursor[TaskRow]
	err = safely(func() error {
		if restore(ctx, t, &rows, dir, "tasks", &err); err != nil {
			return err
		}
		for {
			r, err := rows.peek()
			if r == nil || err != nil {
				return err
			}
			tasks = append(tasks, taskOf(r))
			rows.next()
		}
	})
	return tasks, errors.Join(err, t.Close())
}

func taskOf(r *TaskRow) export.Task {
	t := export.Task{Task: batch.Task{ID: r.Task, Family: value(r.Family), Anchor: r.Anchor},
		InputDigest: batch.Digest(r.InputSHA256), ExpectedDigest: batch.Digest(value(r.ExpectedSHA256))}
	if r.Input != nil {
		t.Input = json.RawMessage(*r.Input)
	}
	if r.Expected != nil {
		t.Expected = json.RawMessage(*r.Expected)
	}
	return t
}

// Fill gives an evaluation what the next rows say of it.
func (t *restored) Fill(e *export.Evidence) error {
	return safely(func() error {
		r, err := t.evaluations.peek()
		if err != nil {
			return err
		}
		if r == nil || r.RunID != e.RunID {
			return fmt.Errorf("%s: the row of run %s is missing or out of order", path("evaluations"), e.RunID)
		}
		t.evaluations.next()
		e.Unreadable = value(r.Unreadable)
		e.Measures.Spent.Judges = sum(r.JudgeCostUSD, r.JudgeKnown, r.JudgeUnknown)
		if r.HasAttempts {
			e.Attempts = []outcome.Attempt{}
		}
		if err := t.fillOutcomes(e); err != nil {
			return err
		}
		return t.fillAttempts(e)
	})
}

func (t *restored) fillOutcomes(e *export.Evidence) error {
	for {
		r, err := t.outcomes.peek()
		if err != nil {
			return err
		}
		if r == nil || r.RunID != e.RunID {
			return nil
		}
		o, err := t.outcome(r.Task, r.Attempt, &r.Result)
		if err != nil {
			return err
		}
		t.outcomes.next()
		if o.Judges, err = t.votes(e.RunID, o.Task); err != nil {
			return err
		}
		e.Outcomes = append(e.Outcomes, o)
	}
}

func (t *restored) fillAttempts(e *export.Evidence) error {
	for {
		r, err := t.attempts.peek()
		if err != nil {
			return err
		}
		if r == nil || r.RunID != e.RunID {
			return nil
		}
		if e.Attempts == nil {
			return fmt.Errorf("%s: has rows of run %s, which kept no attempts", path("attempts"), e.RunID)
		}
		o, err := t.outcome(r.Task, r.Attempt, &r.Result)
		if err != nil {
			return err
		}
		e.Attempts = append(e.Attempts, outcome.Attempt{Accepted: r.Accepted, Outcome: o})
		t.attempts.next()
	}
}

// outcome is what fill wrote, read back.
func (t *restored) outcome(task string, attempt *int64, r *Result) (outcome.Outcome, error) {
	o := outcome.Outcome{Task: task, State: outcome.State(r.State), Score: r.Score, CostUSD: r.CostUSD, DurationS: r.DurationS, WaitS: r.WaitS,
		ToolCalls: r.ToolCalls, ToolErrors: r.ToolErrors, Output: value(r.Output), Transcript: value(r.Transcript), Repaired: r.Repaired}
	if attempt != nil {
		o.Attempt = int(*attempt)
	}
	if t.reported && o.State == outcome.Scored {
		o.Passed = r.Passed
	}
	if k := r.Tokens; k != (Tokens{}) {
		o.Tokens = &outcome.Tokens{Input: k.Input, CacheRead: k.CacheRead, CacheWrite: k.CacheWrite, Output: k.Output}
	}
	if r.ServedModel != nil || r.ServedProvider != nil {
		o.Served = &outcome.Served{Model: value(r.ServedModel), Provider: value(r.ServedProvider)}
	}
	if r.ErrorClass != nil {
		o.Error = &outcome.Failure{Class: outcome.State(*r.ErrorClass), Message: value(r.ErrorMessage)}
	}
	if r.Flags < 0 || r.Flags > mostFlags {
		return o, fmt.Errorf("task %s: %d flags", task, r.Flags)
	}
	if r.Flags > 0 {
		o.Flags = make([]outcome.Flag, r.Flags)
	}
	if r.FlagsJSON != nil {
		if err := json.Unmarshal([]byte(*r.FlagsJSON), &o.Flags); err != nil {
			return o, fmt.Errorf("task %s: flags_json: %w", task, err)
		}
	}
	return o, nil
}

// mostFlags bounds what a number in a table can ask for.
const mostFlags = 1 << 16

// votes are the next rows of the table of judges, as far as they are of this outcome.
func (t *restored) votes(run, task string) ([]outcome.Vote, error) {
	var votes []outcome.Vote
	for {
		r, err := t.judges.peek()
		if err != nil {
			return nil, err
		}
		if r == nil || r.RunID != run || r.Task != task {
			return votes, nil
		}
		v := outcome.Vote{Name: r.Judge, Score: r.RawScore, Kind: value(r.Kind), Model: value(r.JudgeModel), CostUSD: r.CostUSD,
			Rationale: value(r.Rationale), Error: value(r.Error)}
		if r.ScaleMin != 0 || r.ScaleMax != 1 {
			v.Scale = &[2]float64{r.ScaleMin, r.ScaleMax}
		}
		if r.SampleList != nil {
			if err := json.Unmarshal([]byte(*r.SampleList), &v.Samples); err != nil {
				return nil, fmt.Errorf("%s: task %s: samples_json: %w", path("judges"), task, err)
			}
		}
		votes = append(votes, v)
		t.judges.next()
	}
}

// sum is a sum as a column of its value and two of its counts hold it.
func sum(total *float64, known, unknown int64) export.Sum {
	s := export.Sum{Known: int(known), Unknown: int(unknown)}
	if total != nil {
		s.Total = *total
	}
	return s
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

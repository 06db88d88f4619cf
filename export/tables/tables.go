// Package tables writes the Parquet tables of a dated folder, and reads them back.
//
// It is an export.Output: give Output{} to export.Write and export.Verify. Tables
// are written by parquet-go and read by arrow-go, so that a check does not rest
// on the library that wrote.
//
// The schema is fixed by the structs in rows.go and by Schema, whatever the data:
// days can be read together. Rows stand in a fixed order: evaluations as in
// result.json, tasks as in the panel, cells, variants and pairs as in the plan.
// No column holds NaN or infinity.
package tables

import (
	"github.com/benchbatch/benchbatch/export"
)

// Name of the output in the manifest, and Schema, the version of its tables.
// A change of any column is a new version.
const (
	Name   = "tables"
	Schema = 4
)

// Names of the tables, in the order in which they stand in the manifest.
var Names = []string{"cells", "evaluations", "attempts", "outcomes", "judges", "metrics", "tasks", "variants", "pairs",
	"batch", "task_variants", "families", "family_pairs", "passes", "reliability", "flags", "judging", "judge_pairs", "feedback"}

func path(table string) string { return "tables/" + table + ".parquet" }

// Output makes the tables.
type Output struct{}

// Format is the schema's version.
func (Output) Format() (string, int) { return Name, Schema }

// Start creates the files below dir/tables, or none where dir is "".
func (Output) Start(f *export.Frozen, dir string) (export.Making, error) {
	b := &builder{f: f, dir: dir}
	err := b.open(dir)
	if err != nil {
		b.Abandon()
		return nil, err
	}
	return b, nil
}

type builder struct {
	f   *export.Frozen
	dir string

	cells       *sink[CellRow]
	evaluations *sink[EvaluationRow]
	attempts    *sink[AttemptRow]
	outcomes    *sink[OutcomeRow]
	judges      *sink[JudgeRow]
	metrics     *sink[MetricRow]
	tasks       *sink[TaskRow]
	variants    *sink[VariantRow]
	pairs       *sink[PairRow]

	whole        *sink[BatchRow]
	taskVariants *sink[TaskVariantRow]
	families     *sink[FamilyRow]
	familyPairs  *sink[FamilyPairRow]
	passes       *sink[PassRow]
	reliability  *sink[ReliabilityRow]
	flags        *sink[FlagRow]
	judging      *sink[JudgingRow]
	judgePairs   *sink[JudgePairRow]
	feedback     *sink[FeedbackRow]

	all []interface {
		finish() (export.Content, error)
		abandon()
	}
}

func (b *builder) open(dir string) (err error) {
	open(b, &b.cells, "cells", dir, &err)
	open(b, &b.evaluations, "evaluations", dir, &err)
	open(b, &b.attempts, "attempts", dir, &err)
	open(b, &b.outcomes, "outcomes", dir, &err)
	open(b, &b.judges, "judges", dir, &err)
	open(b, &b.metrics, "metrics", dir, &err)
	open(b, &b.tasks, "tasks", dir, &err)
	open(b, &b.variants, "variants", dir, &err)
	open(b, &b.pairs, "pairs", dir, &err)
	open(b, &b.whole, "batch", dir, &err)
	open(b, &b.taskVariants, "task_variants", dir, &err)
	open(b, &b.families, "families", dir, &err)
	open(b, &b.familyPairs, "family_pairs", dir, &err)
	open(b, &b.passes, "passes", dir, &err)
	open(b, &b.reliability, "reliability", dir, &err)
	open(b, &b.flags, "flags", dir, &err)
	open(b, &b.judging, "judging", dir, &err)
	open(b, &b.judgePairs, "judge_pairs", dir, &err)
	open(b, &b.feedback, "feedback", dir, &err)
	return err
}

// open opens one table unless an earlier one failed.
func open[T any](b *builder, s **sink[T], table, dir string, err *error) {
	if *err != nil {
		return
	}
	if *s, *err = newSink[T](table, dir, Schema); *err == nil {
		b.all = append(b.all, *s)
	}
}

// Add writes the rows of one evaluation.
func (b *builder) Add(e *export.Evidence) error {
	k := b.keys(e)
	if err := b.addEvaluation(k, e); err != nil {
		return err
	}
	if err := b.addOutcomes(k, e); err != nil {
		return err
	}
	if err := b.addAttempts(k, e); err != nil {
		return err
	}
	if err := b.addFlags(k, e); err != nil {
		return err
	}
	return b.addMetrics(k, e)
}

// Finish writes the tables that need the whole batch, and closes all.
func (b *builder) Finish(s *export.Summary) ([]export.Content, error) {
	for _, add := range []func(*export.Summary) error{b.addCells, b.addTasks, b.addVariants, b.addPairs, b.addBatch,
		b.addTaskVariants, b.addFamilies, b.addFamilyPairs, b.addPasses, b.addReliability, b.addJudging, b.addFeedback} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	var out []export.Content
	for _, s := range b.all {
		c, err := s.finish()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Abandon closes all files as they are.
func (b *builder) Abandon() {
	for _, s := range b.all {
		s.abandon()
	}
}

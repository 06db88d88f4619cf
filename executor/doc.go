// Package executor runs what a plan is missing: it asks each model once whether
// it answers, starts evaluations in random order within the quotas, and logs each
// as a nested run of the batch. When every slot has its fate the batch is frozen.
//
// Order of use: Open a State (one launcher per folder at a time), Recover what an
// earlier launcher measured but could not log, make the plan, then Run.
//
// Every evaluation is on disk, synced, before MLflow hears of its result. Errors
// of the server stop new starts; what was measured stays in the state folder and
// is logged first by the next run.
package executor

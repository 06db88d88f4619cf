// Package executor runs what a plan is missing: it asks each model once whether
// it answers, starts evaluations in random order within the quotas, and logs each
// as a nested run of the batch. When every slot has its fate the batch is frozen.
//
// Order of use: Open a State (one launcher per folder at a time), Recover what an
// earlier launcher measured but could not log, make the plan, then Run. Forecast says
// how long a plan takes under its quotas, before anything is started.
//
// Launchers that run the same recipe meet in MLflow (package claim): one of them begins
// a batch, and they share its repeats, places of quotas and money. Who ends last freezes.
//
// Every evaluation is on disk, synced, before MLflow hears of its result. Errors
// of the server stop new starts; what was measured stays in the state folder and
// is logged first by the next run.
//
// Errors: ErrStopped (told to stop before the batch had begun), *Busy (a tool that
// claims nothing measures the same); those of the server come through as *mlflow.Error.
// What goes wrong with one evaluation is no error: it is its fate, with the reason.
package executor

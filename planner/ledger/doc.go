// Package ledger is how evaluations stand in MLflow: the tags that identify
// them, the rule for what counts as a repeat, and the calls that write a batch
// and its evaluations. docs/mlflow.md describes the same contract for other
// tools.
//
// Order of use: Open the experiment; Find what was measured for a recipe;
// StartBatch, then StartEvaluation and FinishEvaluation for each slot, and
// FinishBatch with the frozen result. Fetch reads any artifact by its run,
// ReadAssessments what people said of the traces of some.
//
// Errors: *PlanError (the stored plan of a batch is of no use), *IntegrityError (a
// stored file is not what was frozen); those of the server come through as *mlflow.Error. What does not count is
// never an error: it is listed with its reason.
package ledger

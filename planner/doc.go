// Package planner finds what is missing: it asks MLflow which valid repeats of a
// spec's cells exist, chooses the ones that count, and says what the rest would
// cost. It starts nothing.
//
// Order of use: Make gives a Plan; the executor measures its missing slots; Freeze
// turns the plan and what MLflow then holds into the batch's Result.
//
// Errors: *LabelTaken when a version label belongs to another recipe,
// *OtherScheme when measurements exist under another identity scheme only,
// *LateFresh when a batch that is under way began otherwise, *ledger.PlanError when
// its stored plan is damaged; errors of the server come through as *mlflow.Error.
package planner

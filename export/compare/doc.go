// Package compare says what changed between two frozen batches, A and B: another
// brain, or another day. Differences are always B - A.
//
// Order of use: make a Side of each batch (FolderSide for a dated folder), call Of,
// and Write the comparison as a dated folder of its own; Verify checks such a
// folder. It knows neither MLflow nor the command line.
//
// Two batches of the same recipe are compared variant by variant on the same tasks
// (F9), with the rule that both froze. Where the recipes differ, tasks that stayed
// the same may still link them (F26): then a reference that was measured in both
// shows the drift, and only the difference of differences is told. Everything else
// is refused.
//
// Errors: *Refused (the batches can't be compared, with the parts in which they
// differ), *DecisionError (the rule that was asked for fits a batch not), and those
// of package export.
package compare

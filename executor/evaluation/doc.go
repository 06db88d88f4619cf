// Package evaluation produces one measured evaluation on disk: it runs the
// user's program, and a judge where there is one, on the tasks of a panel, and
// keeps what they left. It knows nothing of MLflow and of other evaluations.
//
// Order of use: fill in a Request, call Measure, send the files of
// Measured.Artifacts wherever they belong. After a crash, Load reads back what
// Measure had finished: a folder with measured.json is whole and synced, a
// folder without it is not an evaluation.
//
// Rules of a measurement:
//
//   - Every process gets a private folder outside any repository with copies of
//     only what its digest covers, an empty home, and an allow-listed environment.
//   - A complete line of outcomes.jsonl counts even if its process was ended
//     afterwards, by its time limit or by a crash; half a line never does.
//   - A refused line (not JSON, out of range, unknown or repeated task) makes its
//     task a harness failure with the reason; nothing is guessed.
//   - A task without a score for a reason that is not the agent's doing is tried
//     again alone, as often as the spec allows for that reason; a low score is a
//     result and never tried again. Every try is a row of attempts.jsonl.
//   - Secrets are replaced by [redacted:NAME] before anything is read, hashed or kept.
//
// Measure returns an error only where there is nothing to keep: the request is
// wrong, files changed since they were hashed, or the disk refused. Everything
// else is a Measured with a state and a reason.
package evaluation

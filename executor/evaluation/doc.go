// Package evaluation produces one measured evaluation on disk: it runs the
// user's program, and a judge where there is one, on the tasks of a panel, and
// keeps what they left. It knows nothing of MLflow and of other evaluations.
//
// Order of use: fill in a Request, call Measure, send the files of
// Measured.Artifacts wherever they belong. A folder with measured.json is whole
// and synced: Load reads it back. A folder with measuring.jsonl holds an
// evaluation that was started but not saved, because the disk refused or the
// launcher was ended: Resave finishes it from what is there.
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
// What is paid for is written down at once: a runner's lines a quarter of a second
// after it wrote them, its files when it ends. The journal's room on disk is
// claimed before the first launch.
//
// Measure returns a *NotSaved where something was started and could not be saved:
// its folder must be kept. Any other error means that nothing was started: the
// request is wrong, or files changed since they were hashed. Everything else is a
// Measured with a state and a reason.
package evaluation

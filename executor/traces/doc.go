// Package traces makes MLflow's traces of the outcomes of one evaluation: pure, from what is on disk.
//
// Order of use: a Frame with TasksOf, kept on disk when the evaluation starts, so that its traces can be made by another
// process after a crash; Evaluation.Of for each outcome when it is logged; Steps for what a runner's transcript tells.
//
// All ids follow from the run's id, the task and the assessment's name, so sending a trace again doubles nothing. Unknown
// stays unknown: no cost, time or token count is made up, and no span names a model without its cost, because MLflow would
// then calculate one.
//
// Errors of Steps name the transcript's line and what would be right.
package traces

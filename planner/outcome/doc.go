// Package outcome reads and writes outcomes.jsonl, the record of one
// evaluation: one JSON object a line, one line a task.
//
// A runner writes the short form (task and score, or task and error). The
// record that benchbatch keeps is the same with state and attempt filled in,
// in panel order. ParseLine reads both and refuses what could be read in two
// ways: repeated or differently cased keys, NaN, values out of range, more than
// one value a line. Settle turns a parsed line into an outcome with a state;
// Check says whether the outcomes of a run make a valid repeat of a panel.
//
// Errors name the field, the value and the rule; *LineError adds the line, and callers the file.
package outcome

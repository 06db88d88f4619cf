// Package calibration says, from a small slice that was measured first, whether the
// whole batch is worth its money: go, change or stop, with the reasons.
//
// Order of use: give a Collector to export.Folder.Render for the folder of the
// slice, fill a Planned with the batch as it is planned, call Decide, and show the
// result: Facts, Repeats and Reasons on a terminal, Page as a document (whose charts are
// document.Figures), the value as JSON.
//
// The answers are those of export/stats: ceiling and floor (F23), informative tasks
// and families (F24), run shocks and stability (F8, F25), failures (F22), the
// detectable difference and what the margin needs (F18), and the cost of the rest
// (F21). Nothing here compares variants: a slice decides nothing about them.
//
// Without data the verdict is stop, never go. No function returns an error but
// Collector's, whose input is a checked folder. What is unknown is nil.
package calibration

// Package stats decides what a batch shows: which variant beats which, which
// are equal, and where nothing can be said. It is pure: no files, no clock, no
// global random state, and the same results on any number of cores.
//
// Order of use:
//
//  1. Begin checks a Batch (variants × tasks × runs) and takes its runs one by one;
//     Data is then immutable.
//  2. Decide applies a Rule, frozen before the run, and returns Verdicts: a mark
//     for each pair with its reasons, ranks, groups and non-inferiority.
//  3. Describe adds what does not decide: intervals, pass@k, reliability,
//     agreement of judges, informative tasks.
//  4. Simulate and Shuffle show how often the rule separates what is equal.
//
// Formulas are numbered F1 to F26 and named in the comments of the functions
// that hold them. Three noises are kept apart throughout: rerun (the same agent
// on the same task again), task sampling (other tasks like these) and run shock
// (a whole run shifted by something outside the agent).
//
// Scores lie in [0,1], costs are USD, times are seconds. What is undefined is
// nil or ok == false, never NaN and never 0. Errors name the variant, run and
// task, the value, and what would be right.
package stats

// Package batch holds the words of a benchmark batch as types: digests, the
// identity of a cell, tasks, the frozen plan and the frozen result.
//
// Order of use: a spec is resolved to Manifests (one per part), their digests
// make an Identity per cell, the planner writes a Plan, and at the end of a
// run the frozen Result names the run and the digests that count for every
// (cell, slot). Nothing here does network I/O; only DirDigest reads files.
//
// Errors name the file or field and say what would be right.
package batch

// Package examples holds the benchmarks that are bundled with the binary, as embedded files.
//
// Embedding drops execute permissions, so every command of an example goes through an interpreter
// (python3 or sh).
package examples

import "embed"

// SupportBench is the demo benchmark; all its files lie under the folder "support-bench" and its
// spec is support-bench/benchmark.yaml.
//
//go:embed all:support-bench
var SupportBench embed.FS

// Package spec turns a benchmark's YAML file into a checked Spec and resolves
// it to cells with an identity.
//
// Order of use: Load reads and checks the file and everything it names, and
// returns every problem at once (Problems, in file order, each with its place
// and what would be right); Resolve hashes the parts and gives the cells.
// Neither writes anything, starts anything or uses the network. Uncovered lists
// what stands beside a spec and belongs to no part; CommandFiles says which files
// belong to a command; Init writes a benchmark to start from.
//
// Every field carries a class tag that says what it is part of: agent, model,
// execution, scoring (these make the identity of a cell), batch (part of the
// batch key) or free. A field at its default is left out of every digest, and
// defaults never change, so that new fields orphan no measurement.
package spec

// Package chaos is for the test that runs many small batches while everything around
// them goes wrong, and for nothing else: what goes wrong, and what may never happen.
//
// Order of use:
//
//	p, err := chaos.NewProxy(server, share, seed, tally) // launchers talk to the server through it
//	…                                             // launchers run; the test kills, stops and starves them
//	works, err := chaos.ReadLog(name)             // what the runner itself wrote, a line at a time
//	facts := chaos.Facts{Works: works, …}         // with who was killed and stopped when, and what MLflow has
//	facts.Violations()                            // empty, or the batch was not run as promised
//
// A fault counts in a [Tally] only when it has happened: a request was touched, a
// signal reached a process that was alive. The choice of faults follows from the seed;
// when each happens also depends on the machine.
//
// Errors are those of files and addresses; a log line that can't be read names the file
// and the line.
package chaos

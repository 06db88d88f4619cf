package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/compare"
	"github.com/benchbatch/benchbatch/export/escape"
	"github.com/benchbatch/benchbatch/planner"
	"github.com/benchbatch/benchbatch/planner/ledger"
	"github.com/benchbatch/benchbatch/planner/spec"
)

// The exit codes. Scripts may rely on them; a code that is not listed means failure.
const (
	ExitDone        = 0   // done
	ExitFailed      = 1   // failed
	ExitUsage       = 2   // usage or spec error
	ExitVerdict     = 3   // finished, verdict negative or inconclusive where one was demanded
	ExitIncomplete  = 4   // incomplete: cells are missing
	ExitIntegrity   = 5   // a hash does not match
	ExitInterrupted = 130 // interrupted
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// incomplete ends a command whose work is not all done.
type incomplete struct{ text string }

func (e incomplete) Error() string { return e.text }

// errInterrupted ends a command that was told to stop.
var errInterrupted = errors.New("interrupted; the same command continues where it stopped")

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	var (
		usage    usageError
		problems spec.Problems
		taken    *planner.LabelTaken
		scheme   *planner.OtherScheme
		late     *planner.LateFresh
		part     incomplete
		negative refuted
		changed  *ledger.IntegrityError
		folder   *export.IntegrityError
		refused  *compare.Refused
	)
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &changed), errors.As(err, &folder):
		return ExitIntegrity
	case errors.As(err, &usage), errors.As(err, &problems), errors.As(err, &taken), errors.As(err, &scheme), errors.As(err, &late), isCobraUsage(err):
		return ExitUsage
	case errors.As(err, &negative):
		return ExitVerdict
	case errors.As(err, &part):
		return ExitIncomplete
	case errors.As(err, &refused):
		return ExitVerdict
	}
	return ExitFailed
}

// isCobraUsage recognises what the command parser reports as plain text.
func isCobraUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires at least", "requires at most", "required flag"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// finish prints the error and gives its code.
func (a *App) finish(err error) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	text := err.Error()
	if err == context.Canceled { //nolint:errorlint // alone it says nothing; what wraps it says where
		text = "interrupted"
	}
	if problems := (spec.Problems)(nil); errors.As(err, &problems) && len(problems) > 1 {
		text = plural(len(problems), "problem") + "\n" + text // each begins with its place then, as editors want it
	}
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i == 0 {
			line = "error: " + line
		}
		a.say("%s", escape.Terminal(line))
	}
	if isCobraUsage(err) {
		fmt.Fprintln(a.Stderr, "see `benchbatch --help`")
	}
	return code
}

package stats

import "strings"

// Mark is the verdict on a pair.
type Mark uint8

// From the strongest claim to none.
const (
	CannotTell Mark = iota // "?": neither a difference nor its absence can be claimed
	Tied                   // "~": a difference of the margin's size would probably have shown
	Equal                  // "=": the difference lies inside the margin
	Ahead                  // ahead on this list: on exactly these tasks; shares the rank
	Beats                  // one variant is better on tasks like these
)

var markNames = [...]string{"cannot tell", "tied", "equal", "ahead on this list", "beats"}

// String is the mark's name.
func (m Mark) String() string { return markNames[m] }

// Code says why a mark is no stronger, or warns.
type Code uint8

// In the order in which they are printed.
const (
	NoRepeats              Code = iota // fewer than 3 repeats of one side, or rerun noise unknown
	TooFewTasks                        // fewer than 10 common tasks
	MeasuredApart                      // the runs have no counterpart within 24 hours
	ProviderFailuresDecide             // scoring failures 0 would change the verdict
	JudgeDependent                     // leaving out a judge of a variant's own family would
	Powerless                          // a difference of the margin's size could have stayed unseen
	MarginUndeclared                   // no margin was frozen
	UnstableRuns                       // runs differ by more than rerun noise
)

// codes are the names of data, and the words of people for the same.
var codes = [...]struct{ name, words string }{
	{"no_repeats", "too few repeats"},
	{"too_few_tasks", "too few common tasks"},
	{"measured_apart", "measured apart"},
	{"provider_failures_decide", "failures that are not the agent's decide"},
	{"judge_dependent", "a judge of a variant's own model decides"},
	{"powerless", "too little power"},
	{"margin_undeclared", "no margin was declared"},
	{"unstable_runs", "whole runs differ"},
}

// String is the code's name, as in tables and JSON.
func (c Code) String() string { return codes[c].name }

// Words is the code as pages say it.
func (c Code) Words() string { return codes[c].words }

// Refusals are the codes of step 2, under which a pair is not tested.
const Refusals Codes = 1<<NoRepeats | 1<<TooFewTasks | 1<<MeasuredApart

// Codes is a set of codes.
type Codes uint16

// With is the set with c in it.
func (s Codes) With(c Code) Codes { return s | 1<<c }

// Has says whether c is in the set.
func (s Codes) Has(c Code) bool { return s&(1<<c) != 0 }

// List is the codes in printing order.
func (s Codes) List() []Code {
	var out []Code
	for c := range Code(len(codes)) {
		if s.Has(c) {
			out = append(out, c)
		}
	}
	return out
}

// Strings is the codes' names in printing order.
func (s Codes) Strings() []string {
	var out []string
	for _, c := range s.List() {
		out = append(out, c.String())
	}
	return out
}

// Words is the codes in words, in printing order; "" where there are none.
func (s Codes) Words() string {
	var out []string
	for _, c := range s.List() {
		out = append(out, c.Words())
	}
	return strings.Join(out, ", ")
}

// Nobody stands where no variant is meant.
const Nobody = -1

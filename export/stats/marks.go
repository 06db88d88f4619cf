package stats

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

var codeNames = [...]string{"no_repeats", "too_few_tasks", "measured_apart", "provider_failures_decide",
	"judge_dependent", "powerless", "margin_undeclared", "unstable_runs"}

// String is the code's name.
func (c Code) String() string { return codeNames[c] }

// refusals are the codes of step 2, under which a pair is not tested.
const refusals Codes = 1<<NoRepeats | 1<<TooFewTasks | 1<<MeasuredApart

// Codes is a set of codes.
type Codes uint16

func (s Codes) with(c Code) Codes { return s | 1<<c }

// Has says whether c is in the set.
func (s Codes) Has(c Code) bool { return s&(1<<c) != 0 }

// List is the codes in printing order.
func (s Codes) List() []Code {
	var out []Code
	for c := range Code(len(codeNames)) {
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

// Nobody stands where no variant is meant.
const Nobody = -1

package outcome

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxLine is the longest line, in bytes, that is read as one outcome.
const MaxLine = 16 << 20

// MaxCostUSD is the largest cost of one task that is believed, in USD.
const MaxCostUSD = 1e6

// ParseLine reads one line. It neither fills in nor takes over anything: a
// member that is absent or null stays nil. Invalid UTF-8 is replaced by U+FFFD
// and marked in Repaired.
func ParseLine(line []byte) (Outcome, error) { return parseLine(&scanner{}, line) }

// parseLine is ParseLine with a scanner that may have read other lines.
func parseLine(s *scanner, line []byte) (Outcome, error) {
	var o Outcome
	repaired := !utf8.Valid(line)
	if repaired {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return o, errors.New("empty line: one JSON object is expected")
	}
	if line[0] != '{' {
		return o, fmt.Errorf("starts with %q: one JSON object is expected", firstRune(line))
	}
	if !o.fast(s, line) {
		var err error
		if o, err = strict(line); err != nil {
			return Outcome{}, err
		}
	}
	o.Repaired = o.Repaired || repaired
	if err := o.validate(); err != nil {
		return Outcome{}, err
	}
	return o, nil
}

// strict reads one line with all the checks of the decoder.
func strict(line []byte) (Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(line, &o); err != nil {
		return o, explain(err)
	}
	if err := checkOther(o.Other); err != nil {
		return o, err
	}
	o.Other = nil
	return o, nil
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

// explain says in the words of the contract what the decoder refused.
func explain(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		at := string(sem.JSONPointer)
		if at == "" {
			at = "the line"
		}
		return fmt.Errorf("%s: a JSON %s is not what belongs there (wanted %v)", at, kindName(sem.JSONKind), sem.GoType)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Errorf("a key stands twice: %w", err)
	}
	return fmt.Errorf("not one JSON object: %w", err)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "text"
	case '0':
		return "number out of range or of another kind"
	case '{':
		return "object"
	case '[':
		return "list"
	}
	return "value"
}

var known = []string{"task", "state", "score", "passed", "attempt", "judges", "tokens", "cost_usd", "duration_s",
	"wait_s", "tool_calls", "tool_errors", "served", "output", "transcript", "flags", "error", "repaired"}

// checkOther refuses a member whose key differs from a known one by case alone.
func checkOther(other jsontext.Value) error {
	if len(other) == 0 {
		return nil
	}
	var m map[string]jsontext.Value
	if err := json.Unmarshal(other, &m); err != nil {
		return explain(err)
	}
	for k := range m {
		for _, name := range known {
			if strings.EqualFold(k, name) {
				return fmt.Errorf("key %q is not %q: keys are lower case", k, name)
			}
		}
	}
	return nil
}

func (o *Outcome) validate() error {
	if o.Task == "" {
		return errors.New(`"task" is missing`)
	}
	err := cmp.Or(
		inRange("score", o.Score, 0, 1),
		inRange("cost_usd", o.CostUSD, 0, MaxCostUSD),
		inRange("duration_s", o.DurationS, 0, math.MaxFloat64),
		inRange("wait_s", o.WaitS, 0, math.MaxFloat64),
		notNegative("tool_calls", o.ToolCalls),
		notNegative("tool_errors", o.ToolErrors),
		o.Tokens.validate())
	if err != nil {
		return err
	}
	if o.Error != nil && !o.Error.Class.failure() {
		return fmt.Errorf("error.class %q: one of agent, timeout, provider, tool, harness, judge, budget is expected", o.Error.Class)
	}
	return o.validateVotes()
}

// failure says whether s is the class of an error.
func (s State) failure() bool { return s != Scored && slices.Contains(States, s) }

func (t *Tokens) validate() error {
	if t == nil {
		return nil
	}
	return cmp.Or(notNegative("tokens.input", t.Input), notNegative("tokens.cache_read", t.CacheRead),
		notNegative("tokens.cache_write", t.CacheWrite), notNegative("tokens.output", t.Output))
}

func notNegative(name string, n *int64) error {
	if n == nil || *n >= 0 {
		return nil
	}
	return fmt.Errorf("%s %d: a count is at least 0 (null = unknown)", name, *n)
}

func (o *Outcome) validateVotes() error {
	if len(o.Judges) > maxVotes {
		return fmt.Errorf("judges: %d votes, at most %d are read", len(o.Judges), maxVotes)
	}
	for i := range o.Judges {
		v := &o.Judges[i]
		if err := v.validate(); err != nil {
			return fmt.Errorf("judges[%d].%w", i, err)
		}
		for j := range i {
			if o.Judges[j].Name == v.Name {
				return fmt.Errorf("judges[%d].name %q stands twice: one vote a judge (single votes go into samples)", i, v.Name)
			}
		}
	}
	return nil
}

// maxVotes bounds the judges of one outcome.
const maxVotes = 1000

func (v *Vote) validate() error {
	if v.Name == "" {
		return errors.New("name is missing")
	}
	switch v.Kind {
	case "", "code", "model", "human":
	default:
		return fmt.Errorf("kind %q: one of code, model, human is expected", v.Kind)
	}
	lo, hi := v.Range()
	if !(lo < hi) {
		return fmt.Errorf("scale [%v, %v]: the first must be below the second", lo, hi)
	}
	return cmp.Or(inRange("score", v.Score, lo, hi), inRange("cost_usd", v.CostUSD, 0, MaxCostUSD))
}

// Range is the lowest and highest score that the judge may give.
func (v Vote) Range() (lo, hi float64) {
	if v.Scale == nil {
		return 0, 1
	}
	return v.Scale[0], v.Scale[1]
}

// Unit is the vote's score mapped to [0,1]; nil where there is none.
func (v Vote) Unit() *float64 {
	if v.Score == nil {
		return nil
	}
	lo, hi := v.Range()
	u := (*v.Score - lo) / (hi - lo)
	return &u
}

func inRange(name string, v *float64, lo, hi float64) error {
	if v == nil || (*v >= lo && *v <= hi) {
		return nil
	}
	return fmt.Errorf("%s %v: a number from %v to %v is expected", name, *v, lo, hi)
}

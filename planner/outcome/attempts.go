package outcome

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReadAttempts reads attempts.jsonl: settled outcomes, each with the member
// "accepted" beside it. A task may stand in many lines.
func ReadAttempts(r io.Reader, p TimeoutPolicy) ([]Attempt, error) {
	out := []Attempt{}
	s := manyLines()
	err := Lines(r, func(n int, line []byte) error {
		a, err := parseAttempt(s, line)
		if err == nil {
			a.Outcome, err = Settle(a.Outcome, p)
		}
		if err != nil {
			return &LineError{n, err}
		}
		out = append(out, a)
		return nil
	})
	return out, err
}

// ParseAttempt reads one line of attempts.jsonl; as ParseLine does, it settles nothing.
func ParseAttempt(line []byte) (Attempt, error) { return parseAttempt(&scanner{}, line) }

func parseAttempt(s *scanner, line []byte) (Attempt, error) {
	o, err := parseLine(s, line)
	if err != nil {
		return Attempt{}, err
	}
	a := Attempt{Outcome: o}
	switch { // as Append writes it
	case bytes.HasPrefix(line, []byte(`{"accepted":true,`)):
		a.Accepted = true
		return a, nil
	case bytes.HasPrefix(line, []byte(`{"accepted":false,`)):
		return a, nil
	}
	var m struct {
		Accepted *bool          `json:"accepted"`
		Other    jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(bytes.ToValidUTF8(line, []byte("\uFFFD")), &m); err != nil {
		return a, err
	}
	if m.Accepted == nil {
		return a, errors.New(`"accepted" is missing`)
	}
	a.Accepted = *m.Accepted
	return a, nil
}

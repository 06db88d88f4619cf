package outcome

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// LineError is a refused line of a file.
type LineError struct {
	Line   int // 1..
	Reason error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Reason) }

func (e *LineError) Unwrap() error { return e.Reason }

// Lines calls f for every line that is not blank, with its number. A leading
// byte-order mark is dropped. The slice is only valid during the call.
func Lines(r io.Reader, f func(n int, line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := f(n, line); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return &LineError{n + 1, fmt.Errorf("longer than %d bytes", MaxLine)}
	}
	return s.Err()
}

// Read reads a whole record: every line must be a settled outcome of its own task.
func Read(r io.Reader, p TimeoutPolicy) ([]Outcome, error) { return ReadAbout(r, p, 0) }

// ReadAbout is Read of a record that holds about so many outcomes.
func ReadAbout(r io.Reader, p TimeoutPolicy, about int) ([]Outcome, error) {
	var out []Outcome
	s := manyLines()
	var seen tasks
	err := Lines(r, func(n int, line []byte) error {
		o, err := parseLine(s, line)
		if err == nil {
			o, err = Settle(o, p)
		}
		if err == nil && !seen.add(o.Task, out) {
			err = fmt.Errorf("task %q stands twice", o.Task)
		}
		if err != nil {
			return &LineError{n, err}
		}
		if out == nil {
			out = make([]Outcome, 0, min(max(about, 1), 100_000))
		}
		out = append(out, o)
		return nil
	})
	return out, err
}

// tasks knows which tasks were read. While they arrive in order, the last one says it.
type tasks map[string]bool

// add says whether a task is new to those of the outcomes before it.
func (t *tasks) add(task string, before []Outcome) bool {
	if *t == nil {
		if len(before) == 0 || task > before[len(before)-1].Task {
			return true
		}
		*t = make(tasks, len(before)+1)
		for i := range before {
			(*t)[before[i].Task] = true
		}
	}
	if (*t)[task] {
		return false
	}
	(*t)[task] = true
	return true
}

// Append writes one outcome or attempt as a line.
func Append(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Work is one process of the runner, as it told itself.
type Work struct {
	UUID     string // of the evaluation
	Cell     string // agent+model
	Model    string
	Slot     int
	Attempt  int
	PID      int
	Launcher string // which process of a launcher had started it
	Start    time.Time
	Over     time.Time // zero = it did not say
	// Succeeded says that every task of the evaluation that it was given has a score.
	Succeeded bool
	Paid      float64 // USD, booked by the provider
	Told      float64 // USD, of the rows that it has handed over
}

// Process names a process of the runner. Its number alone may be used again.
type Process struct {
	UUID string // of the evaluation
	PID  int
}

// Process names it.
func (w Work) Process() Process { return Process{w.UUID, w.PID} }

// line is what the runner writes: one word of one process.
type line struct {
	Word     string  `json:"word"` // start, paid, told, end
	UUID     string  `json:"uuid"`
	PID      int     `json:"pid"`
	At       int64   `json:"at"` // ns
	Agent    string  `json:"agent"`
	Model    string  `json:"model"`
	Slot     int     `json:"slot"`
	Attempt  int     `json:"attempt"`
	Launcher string  `json:"launcher"`
	USD      float64 `json:"usd"`
	Scored   bool    `json:"scored"` // of end: every task has a score
}

// ReadLog reads the runner's log, by start. A file that is not there is an empty one.
// The last line may still be at work.
func ReadLog(name string) ([]Work, error) {
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	at := map[Process]int{}
	var all []Work
	for i, text := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %.80q is no line of the runner: %w", name, i+1, text, err)
		}
		p := Process{l.UUID, l.PID}
		if l.Word == "start" {
			at[p] = len(all)
			all = append(all, Work{UUID: l.UUID, Cell: l.Agent + "+" + l.Model, Model: l.Model, Slot: l.Slot, Attempt: l.Attempt,
				PID: l.PID, Launcher: l.Launcher, Start: time.Unix(0, l.At)})
			continue
		}
		n, ok := at[p]
		if !ok {
			return nil, fmt.Errorf("%s:%d: process %d says %q before it says start", name, i+1, l.PID, l.Word)
		}
		all[n].hear(l)
	}
	slices.SortStableFunc(all, func(a, b Work) int { return a.Start.Compare(b.Start) })
	return all, nil
}

func (w *Work) hear(l line) {
	switch l.Word {
	case "paid":
		w.Paid += l.USD
	case "told":
		w.Told += l.USD
	case "end":
		w.Over, w.Succeeded = time.Unix(0, l.At), l.Scored
	}
}

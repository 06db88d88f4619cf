package evaluation

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

const (
	watchEvery = 250 * time.Millisecond
	watchBlock = 8 << 20 // bytes read at a time; a longer line is read when the runner has ended
)

// watch writes a runner's outcomes into the journal while it writes them, and
// reports progress. The returned function ends it.
func (m *measurement) watch(out string, n int, tasks []batch.Task) func() {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		f := m.follow(out, n, tasks)
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if records := f.more(); len(records) > 0 {
					_ = m.journal.add(records...) // kept by the journal and seen when the runner has ended
					m.progress(m.measured + len(f.seen))
				}
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// follower reads the complete lines of a growing outcomes.jsonl.
type follower struct {
	out     string
	attempt int
	at      int64 // bytes read
	n       int   // lines read
	lines   *lines
	wanted  map[string]bool
	seen    map[string]int
}

func (m *measurement) follow(out string, n int, tasks []batch.Task) *follower {
	f := &follower{out: out, attempt: n, lines: m.newLines(), wanted: map[string]bool{}, seen: map[string]int{}}
	for _, t := range tasks {
		f.wanted[t.ID] = true
	}
	return f
}

// more is what the new lines say.
func (f *follower) more() []record {
	file, err := openRegular(f.out, batch.FileOutcomes)
	if err != nil {
		return nil
	}
	defer file.Close()
	b, err := io.ReadAll(io.NewSectionReader(file, f.at, watchBlock))
	if err != nil {
		return nil
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	f.at += int64(len(b))
	var all []record
	for line := range bytes.Lines(b) {
		f.n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		task := f.lines.line(f.n, []byte(f.lines.red.Text(string(line))), f.wanted, f.seen)
		if task == "" {
			continue
		}
		o, ok := f.lines.of[task]
		if !ok {
			o = outcome.Failed(task, outcome.Harness, batch.FileOutcomes+" "+cutText(f.lines.refused[task], 500))
		}
		o.Attempt = f.attempt
		all = append(all, record{Answer: &journalAnswer{Live: true, Outcome: o}})
	}
	return all
}

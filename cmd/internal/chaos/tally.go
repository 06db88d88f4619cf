package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Tally counts what has happened, by kind. Its zero value is ready, and safe for use
// by many goroutines.
type Tally struct {
	mu sync.Mutex
	n  map[string]int
}

// Add counts one.
func (t *Tally) Add(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int{}
	}
	t.n[kind]++
}

// Total is the number of all kinds.
func (t *Tally) Total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := 0
	for _, n := range t.n {
		sum += n
	}
	return sum
}

// Of is the number of one kind.
func (t *Tally) Of(kind string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[kind]
}

// String lists the kinds by name, as "12 kind, 3 other kind".
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(t.n)) {
		parts = append(parts, fmt.Sprintf("%d %s", t.n[kind], kind))
	}
	return strings.Join(parts, ", ")
}

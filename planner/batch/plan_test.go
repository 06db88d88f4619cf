package batch

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValidityAllowed(t *testing.T) {
	for _, c := range []struct {
		share float64
		tasks int
		want  int
	}{{0.05, 500, 25}, {0.05, 60, 3}, {0.05, 59, 2}, {0.05, 12, 1}, {0, 100, 1}, {0.1, 30, 3}, {0.29, 100, 29},
		{0.05, 1, 0}, {1, 1, 0}, {0.05, 2, 1}, {1, 12, 11}} {
		assert.Equal(t, c.want, Validity{MaxMissing: c.share}.Allowed(c.tasks), "%v of %d", c.share, c.tasks)
	}
}

func TestCountsAddUp(t *testing.T) {
	c := Counts{Planned: 15, Reused: 1, Done: 2, Failed: 3, Skipped: 4, NotStarted: 5}
	assert.True(t, c.AddUp())
	c.Failed++
	assert.False(t, c.AddUp())
}

func TestStatesThatCount(t *testing.T) {
	for state, want := range map[EvaluationState]bool{
		StateComplete: true, StatePartial: true, StateIncomplete: false, StateInterrupted: false, StateSuperseded: false, "": false,
	} {
		assert.Equal(t, want, state.Counts(), state)
	}
}

func TestIDPattern(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "T-001": true, "qwen_27b.v1": true, "": false, "a/b": false, "a+b": false, "é": false, "a\n": false} {
		assert.Equal(t, want, IDPattern.MatchString(id), id)
	}
	assert.Equal(t, "opencode+qwen-27b", Variant{"opencode", "qwen-27b"}.String())
}

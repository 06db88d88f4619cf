package batch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValuesOfAssessments(t *testing.T) {
	yes, no := true, false
	for value, want := range map[string]struct {
		number *float64
		truth  *bool
		text   any
	}{
		`0.5`: {number: ptr(.5)}, `0`: {number: ptr(0.)}, `true`: {truth: &yes}, `"yes"`: {truth: &yes, text: "yes"}, `"no"`: {truth: &no, text: "no"},
		`"Yes"`: {text: "Yes"}, `""`: {text: ""}, `null`: {}, ``: {}, `["a"]`: {}, `{"a":1}`: {},
	} {
		a := Assessment{Value: json.RawMessage(value)}
		assert.Equal(t, want.number, a.Number(), value)
		assert.Equal(t, want.truth, a.Bool(), value)
		if want.text == nil {
			assert.Nil(t, a.Text(), value)
		} else {
			require.NotNil(t, a.Text(), value)
			assert.Equal(t, want.text, *a.Text())
		}
	}
}

func ptr(v float64) *float64 { return &v }

func TestFeedbackIsInOrderWhateverItCameIn(t *testing.T) {
	at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	a := Assessment{RunID: "a", Task: "T-1", Name: "tone", Kind: KindFeedback, Value: json.RawMessage(`"<b>\u202e🙂"`), Who: "ann", Created: at, Updated: at, Trace: "tr-1", ID: "a-2"}
	b, c := a, a
	b.ID, c.RunID = "a-1", "b"
	f, lines, err := NewFeedback(at.In(time.FixedZone("east", 3600)).Add(999), 9, []Assessment{c, a, b})
	require.NoError(t, err)
	again, same, err := NewFeedback(at, 9, []Assessment{b, c, a})
	require.NoError(t, err)
	assert.Equal(t, string(lines), string(same))
	assert.Equal(t, f, again)
	assert.Equal(t, []any{3, 9, Sum(lines), int64(len(lines)), at}, []any{f.Rows, f.Traces, f.Digest, f.Size, f.AsOf})
	read, err := ReadFeedback(lines)
	require.NoError(t, err)
	require.Len(t, read, 3)
	assert.Equal(t, []string{"a-1", "a-2", "b"}, []string{read[0].ID, read[1].ID, read[2].RunID})
	assert.Equal(t, "<b>\u202e🙂", *read[0].Text())

	none, lines, err := NewFeedback(at, 9, nil)
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.Equal(t, Sum(nil), none.Digest)
	_, err = ReadFeedback([]byte("{}\n{"))
	assert.ErrorContains(t, err, "line 2")
}

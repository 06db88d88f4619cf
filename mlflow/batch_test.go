package mlflow

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSplit cuts batches of all shapes: legal requests, nothing lost, nothing twice, order kept.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Batch
		for i := range rapid.IntRange(0, 2500).Draw(t, "metrics") {
			b.Metrics = append(b.Metrics, Metric{Key: fmt.Sprintf("m%d", i), Value: 1, Timestamp: 1})
		}
		for i := range rapid.IntRange(0, 450).Draw(t, "params") {
			b.Params = append(b.Params, Param{Key: fmt.Sprintf("p%d", i), Value: strings.Repeat("é", rapid.SampledFrom([]int{0, 10, 6000}).Draw(t, "length"))})
		}
		for i := range rapid.IntRange(0, 450).Draw(t, "tags") {
			b.Tags = append(b.Tags, Tag{Key: fmt.Sprintf("t%d", i), Value: strings.Repeat(`"`, rapid.SampledFrom([]int{0, 10, 8000}).Draw(t, "length"))})
		}
		chunks, err := split("run", b)
		require.NoError(t, err)
		var all Batch
		for _, c := range chunks {
			body, err := encode(c)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(body), maxBatchBytes)
			assert.LessOrEqual(t, len(c.Metrics), 1000)
			assert.LessOrEqual(t, len(c.Params), 100)
			assert.LessOrEqual(t, len(c.Tags), 100)
			n := len(c.Metrics) + len(c.Params) + len(c.Tags)
			assert.LessOrEqual(t, n, 1000)
			assert.Positive(t, n)
			assert.Equal(t, "run", c.RunID)
			all.Metrics, all.Params, all.Tags = append(all.Metrics, c.Metrics...), append(all.Params, c.Params...), append(all.Tags, c.Tags...)
		}
		assert.Equal(t, b, all)
	})
}

func TestSplitIsSmall(t *testing.T) {
	chunks, err := split("run", Batch{Metrics: make([]Metric, 15), Params: make([]Param, 6), Tags: make([]Tag, 4)})
	require.NoError(t, err)
	assert.Len(t, chunks, 1, "a whole evaluation in one request")
	chunks, err = split("run", Batch{})
	require.NoError(t, err)
	assert.Empty(t, chunks)
}

func TestMetricsAreReadAsServersWriteThem(t *testing.T) {
	for text, want := range map[string]Metric{
		`{"key":"a","value":0.1,"timestamp":1700000000000,"step":3}`:       {"a", 0.1, 1_700_000_000_000, 3},
		`{"key":"a","value":"0.1","timestamp":"1700000000000","step":"3"}`: {"a", 0.1, 1_700_000_000_000, 3},
		`{"key":"a","value":"Infinity","timestamp":1.7e12}`:                {"a", math.Inf(1), 1_700_000_000_000, 0},
		`{"key":"a","value":"-Infinity"}`:                                  {"a", math.Inf(-1), 0, 0},
		`{"key":"a","value":1,"timestamp":9007199254740993}`:               {"a", 1, 9_007_199_254_740_993, 0},
	} {
		var m Metric
		require.NoError(t, m.UnmarshalJSON([]byte(text)), text)
		assert.Equal(t, want, m, text)
	}
	var m Metric
	require.NoError(t, m.UnmarshalJSON([]byte(`{"key":"a","value":"NaN"}`)))
	assert.True(t, math.IsNaN(m.Value))
	for _, text := range []string{`{"value":"much"}`, `{"timestamp":1.5}`, `{"step":"x"}`, `{"timestamp":1e30}`, `[]`} {
		assert.Error(t, m.UnmarshalJSON([]byte(text)), text)
	}
}

package outcome_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

// testLines are the lines of a file, blank ones included.
func testLines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// line makes a runner's line of a result without a task.
func line(result string) []byte {
	return []byte(strings.Replace(result, "{", `{"task":"T-1",`, 1))
}

// Results that are not quite JSON: what is refused, with what reason, and what is not.
func TestOddResults(t *testing.T) {
	refused := map[int]string{
		1: "not one JSON object", 2: "not one JSON object", 3: "/score", // not a finite number
		4: "/score: a JSON text",                                             // text
		5: `key "Score" is not "score"`, 6: "stands twice", 7: `key "SCORE"`, // ambiguous or unknown key
		9: "/score: a JSON boolean", 10: "/score: a JSON list",
		11: "not one JSON object", 12: "not one JSON object", // more than one value
		16: "score 1.5: a number from 0 to 1", 17: "score -0.1: a number from 0 to 1",
		18: "/tokens: a JSON number",
		19: "not one JSON object", 20: "starts with '['", 21: "starts with '0'", 22: "empty line",
	}
	lines := testLines(t, "odd-results.jsonl")
	require.Len(t, lines, 22)
	for i, text := range lines {
		n := i + 1
		o, err := outcome.ParseLine(line(text))
		if want, ok := refused[n]; ok {
			require.ErrorContains(t, err, want, "line %d: %s", n, text)
			assert.Equal(t, outcome.Outcome{}, o, "a refused line leaves nothing behind")
			continue
		}
		require.NoError(t, err, "line %d: %s", n, text)
		if n == 8 { // null
			assert.Nil(t, o.Score)
			_, err = outcome.Settle(o, outcome.TimeoutFail)
			require.ErrorContains(t, err, "neither score nor error")
			continue
		}
		require.NotNil(t, o.Score, "line %d", n) // 13-15: an error bar is nobody's business here
		assert.InDelta(t, 0.5, *o.Score, 0)
	}
}

func TestCountsAreExact(t *testing.T) {
	o, err := outcome.ParseLine([]byte(`{"task":"T-1","score":0.5,"tokens":{"input":9007199254740993}}`))
	require.NoError(t, err)
	assert.Equal(t, int64(9007199254740993), *o.Tokens.Input)
}

func TestNoValueIsTakenOverFromTheLineBefore(t *testing.T) {
	first, err := outcome.ParseLine([]byte(`{"task":"T-1","score":0.5,"cost_usd":1,"passed":true}`))
	require.NoError(t, err)
	second, err := outcome.ParseLine([]byte(`{"task":"T-2","score":null,"cost_usd":null}`))
	require.NoError(t, err)
	assert.Nil(t, second.Score)
	assert.Nil(t, second.CostUSD)
	assert.Nil(t, second.Passed)
	assert.InDelta(t, 0.5, *first.Score, 0)
}

// An unknown cost stays unknown; text, negative and absurd ones are refused.
func TestCosts(t *testing.T) {
	want := []string{"0.1", "nil", "nil", "/cost_usd: a JSON text", "cost_usd -1", "cost_usd 1e+308", "/tokens"}
	for i, text := range testLines(t, "costs.jsonl") {
		o, err := outcome.ParseLine(line(text))
		switch want[i] {
		case "0.1":
			require.NoError(t, err)
			assert.InDelta(t, 0.1, *o.CostUSD, 0)
		case "nil":
			require.NoError(t, err)
			assert.Nil(t, o.CostUSD)
		default:
			require.ErrorContains(t, err, want[i])
		}
	}
}

func TestRefusedFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"score":1}`:                                           `"task" is missing`,
		`{"task":"","score":1}`:                                 `"task" is missing`,
		`{"task":"T","score":1,"duration_s":-1}`:                "duration_s -1",
		`{"task":"T","score":1,"wait_s":-1}`:                    "wait_s -1",
		`{"task":"T","score":1,"tool_calls":-1}`:                "tool_calls -1",
		`{"task":"T","score":1,"tool_errors":1.5}`:              "/tool_errors",
		`{"task":"T","score":1,"tokens":{"output":-5}}`:         "tokens.output -5",
		`{"task":"T","score":1,"error":{"class":"cosmic"}}`:     `error.class "cosmic"`,
		`{"task":"T","score":1,"error":{"class":"scored"}}`:     `error.class "scored"`,
		`{"task":"T","judges":[{"score":1}]}`:                   "judges[0].name is missing",
		`{"task":"T","judges":[{"name":"a"},{"name":"a"}]}`:     `judges[1].name "a" stands twice`,
		`{"task":"T","judges":[{"name":"a","kind":"oracle"}]}`:  `judges[0].kind "oracle"`,
		`{"task":"T","judges":[{"name":"a","scale":[5,1]}]}`:    "judges[0].scale [5, 1]",
		`{"task":"T","judges":[{"name":"a","score":2}]}`:        "judges[0].score 2",
		`{"task":"T","judges":[{"name":"a","cost_usd":-1}]}`:    "judges[0].cost_usd -1",
		`{"task":"T","tokens":{"Input":1,"input":2,"input":3}}`: "stands twice",
	} {
		_, err := outcome.ParseLine([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestEverythingOfTheContractIsRead(t *testing.T) {
	o, err := outcome.ParseLine([]byte(`{"task":"T-007","score":0.82,"passed":true,
		"judges":[{"name":"tone","score":4.5,"scale":[1,5],"kind":"model","model":"m","samples":[4,5],"cost_usd":0.0004,"rationale":"..."}],
		"tokens":{"input":1200,"cache_read":300,"cache_write":null,"output":450},"cost_usd":0.0123,"duration_s":41.8,"wait_s":3.0,
		"tool_calls":12,"tool_errors":1,"served":{"model":"x","provider":"y"},"output":"answers/T-007.md","transcript":"logs/T-007.jsonl",
		"flags":[{"audit":"test-awareness","evidence":"..."}],"error":null,"harness_says":{"anything":1}}`))
	require.NoError(t, err)
	assert.True(t, *o.Passed)
	assert.InDelta(t, 0.875, *o.Judges[0].Unit(), 1e-12)
	assert.Equal(t, int64(1950), *o.Tokens.TotalTokens())
	assert.Nil(t, o.Tokens.CacheWrite)
	assert.Equal(t, int64(12), *o.ToolCalls)
	assert.Equal(t, "y", o.Served.Provider)
	assert.Equal(t, "test-awareness", o.Flags[0].Audit)
	assert.Nil(t, o.Error)
	assert.Empty(t, o.Other, "what the contract does not know is not kept")
	assert.False(t, o.Repaired)
}

func TestInvalidTextIsRepairedAndMarked(t *testing.T) {
	o, err := outcome.ParseLine([]byte("{\"task\":\"T\",\"error\":{\"class\":\"agent\",\"message\":\"bad \xff\xfe, cut \xe2\x82\"}}"))
	require.NoError(t, err)
	assert.True(t, o.Repaired)
	assert.Equal(t, "bad \uFFFD, cut \uFFFD", o.Error.Message)
	var b bytes.Buffer
	require.NoError(t, outcome.Append(&b, o))
	again, err := outcome.ParseLine(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, o, again, "the mark survives the record")
}

// Whatever is written reads back as the same outcome.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Ptr(rapid.Float64Range(0, 1), true)
		count := rapid.Ptr(rapid.Int64Min(0), true)
		o := outcome.Outcome{
			Task: rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`).Draw(t, "task"), Score: number.Draw(t, "score"), CostUSD: number.Draw(t, "cost"),
			DurationS: number.Draw(t, "duration"), ToolCalls: count.Draw(t, "calls"), Output: rapid.String().Draw(t, "output"),
			Tokens: &outcome.Tokens{Input: count.Draw(t, "in"), Output: count.Draw(t, "out")},
		}
		var b bytes.Buffer
		require.NoError(t, outcome.Append(&b, o))
		again, err := outcome.ParseLine(b.Bytes())
		require.NoError(t, err)
		require.Equal(t, o, again)
	})
}

func FuzzParseLine(f *testing.F) {
	for _, name := range []string{"testdata/odd-results.jsonl", "testdata/costs.jsonl"} {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		for l := range bytes.Lines(b) {
			f.Add(line(string(l)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := outcome.ParseLine(b)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := outcome.Append(&out, o); err != nil {
			t.Fatal(err)
		}
		if _, err := outcome.ParseLine(out.Bytes()); err != nil {
			t.Fatalf("%s is accepted, but not what is written of it (%s): %v", b, out.Bytes(), err)
		}
	})
}

func BenchmarkParseLine(b *testing.B) {
	l := []byte(`{"task":"T-007","score":0.82,"passed":true,"judges":[{"name":"tone","score":0.9,"kind":"model","model":"m","samples":[0.9,0.8,0.9]},{"name":"policy","score":1}],"tokens":{"input":1200,"cache_read":300,"output":450},"cost_usd":0.0123,"duration_s":41.8,"tool_calls":12,"output":"answers/T-007.md"}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(l)))
	for b.Loop() {
		if _, err := outcome.ParseLine(l); err != nil {
			b.Fatal(err)
		}
	}
}

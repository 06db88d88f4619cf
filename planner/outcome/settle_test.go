package outcome_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/planner/outcome"
)

func TestSettle(t *testing.T) {
	const missing = -1
	for _, c := range []struct {
		line   string
		policy outcome.TimeoutPolicy
		state  outcome.State
		score  float64 // missing = nil
		refuse string
	}{
		{`{"task":"T","score":0.3}`, "fail", outcome.Scored, 0.3, ""},
		{`{"task":"T","score":0}`, "fail", outcome.Scored, 0, ""},
		{`{"task":"T"}`, "fail", "", 0, "neither score nor error"},
		{`{"task":"T","error":{"class":"agent"}}`, "fail", outcome.Agent, 0, ""},
		{`{"task":"T","score":0,"error":{"class":"agent"}}`, "fail", outcome.Agent, 0, ""},
		{`{"task":"T","score":0.5,"error":{"class":"agent"}}`, "fail", "", 0, "beside an error"},
		{`{"task":"T","error":{"class":"timeout"}}`, "fail", outcome.Timeout, 0, ""},
		{`{"task":"T","error":{"class":"timeout"}}`, "", outcome.Timeout, 0, ""},
		{`{"task":"T","error":{"class":"timeout"}}`, "missing", outcome.Timeout, missing, ""},
		{`{"task":"T","score":0,"error":{"class":"timeout"}}`, "missing", outcome.Timeout, missing, ""},
		{`{"task":"T","error":{"class":"provider"}}`, "fail", outcome.Provider, missing, ""},
		{`{"task":"T","error":{"class":"budget"}}`, "fail", outcome.Budget, missing, ""},
		{`{"task":"T","score":0,"error":{"class":"harness"}}`, "fail", "", 0, "has no score"},
		{`{"task":"T","score":1,"error":{"class":"judge"}}`, "fail", "", 0, "beside an error"},
		{`{"task":"T","score":1,"state":"scored"}`, "fail", outcome.Scored, 1, ""},
		{`{"task":"T","score":1,"state":"agent"}`, "fail", "", 0, "does not follow"},
	} {
		o, err := outcome.ParseLine([]byte(c.line))
		require.NoError(t, err, c.line)
		o, err = outcome.Settle(o, c.policy)
		if c.refuse != "" {
			require.ErrorContains(t, err, c.refuse, c.line)
			continue
		}
		require.NoError(t, err, c.line)
		assert.Equal(t, c.state, o.State, c.line)
		if c.score == missing {
			assert.Nil(t, o.Score, c.line)
		} else {
			require.NotNil(t, o.Score, c.line)
			assert.InDelta(t, c.score, *o.Score, 0)
		}
		again, err := outcome.Settle(o, c.policy)
		require.NoError(t, err)
		assert.Equal(t, o, again, "settling twice changes nothing")
	}
}

func TestPass(t *testing.T) {
	score, yes := 0.8, true
	o := outcome.Outcome{State: outcome.Scored, Score: &score, Passed: &yes}
	assert.True(t, *o.Pass(0.8, false))
	assert.False(t, *o.Pass(0.81, false))
	assert.True(t, *o.Pass(0.81, true), "as reported")
	assert.Nil(t, outcome.Outcome{State: outcome.Provider}.Pass(0, false), "missing is neither passed nor failed")
	zero := 0.0
	assert.False(t, *outcome.Outcome{State: outcome.Agent, Score: &zero}.Pass(0.5, true), "a failure of the agent has no report to go by")
}

func TestCheck(t *testing.T) {
	one := 1.0
	ok := func(id string) outcome.Outcome { return outcome.Outcome{Task: id, State: outcome.Scored, Score: &one} }
	lost := func(id string) outcome.Outcome { return outcome.Failed(id, outcome.Provider, "503") }
	panel := []string{"a", "b", "c"}
	require.NoError(t, outcome.Check([]outcome.Outcome{ok("a"), ok("b"), ok("c")}, panel, 0))
	require.NoError(t, outcome.Check([]outcome.Outcome{ok("a"), lost("b"), ok("c")}, panel, 1))
	require.ErrorContains(t, outcome.Check([]outcome.Outcome{ok("a"), lost("b"), lost("c")}, panel, 1), "2 of 3 tasks are missing (2 provider); at most 1 may be")
	require.ErrorContains(t, outcome.Check([]outcome.Outcome{ok("a")}, panel, 3), "2 of 3 tasks have no outcome (b, c)")
	require.ErrorContains(t, outcome.Check([]outcome.Outcome{ok("a"), ok("b"), ok("c"), ok("x")}, panel, 3), "not in the panel (x)")
}

func TestReadRefusesWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\"task\":\"a\",\"score\":1}\n\n{\"task\":\"a\",\"score\":0}\n":                                                         `line 3: task "a" stands twice`,
		"{\"task\":\"a\",\"score\":1}\n{\"task\":\"b\"":                                                                          "line 2:",
		"{\"task\":\"b\",\"score\":1}\n{\"task\":\"c\",\"score\":1}\n{\"task\":\"a\",\"score\":1}\n{\"task\":\"c\",\"score\":1}": `line 4: task "c" stands twice`,
		"{\"task\":\"b\",\"score\":1}\n{\"task\":\"a\",\"score\":1}\n{\"task\":\"b\",\"score\":1}":                               `line 3: task "b" stands twice`,
		"{\"task\":\"a\"}\n": "line 1: neither score nor error",
	} {
		_, err := outcome.Read(strings.NewReader(text), outcome.TimeoutFail)
		require.ErrorContains(t, err, want)
	}
}

func TestReadTakesAByteOrderMark(t *testing.T) {
	out, err := outcome.Read(strings.NewReader("\xef\xbb\xbf{\"task\":\"a\",\"score\":1}\r\n{\"task\":\"b\",\"score\":0}"), outcome.TimeoutFail)
	require.NoError(t, err)
	require.Len(t, out, 2)
	assert.Equal(t, "b", out[1].Task)
}

func TestTooLongALineIsAnError(t *testing.T) {
	text := "{\"task\":\"a\",\"score\":1}\n{\"task\":\"" + strings.Repeat("x", outcome.MaxLine)
	n := 0
	err := outcome.Lines(strings.NewReader(text), func(int, []byte) error { n++; return nil })
	require.ErrorContains(t, err, "line 2: longer than")
	assert.Equal(t, 1, n)
}

func TestAttemptsReadBack(t *testing.T) {
	one, cost := 1.0, 0.5
	rows := []outcome.Attempt{
		{Outcome: outcome.Outcome{Task: "a", State: outcome.Provider, Attempt: 1, CostUSD: &cost, Error: &outcome.Failure{Class: outcome.Provider, Message: "503"}}},
		{Accepted: true, Outcome: outcome.Outcome{Task: "a", State: outcome.Scored, Attempt: 2, Score: &one}},
	}
	var b strings.Builder
	for _, row := range rows {
		require.NoError(t, outcome.Append(&b, row))
	}
	got, err := outcome.ReadAttempts(strings.NewReader(b.String()), outcome.TimeoutFail)
	require.NoError(t, err)
	assert.Equal(t, rows, got)
}

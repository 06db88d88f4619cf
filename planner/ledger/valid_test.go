package ledger

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

const (
	scored  = `{"task":"L-1","state":"scored","score":1}` + "\n" + `{"task":"L-2","state":"scored","score":0.5}` + "\n"
	one     = `{"task":"L-1","state":"scored","score":1}` + "\n" + `{"task":"L-2","state":"provider","score":null,"error":{"class":"provider","message":"503"}}` + "\n"
	nothing = `{"task":"L-1","state":"timeout","score":null,"error":{"class":"timeout"}}` + "\n" + `{"task":"L-2","state":"provider","score":null,"error":{"class":"provider"}}` + "\n"
)

// logged is an evaluation of ours that was logged with a state, counts (nil = none) and a record.
func (d *desk) logged(state batch.EvaluationState, counts outcome.Tally, record string) string {
	d.t.Helper()
	run := d.start(d.begin("a"), cellOf("quick", "m-one", "a"), 1)
	f := d.finishOf(run, state)
	f.Artifacts = []batch.Artifact{{Path: batch.FileOutcomes, Digest: batch.Sum([]byte(record)), Size: int64(len(record))}}
	f.Open = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(record)), nil }
	if counts != nil {
		for _, s := range outcome.States {
			f.Metrics = append(f.Metrics, mlflow.Metric{Key: "count/" + string(s), Value: float64(counts[s]), Timestamp: d.clock.UnixMilli()})
		}
	}
	require.NoError(d.t, d.FinishEvaluation(d.t.Context(), f))
	return run.RunID
}

// What is valid is decided by the rule of whoever asks, not by the word that the
// evaluation was logged with.
func TestValidByTheRuleOfTheQuery(t *testing.T) {
	for name, c := range map[string]struct {
		state   batch.EvaluationState
		counts  outcome.Tally
		record  string
		allowed int
		policy  outcome.TimeoutPolicy
		want    batch.EvaluationState // "" = it does not count
		reason  string
		reads   int // of the record
	}{
		"allowed":                   {batch.StatePartial, outcome.Tally{outcome.Scored: 1, outcome.Provider: 1}, one, 1, "", batch.StatePartial, "", 0},
		"stricter":                  {batch.StatePartial, outcome.Tally{outcome.Scored: 1, outcome.Provider: 1}, one, 0, "", "", "1 of 2 tasks are missing (1 provider); at most 0 may be", 0},
		"called complete":           {batch.StateComplete, outcome.Tally{outcome.Scored: 1, outcome.Harness: 1}, one, 1, "", batch.StatePartial, "", 0},
		"called partial":            {batch.StatePartial, outcome.Tally{outcome.Scored: 2}, scored, 0, "", batch.StateComplete, "", 0},
		"a timeout is a score":      {batch.StateComplete, outcome.Tally{outcome.Agent: 1, outcome.Timeout: 1}, scored, 0, outcome.TimeoutFail, batch.StateComplete, "", 0},
		"a timeout is missing":      {batch.StatePartial, outcome.Tally{outcome.Agent: 1, outcome.Timeout: 1}, scored, 0, outcome.TimeoutMissing, "", "1 of 2 tasks are missing (1 timeout)", 0},
		"no counts":                 {batch.StatePartial, nil, one, 1, "", batch.StatePartial, "", 1},
		"no counts, stricter":       {batch.StatePartial, nil, one, 0, "", "", "1 of 2 tasks are missing (1 provider); at most 0 may be", 1},
		"counts of another panel":   {batch.StateComplete, outcome.Tally{outcome.Scored: 1}, one, 1, "", batch.StatePartial, "", 1},
		"failed under another rule": {batch.StateIncomplete, outcome.Tally{outcome.Scored: 1, outcome.Provider: 1}, one, 1, "", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			run := d.logged(c.state, c.counts, c.record)
			before := d.server.Requests(run + "/artifacts/" + batch.FileOutcomes)
			f, err := d.Find(t.Context(), Query{Recipe: identity("", "", "a").Recipe, Panel: []string{"L-1", "L-2"}, Allowed: c.allowed, TimeoutPolicy: c.policy})
			require.NoError(t, err)
			assert.Equal(t, c.reads, d.server.Requests(run+"/artifacts/"+batch.FileOutcomes)-before)
			if c.want != "" {
				require.Equal(t, []string{run}, ids(f.Valid))
				assert.Equal(t, c.want, f.Valid[0].State)
				return
			}
			assert.Empty(t, f.Valid)
			if c.reason == "" {
				assert.Equal(t, []string{run}, ids(f.Ended), "a run that is not FINISHED never counts")
				return
			}
			require.Len(t, f.Ignored, 1)
			assert.Equal(t, run, f.Ignored[0].RunID)
			assert.Contains(t, f.Ignored[0].Reason, c.reason)
		})
	}
}

// A record is read and checked, not only hashed: metrics, tags and digest may all
// agree on what is no valid repeat.
func TestCheckRecord(t *testing.T) {
	d := newDesk(t)
	q := Query{Recipe: identity("", "", "a").Recipe, Panel: []string{"L-1", "L-2"}, Allowed: 1, TimeoutPolicy: outcome.TimeoutMissing}
	for record, want := range map[string]string{
		scored:                              "",
		one:                                 "",
		nothing:                             "2 of 2 tasks are missing (1 timeout, 1 provider); at most 1 may be",
		strings.Split(scored, "\n")[0]:      "1 of 2 tasks have no outcome (L-2)",
		strings.Replace(one, "1}", "7}", 1): "outcomes.jsonl: line 1: ",
	} {
		run := d.logged(batch.StateComplete, outcome.Tally{outcome.Scored: 2}, record)
		f, err := d.Find(t.Context(), q)
		require.NoError(t, err)
		for _, e := range f.Valid {
			if e.Info.RunID != run {
				continue
			}
			reason, err := d.CheckRecord(t.Context(), &e, q)
			require.NoError(t, err)
			if want == "" {
				assert.NoError(t, reason)
				assert.Equal(t, record == scored, e.State == batch.StateComplete)
				assert.InDelta(t, 0.75, *e.Score, 1e-12, "as logged")
			} else {
				assert.ErrorContains(t, reason, want)
			}
		}
		assert.Contains(t, ids(f.Valid), run)
	}
}

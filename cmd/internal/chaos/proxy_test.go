package chaos_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/cmd/internal/chaos"
	"github.com/benchbatch/benchbatch/mlflow/mlflowtest"
)

func TestProxy(t *testing.T) {
	fake := mlflowtest.NewFake(t)
	var tally chaos.Tally
	p, err := chaos.NewProxy(fake.URL, 1, 7, &tally)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	own := &http.Client{Transport: &http.Transport{}}
	get := func() error {
		answer, err := own.Get(p.URL + "/api/2.0/mlflow/experiments/get?experiment_id=0")
		if err != nil {
			return err
		}
		require.NoError(t, answer.Body.Close())
		assert.NotEqual(t, http.StatusNotFound, answer.StatusCode)
		return nil
	}
	require.NoError(t, p.Refuse(0))
	assert.Zero(t, tally.Total(), "there was nobody to refuse")
	for range 30 {
		_ = get()
	}
	assert.GreaterOrEqual(t, tally.Total(), 30, "each request went wrong, and what the client tried again, too")
	assert.Zero(t, tally.Of("cut upload"), "there was none")
	assert.Regexp(t, `^\d+ 429, `, tally.String())

	before, address := tally.Total(), p.URL
	own.CloseIdleConnections()
	p.Calm()
	require.NoError(t, get())
	require.NoError(t, p.Refuse(0))
	assert.Equal(t, address, p.URL)
	assert.Equal(t, before, tally.Total(), "nothing counts any more")
	require.NoError(t, get(), "it listens again")
}

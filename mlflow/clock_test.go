package mlflow

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date, status := "Sun, 02 Mar 2031 10:00:00 GMT", http.StatusOK
		none := 0
		c := inMemory(t, func(r *http.Request) (*http.Response, error) {
			return answer(r, status, anExperiment, "Date", date), nil
		}, func(cfg *Config) { cfg.MaxRetries = &none })
		ask := func() (time.Time, bool) {
			t.Helper()
			_, err := c.GetExperiment(context.Background(), "1")
			require.Equal(t, status >= 300, err != nil)
			return c.ServerTime()
		}
		_, told := c.ServerTime()
		assert.False(t, told)
		now, told := ask()
		require.True(t, told)
		assert.Equal(t, time.Date(2031, 3, 2, 10, 0, 0, 0, time.UTC), now, "whatever this machine's clock shows")

		time.Sleep(90 * time.Second)
		now, _ = c.ServerTime()
		assert.Equal(t, time.Date(2031, 3, 2, 10, 1, 30, 0, time.UTC), now, "it goes on between answers")

		for date, status = range map[string]int{"": 200, "yesterday": 200, "Sun, 02 Mar 2031 23:00:00 GMT": 502} {
			now, told = ask()
			assert.True(t, told)
			assert.Equal(t, time.Date(2031, 3, 2, 10, 1, 30, 0, time.UTC), now, "no answer of the server's with a date in it: %q", date)
		}
		date, status = "Sun, 02 Mar 2031 09:00:00 GMT", http.StatusOK
		now, _ = ask()
		assert.Equal(t, time.Date(2031, 3, 2, 9, 0, 0, 0, time.UTC), now, "a clock set back is followed")
	})
}

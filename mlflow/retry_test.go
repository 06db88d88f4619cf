package mlflow

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answers is a transport that answers in memory, so that a test's clock need not run.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func answer(r *http.Request, status int, body string, headers ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	for i := 0; i+1 < len(headers); i += 2 {
		resp.Header.Add(headers[i], headers[i+1])
	}
	return resp
}

const anExperiment = `{"experiment":{"experiment_id":"1","name":"e","lifecycle_stage":"active"}}`

func inMemory(t *testing.T, transport answers, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{TrackingURI: "http://mlflow.test", Transport: transport}
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(cfg)
	require.NoError(t, err)
	return c
}

// TestRetryAfter waits as long as the last column of the table says, whatever the server asks for.
func TestRetryAfter(t *testing.T) {
	table, err := os.ReadFile("testdata/retry-after.tsv")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimRight(string(table), "\n"), "\n")[1:]
	require.Len(t, lines, 12)
	for _, line := range lines {
		value, want, found := strings.Cut(line, "\t")
		require.True(t, found)
		for _, status := range []int{429, 503} {
			synctest.Test(t, func(t *testing.T) {
				waited := waitAfter(t, status, value)
				switch want {
				case "normal minimum", "normal minimum (past)":
					assert.Equal(t, 500*time.Millisecond, waited, "%q", value)
				case "7 s":
					assert.Equal(t, 7*time.Second, waited, "%q", value)
				case "cap (60 s)", "cap or normal backoff":
					assert.Equal(t, time.Minute, waited, "%q", value)
				case "normal backoff":
					assert.GreaterOrEqual(t, waited, 500*time.Millisecond, "%q", value)
					assert.Less(t, waited, time.Second, "%q", value)
				case "not more than the cap":
					assert.LessOrEqual(t, waited, time.Minute, "%q", value)
				default:
					t.Fatalf("unknown expectation %q", want)
				}
			})
		}
	}
}

func waitAfter(t *testing.T, status int, value string) time.Duration {
	time.Sleep(time.Until(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))) // the dates of the table are before and after
	start := time.Now()
	first := true
	c := inMemory(t, func(r *http.Request) (*http.Response, error) {
		if !first {
			return answer(r, 200, anExperiment), nil
		}
		first = false
		switch value {
		case "(empty)":
			return answer(r, status, "", "Retry-After", ""), nil
		case "(two headers: 1 and 3600)":
			return answer(r, status, "", "Retry-After", "1", "Retry-After", "3600"), nil
		}
		return answer(r, status, "", "Retry-After", value), nil
	})
	_, err := c.GetExperiment(context.Background(), "1")
	require.NoError(t, err)
	return time.Since(start)
}

func TestRetryAfterDateIsTheServers(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := http.Header{"Retry-After": {"Mon, 30 Nov 2026 09:00:20 GMT"}, "Date": {"Mon, 30 Nov 2026 09:00:00 GMT"}}
	wait, ok := retryAfter(h, now)
	assert.True(t, ok)
	assert.Equal(t, 20*time.Second, wait)
}

func TestRetryAfterCanBeIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, first := time.Now(), true
		c := inMemory(t, func(r *http.Request) (*http.Response, error) {
			if first {
				first = false
				return answer(r, 429, "", "Retry-After", "50"), nil
			}
			return answer(r, 200, anExperiment), nil
		}, func(cfg *Config) { cfg.IgnoreRetryWait = true })
		_, err := c.GetExperiment(context.Background(), "1")
		require.NoError(t, err)
		assert.Less(t, time.Since(start), time.Second)
	})
}

func TestBackoff(t *testing.T) {
	for n := 1; n < 100; n++ {
		wait := backoff(500*time.Millisecond, 10*time.Second, n)
		assert.GreaterOrEqual(t, wait, 500*time.Millisecond)
		assert.LessOrEqual(t, wait, 10*time.Second)
		if n == 1 {
			assert.LessOrEqual(t, wait, time.Second)
		}
	}
	assert.Equal(t, time.Second, backoff(time.Second, time.Second, 5))
	assert.Equal(t, time.Second, backoff(time.Second, time.Millisecond, 5), "never shorter than the shortest")
}

func TestDeadlineBeforeNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := inMemory(t, func(r *http.Request) (*http.Response, error) {
			return answer(r, 503, "out to lunch", "Retry-After", "30"), nil
		})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := c.GetExperiment(ctx, "1")
		require.ErrorIs(t, err, ErrDeadline)
		require.ErrorIs(t, err, ErrUnreachable, "the cause stays visible")
		assert.ErrorContains(t, err, "deadline before next try")
		assert.ErrorContains(t, err, "out to lunch")
		assert.Zero(t, time.Since(start), "gives up at once")
	})
}

func TestCancelInterruptsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := inMemory(t, func(r *http.Request) (*http.Response, error) { return answer(r, 429, "", "Retry-After", "50"), nil })
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(3*time.Second, cancel)
		_, err := c.GetExperiment(ctx, "1")
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "429")
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestPatience(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", os.ErrPermission)}
	for name, test := range map[string]struct {
		answer    func(r *http.Request, n int) (*http.Response, error)
		patience  time.Duration
		min, max  time.Duration
		is        error
		succeeded bool
	}{
		"nobody there at the first call": {
			answer:   func(*http.Request, int) (*http.Response, error) { return nil, refused },
			patience: time.Hour, min: time.Second, max: 3 * time.Second, is: ErrUnreachable,
		},
		"a gateway that stays bad": {
			answer:   func(r *http.Request, _ int) (*http.Response, error) { return answer(r, 502, ""), nil },
			patience: 20 * time.Minute, min: 20 * time.Minute, max: 21 * time.Minute, is: ErrUnreachable,
		},
		"a server that goes away and comes back": {
			answer: func(r *http.Request, n int) (*http.Response, error) {
				switch {
				case n == 1:
					return answer(r, 503, ""), nil
				case n < 30:
					return nil, refused
				}
				return answer(r, 200, anExperiment), nil
			},
			patience: time.Hour, min: time.Minute, max: 10 * time.Minute, succeeded: true,
		},
		"a server whose error stays": {
			answer: func(r *http.Request, _ int) (*http.Response, error) {
				return answer(r, 500, `{"error_code":"INTERNAL_ERROR","message":"bug"}`), nil
			},
			patience: time.Hour, min: 2 * time.Second, max: 40 * time.Second,
		},
		"a database that stays busy": {
			answer: func(r *http.Request, _ int) (*http.Response, error) {
				return answer(r, 503, `{"error_code":"TEMPORARILY_UNAVAILABLE","message":"at most 64 tables in a join"}`), nil
			},
			patience: time.Hour, min: 2 * time.Second, max: 40 * time.Second, is: ErrUnreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, n, told := time.Now(), 0, 0
				c := inMemory(t, func(r *http.Request) (*http.Response, error) { n++; return test.answer(r, n) },
					func(cfg *Config) { cfg.Patience, cfg.OnRetry = test.patience, func(error, time.Duration) { told++ } })
				_, err := c.GetExperiment(context.Background(), "1")
				took := time.Since(start)
				if test.succeeded {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
					assert.ErrorContains(t, err, "tries")
				}
				if test.is != nil {
					require.ErrorIs(t, err, test.is)
				}
				assert.GreaterOrEqual(t, took, test.min)
				assert.LessOrEqual(t, took, test.max)
				assert.Equal(t, n-1, told, "every wait is told")
				assert.Equal(t, map[string]int{"experiments/get": n}, c.Calls())
			})
		})
	}
}

func TestNothingIsTriedAgainWithoutRetries(t *testing.T) {
	for _, status := range []int{500, 502, 429} {
		none, n := 0, 0
		c := inMemory(t, func(r *http.Request) (*http.Response, error) { n++; return answer(r, status, ""), nil }, func(cfg *Config) { cfg.MaxRetries = &none })
		_, err := c.GetExperiment(context.Background(), "1")
		require.Error(t, err)
		assert.Equal(t, 1, n)
	}
}

// TestWhatIsTriedAgain asks of every answer how often each class of call is made.
func TestWhatIsTriedAgain(t *testing.T) {
	const again, once = true, false
	lost := func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	refused := func(*http.Request) (*http.Response, error) { return nil, &net.OpError{Op: "dial", Err: os.ErrClosed} }
	status := func(status int, body string) answers {
		return func(r *http.Request) (*http.Response, error) { return answer(r, status, body), nil }
	}
	for name, test := range map[string]struct {
		fail         answers
		read, create bool
	}{
		"connection lost":    {lost, again, once},
		"connection refused": {refused, again, again},
		"408":                {status(408, ""), again, once},
		"429":                {status(429, ""), again, again},
		"500 of the server":  {status(500, `{"error_code":"INTERNAL_ERROR"}`), again, once},
		"500 of a proxy":     {status(500, "<html>oops</html>"), again, once},
		"500 for good":       {status(500, `{"error_code":"INVALID_STATE"}`), once, once},
		"501":                {status(501, ""), once, once},
		"502":                {status(502, ""), again, once},
		"503":                {status(503, ""), again, once},
		"503 switched off":   {status(503, "Endpoint: /x disabled due to the mlflow server running in `--artifacts-only` mode."), once, once},
		"504":                {status(504, ""), again, once},
		"400":                {status(400, `{"error_code":"INVALID_PARAMETER_VALUE"}`), once, once},
		"400 no connection":  {status(400, `{"error_code":"BAD_REQUEST","message":"QueuePool limit of size 5 overflow 10 reached, connection timed out"}`), again, once},
		"401":                {status(401, ""), once, once},
		"403":                {status(403, ""), once, once},
		"404":                {status(404, `{"error_code":"RESOURCE_DOES_NOT_EXIST"}`), once, once},
		"not JSON":           {status(200, "hello"), once, once},
		"JSON of other form": {status(200, `{"experiment":[],"experiment_id":7,"run_id":[]}`), once, once},
	} {
		t.Run(name, func(t *testing.T) {
			for _, call := range []struct {
				class class
				again bool
			}{{safe, test.read}, {set, test.read}, {dedup, test.read}, {download, test.read && !strings.HasPrefix(name, "500")}, {create, test.create}, {never, once}} {
				synctest.Test(t, func(t *testing.T) {
					tries := 0
					c := inMemory(t, func(r *http.Request) (*http.Response, error) {
						if tries++; tries == 1 {
							return test.fail(r)
						}
						return answer(r, 200, `{}`), nil
					})
					var out struct {
						ID string `json:"experiment_id"`
					}
					err := c.call(context.Background(), route{"a/call", http.MethodPost, "/a/call", call.class}, nil, struct{}{}, &out)
					if call.again {
						assert.NoError(t, err, "class %d", call.class)
						assert.Equal(t, 2, tries, "class %d", call.class)
					} else {
						assert.Error(t, err, "class %d", call.class)
						assert.Equal(t, 1, tries, "class %d", call.class)
					}
				})
			}
		})
	}
}

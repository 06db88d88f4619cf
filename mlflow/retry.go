package mlflow

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

const (
	// retryAfterCap bounds what a server may ask for.
	retryAfterCap = 60 * time.Second
	// firstPatience bounds the tries at an address that has never answered.
	firstPatience = time.Second
)

// attempts follows the tries of one call. It plugs into go-retryablehttp as CheckRetry, Backoff and ErrorHandler.
type attempts struct {
	client *Client
	route  route
	start  time.Time
	tries  int
	wait   time.Duration // before the next try
	last   *Error        // of the latest failed try
}

// check decides on another try. The library calls it with the transport's error, and again with what the response handler made
// of an answer.
func (a *attempts) check(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	a.tries++
	failure := a.client.failure(a.route, resp, err)
	failure.Tries = a.tries
	a.last = failure
	if ctx.Err() != nil || !a.mayRepeat(failure) || !a.timeLeft(failure) {
		return false, failure
	}
	a.wait = a.nextWait(resp)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= a.wait {
		return false, &Error{Op: a.route.name, Kind: ErrDeadline, Err: failure, fate: failure.fate,
			Message: ErrDeadline.Error() + " (it would be in " + a.wait.Round(time.Millisecond).String() + ")"}
	}
	if a.client.cfg.OnRetry != nil {
		a.client.cfg.OnRetry(failure, a.wait)
	}
	return true, nil
}

func (a *attempts) mayRepeat(failure *Error) bool {
	switch a.route.class {
	case safe, set, dedup:
		return failure.again != 0
	case download:
		return failure.again != 0 && failure.Status != http.StatusInternalServerError
	case create:
		return failure.again != 0 && failure.fate == untouched
	default:
		return false
	}
}

// timeLeft bounds the tries: by time while the server is away, by number when it answers with an error.
func (a *attempts) timeLeft(failure *Error) bool {
	if failure.again == againAFewTimes {
		return a.tries <= a.client.retries
	}
	if a.client.retries == 0 {
		return false
	}
	patience := a.client.cfg.Patience
	if !a.client.answered.Load() {
		patience = min(patience, firstPatience)
	}
	return time.Since(a.start) < patience
}

func (a *attempts) nextWait(resp *http.Response) time.Duration {
	cfg := a.client.cfg
	asked := resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable)
	if asked && !cfg.IgnoreRetryWait {
		if wait, ok := retryAfter(resp.Header, time.Now()); ok {
			return max(wait, cfg.BackoffMin)
		}
	}
	return backoff(cfg.BackoffMin, cfg.BackoffMax, a.tries)
}

func (a *attempts) backoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return a.wait }

func (a *attempts) giveUp(_ *http.Response, err error, _ int) (*http.Response, error) {
	return nil, err
}

// backoff is the wait after the n-th failed try (n from 1): anything between shortest and a bound that doubles up to longest.
func backoff(shortest, longest time.Duration, n int) time.Duration {
	bound := longest
	if n < 30 {
		bound = min(longest, shortest<<n)
	}
	if bound <= shortest {
		return shortest
	}
	return shortest + rand.N(bound-shortest)
}

// retryAfter reads what a server asks for: seconds or a date, never more than the cap. False means nothing sensible was asked.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		digits := strings.TrimLeft(value, "0")
		if len(digits) > 9 {
			return retryAfterCap, true
		}
		var seconds int64
		for _, d := range digits {
			seconds = seconds*10 + int64(d-'0')
		}
		return min(time.Duration(seconds)*time.Second, retryAfterCap), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if at.Before(now) {
		return 0, true
	}
	if at.After(now.Add(retryAfterCap)) { // compared as dates: a difference of thousands of years overflows
		return retryAfterCap, true
	}
	return at.Sub(now), true
}

// ambiguous tells whether the server may have acted on a call that failed.
func ambiguous(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.fate == unknownFate
}

package executor

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/benchbatch/benchbatch/mlflow"
)

// server is what a run knows of its tracking server.
type server struct {
	mu   sync.Mutex
	away time.Time // since when it does not answer; zero = it does
}

// away says that a call failed because the server is away or overloaded, so that
// the same call may succeed later. The client has tried for a while already.
func away(err error) bool {
	if errors.Is(err, mlflow.ErrUnreachable) {
		return true
	}
	var e *mlflow.Error
	return errors.As(err, &e) && (e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// patiently makes a call that may be repeated, again and again while the server is
// away. Meanwhile nothing new starts; what runs goes on, and its results wait on
// disk. It gives up, with the last error, after Patience or when told to stop.
func (r *runner) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if !away(err) {
			r.back()
			return err
		}
		if !r.awaitServer(ctx, err) {
			return err
		}
	}
}

// awaitServer waits a little; false = no longer.
func (r *runner) awaitServer(ctx context.Context, err error) bool {
	since := r.lost(err)
	every := r.look()
	if time.Since(since)+every > r.Patience {
		return false
	}
	t := time.NewTimer(every)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.Stop:
		return false
	case <-t.C:
		return true
	}
}

// lost notes that the server is away, and returns since when.
func (r *runner) lost(err error) time.Time {
	s := &r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away.IsZero() {
		s.away = time.Now()
		r.sc.pause()
		r.Observer.Away(err)
	}
	return s.away
}

// back notes that the server has answered.
func (r *runner) back() {
	s := &r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away.IsZero() {
		r.Observer.Back(time.Since(s.away))
		s.away = time.Time{}
		r.sc.resume()
	}
}

// look is the time between two looks at the server.
func (r *runner) look() time.Duration {
	if r.Look == 0 {
		return 5 * time.Second
	}
	return r.Look
}

// heedFor is how many looks at a request to stop the launchers have whom it concerns.
const heedFor = 12

// heed looks now and then whether somebody asks the batch to stop, until done. A request
// that was there when this launcher began concerns the others: it is taken back when they
// have had time to see it.
func (r *runner) heed(ctx context.Context, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(r.look())
	defer tick.Stop()
	for looks := 1; ; looks++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		p, err := r.Ledger.Refresh(ctx, r.parent)
		if err != nil || p.Stop == "" { // away: the next look may do better
			continue
		}
		if p.Stop == r.parent.Stop {
			if looks >= heedFor {
				_ = r.Ledger.AskStop(ctx, r.parent, "") // the next look may do better
			}
			continue
		}
		r.mu.Lock()
		r.asked = p.Stop
		r.mu.Unlock()
		r.Observer.StopAsked(p.Stop)
		r.sc.stop()
		return
	}
}

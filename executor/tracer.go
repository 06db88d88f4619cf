package executor

import (
	"context"
	"sync"

	"github.com/benchbatch/benchbatch/executor/evaluation"
)

// tracer sends traces beside the work, one evaluation after another.
type tracer struct {
	mu    sync.Mutex
	queue []entry
	ended bool
	wake  chan struct{} // something was queued, or no more will be
	done  chan struct{}
}

// startTracing begins to send what trace queues.
func (r *runner) startTracing(ctx context.Context) {
	r.tracer.wake, r.tracer.done = make(chan struct{}, 1), make(chan struct{})
	s := newSender(r.Ledger, r.State)
	s.call = func(f func() error) error { return r.patiently(ctx, f) }
	go func() {
		defer close(r.tracer.done)
		for {
			e, ok := r.tracer.next()
			if !ok {
				break
			}
			s.send(ctx, e)
		}
		s.flush(ctx)
		r.traces = s.out
	}()
}

// next waits for an evaluation; false = no more will come.
func (t *tracer) next() (entry, bool) {
	for {
		t.mu.Lock()
		if len(t.queue) > 0 {
			e := t.queue[0]
			t.queue = t.queue[1:]
			t.mu.Unlock()
			return e, true
		}
		ended := t.ended
		t.mu.Unlock()
		if ended {
			return entry{}, false
		}
		<-t.wake
	}
}

func (t *tracer) change(f func()) {
	t.mu.Lock()
	f()
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// trace forgets an evaluation that MLflow has, now or when its traces are sent.
func (r *runner) trace(e entry, m evaluation.Measured) error {
	err := r.State.logged(&e, m)
	if e.Logged && err == nil {
		r.tracer.change(func() { r.tracer.queue = append(r.tracer.queue, e) })
	}
	return err
}

// finishTracing waits until all is sent that can be.
func (r *runner) finishTracing() Traces {
	left := 0
	r.tracer.change(func() { left, r.tracer.ended = len(r.tracer.queue), true })
	if left > 0 {
		r.Observer.Tracing(left)
	}
	<-r.tracer.done
	return r.traces
}

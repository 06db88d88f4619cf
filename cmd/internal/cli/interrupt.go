package cli

import (
	"context"
	"sync"
)

// tidyStop is what the first interrupt closes while evaluations are running.
type tidyStop struct {
	mu sync.Mutex
	ch chan struct{} // nil = an interrupt stops the command at once
}

// heed turns interrupts into a tidy stop where one is possible, else into the
// end of the command.
func (a *App) heed(ctx context.Context, cancel context.CancelFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-a.Signals:
			if !a.tidy.use() {
				a.say("%v: stopping now", sig)
				cancel()
				return
			}
			a.say("%v: nothing new is started; what runs is finished (again: stop now)", sig)
		}
	}
}

// use closes the channel and says whether there was one.
func (t *tidyStop) use() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ch == nil {
		return false
	}
	close(t.ch)
	t.ch = nil
	return true
}

// offer gives a channel that the next interrupt closes; end takes it back.
func (t *tidyStop) offer() (stop <-chan struct{}, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ch = make(chan struct{})
	return t.ch, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ch = nil
	}
}

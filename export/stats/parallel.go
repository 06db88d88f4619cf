package stats

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f for 0 … n-1 on all cores. Each call must write to its own place
// only, so that the order doesn't matter.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

package export

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		var held, most atomic.Int64
		var got []int
		err := inOrder(context.Background(), 200, workers, func(_ context.Context, i int) (int, error) {
			if n := held.Add(1); n > most.Load() {
				most.Store(n)
			}
			for range i % 5 {
				runtime.Gosched()
			}
			return i, nil
		}, func(i, v int) error {
			assert.Equal(t, i, v)
			got = append(got, v)
			held.Add(-1)
			return nil
		})
		require.NoError(t, err)
		assert.Len(t, got, 200)
		assert.LessOrEqual(t, most.Load(), int64(workers+1))
	}
}

// Loads really run side by side: each waits for all the others of its round.
func TestInOrderIsParallel(t *testing.T) {
	const workers = 6
	arrived := make(chan struct{}, workers)
	release := make(chan struct{})
	go func() {
		for range workers {
			<-arrived
		}
		close(release)
	}()
	err := inOrder(context.Background(), workers, workers, func(_ context.Context, i int) (int, error) {
		arrived <- struct{}{}
		<-release
		return i, nil
	}, func(int, int) error { return nil })
	require.NoError(t, err)
}

func TestInOrderEnds(t *testing.T) {
	boom := errors.New("boom")
	load := func(at int) func(context.Context, int) (int, error) {
		return func(_ context.Context, i int) (int, error) {
			if i == at {
				return 0, boom
			}
			return i, nil
		}
	}
	for _, at := range []int{0, 3, 49} {
		used := 0
		err := inOrder(context.Background(), 50, 3, load(at), func(int, int) error { used++; return nil })
		require.ErrorIs(t, err, boom)
		assert.LessOrEqual(t, used, at)
		err = inOrder(context.Background(), 50, 3, load(-1), func(i, _ int) error {
			if i == at {
				return boom
			}
			return nil
		})
		require.ErrorIs(t, err, boom)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, inOrder(ctx, 50, 3, load(-1), func(int, int) error { return nil }), context.Canceled)
	require.NoError(t, inOrder(context.Background(), 0, 3, load(-1), func(int, int) error { return nil }))
}

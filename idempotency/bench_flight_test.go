package idempotency_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

// BenchmarkInFlight is the memory that a run takes while its handler does: a thousand handlers that are blocked, by the
// library and behind a claim that was written by hand. The goroutines' stacks are counted of their own.
func BenchmarkInFlight(b *testing.B) {
	const runs = 1000
	for _, side := range []struct {
		by  string
		run func(s *bench, n int, handler func()) error
	}{
		{"oncekey", func(s *bench, n int, handler func()) error {
			_, err := idempotency.Do(s.ctx, s.runner, benchRequest(n), func(context.Context) (benchReceipt, error) {
				handler()
				return benchAnswer, nil
			})
			return err
		}},
		{"hand", func(s *bench, n int, handler func()) error {
			v := constants(handID(n), "do")
			if _, err := s.client.PutItem(s.ctx, handClaim(s, v)); err != nil {
				return err
			}
			handler()
			data, err := handEncoded()
			if err != nil {
				return err
			}
			_, err = s.client.UpdateItem(s.ctx, handCompletion(s, v, data))
			return err
		}},
	} {
		b.Run("by="+side.by, func(b *testing.B) {
			wire := &wire{}
			s := newBench(b, wire.into)
			must(b, side.run(s, 0, func() {}))
			wire.silent = true
			n, heap, stacks := 0, 0.0, 0.0
			for b.Loop() {
				n++
				before := settled()
				var all, running sync.WaitGroup
				end := make(chan struct{})
				running.Add(runs)
				for i := range runs {
					all.Go(func() {
						if err := side.run(s, n*runs+i, func() { running.Done(); <-end }); err != nil {
							b.Error(err)
						}
					})
				}
				running.Wait()
				during := settled()
				close(end)
				all.Wait()
				heap += float64(during.HeapAlloc) - float64(before.HeapAlloc)
				stacks += float64(during.StackInuse) - float64(before.StackInuse)
			}
			b.ReportMetric(heap/float64(n)/runs, "heap-B/run")
			b.ReportMetric(stacks/float64(n)/runs, "stack-B/run")
		})
	}
}

// settled is the memory after all garbage is gone, what pools keep included: that takes two collections.
func settled() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

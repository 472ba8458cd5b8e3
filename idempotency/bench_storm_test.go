package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// stormSize is how many duplicates come at once.
const stormSize = 1000

// BenchmarkStorm is a storm of duplicates on one key: one runs, and the others are refused while it does, or wait for it.
// What they may cost in calls is asserted in storm_test.go; here is what they do.
func BenchmarkStorm(b *testing.B) {
	for _, wait := range []time.Duration{idempotency.NoWait, time.Minute} {
		b.Run(fmt.Sprintf("wait=%t", wait > 0), func(b *testing.B) {
			s := newBench(b)
			n, writes, reads := 0, 0, 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				storm(b, s, n, wait)
				reads += len(s.db.Calls("GetItem"))
				writes += len(s.db.Calls("PutItem")) + len(s.db.Calls("UpdateItem"))
				s.db.ResetCalls()
			}
			b.ReportMetric(float64(writes)/float64(n), "writes/op")
			b.ReportMetric(float64(reads)/float64(n), "reads/op")
		})
	}
}

// storm runs the handler until each twin has been refused, or for a tenth of a second if they wait.
func storm(b *testing.B, s *bench, n int, wait time.Duration) {
	b.Helper()
	req := benchRequest(n)
	req.Wait = wait
	var runs atomic.Int32
	var all, twins sync.WaitGroup
	twins.Add(stormSize - 1)
	for range stormSize {
		all.Go(func() {
			_, err := idempotency.Do(s.ctx, s.runner, req, func(context.Context) (benchReceipt, error) {
				runs.Add(1)
				if wait > 0 {
					pass(100 * time.Millisecond)
				} else {
					twins.Wait()
				}
				return benchAnswer, nil
			})
			switch {
			case wait < 0 && errors.Is(err, idempotency.ErrInProgress):
				twins.Done()
			case err != nil:
				b.Error(err)
			}
		})
	}
	all.Wait()
	if runs.Load() != 1 {
		b.Errorf("%d runs", runs.Load())
	}
}

// A hot key whose partition is throttled: of a thousand duplicates that wait, every second write is throttled. One runs, all
// get its outcome, and no duplicate writes much more than once: what is throttled is found out by reads. What it took is told as the test's attributes,
// in virtual time, which a benchmark does not have.
func TestStorm_Throttled(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	synctest.Test(t, func(t *testing.T) {
		s := newBench(t)
		dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // to be the same in every run
		s.db.Inject(localtest.Fault{
			Kind: localtest.Throttled, Times: forever,
			Match: func(c localtest.Call) bool { return c.Operation != "GetItem" && dice.IntN(2) == 0 },
		})
		began := time.Now()
		var runs, answered atomic.Int32
		var last atomic.Int64
		var all sync.WaitGroup
		for range stormSize {
			all.Go(func() {
				req := benchRequest(0)
				req.Wait = time.Minute
				_, err := idempotency.Do(s.ctx, s.runner, req, func(context.Context) (benchReceipt, error) {
					runs.Add(1)
					pass(time.Second)
					return benchAnswer, nil
				})
				if err == nil {
					answered.Add(1)
				} else {
					wantErr(t, err, idempotency.ErrUnavailable)
				}
				last.Store(int64(time.Since(began)))
			})
		}
		all.Wait()
		var writes, reads int
		var writeUnits, readUnits float64
		for _, c := range s.db.Calls("") {
			if c.Operation == "GetItem" {
				reads++
			} else {
				writes++
			}
			writeUnits, readUnits = writeUnits+c.WriteUnits, readUnits+c.ReadUnits
		}
		if runs.Load() != 1 || answered.Load() != stormSize {
			t.Errorf("%d runs, %d answers", runs.Load(), answered.Load())
		}
		if most := 2 * stormSize; writes > most {
			t.Errorf("%d writes, want at most %d", writes, most)
		}
		for name, value := range map[string]any{
			"duplicates": stormSize, "answered": answered.Load(), "writes": writes, "reads": reads,
			"write-units": writeUnits, "read-units": readUnits, "virtual-s": time.Duration(last.Load()).Seconds(),
		} {
			t.Attr(name, fmt.Sprint(value))
		}
	})
}

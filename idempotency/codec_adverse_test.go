package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A codec that hangs, as a service for keys may, does not take the time in which the outcome must be recorded.
func TestCodecAdverse_SealHangs(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]idempotency.TxMode{"do": 0, "claimed": idempotency.Claimed, "single shot": idempotency.SingleShot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				req.Tx = mode
				hangs := &wrapping{seal: func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(time.Hour):
						return nil, errors.New("nobody has ended it")
					}
				}}
				start := time.Now()
				res, err := f.worker(t, codec(hangs)).do(localtest.Invocation(t, 3*time.Second), req, returns("paid"))
				wantAnswer(t, res, err, "paid", false)
				if took := time.Since(start); took >= 3*time.Second {
					t.Errorf("it took %s of 3s", took)
				}
				if it := f.record(t, req); it.text("status") != "COMPLETED" || it.text("encoding") != "none" {
					t.Errorf("recorded %s, %q", it.text("status"), it.text("encoding"))
				}
			})
		})
	}
}

// What is sealed is bound to the way in which it is to be read: who can write the table makes neither a failure of an answer, nor
// a reference, which would go to Request.Rebuild in clear.
func TestCodecAdverse_ReadAsAnotherThing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]item{
		"as a reference": {"encoding": text("reference+sealed")},
		"as a failure":   {"status": text("FAILED")},
		"as deflated":    {"encoding": text("deflate+sealed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				req.Rebuild = func(_ context.Context, ref string) (any, error) {
					t.Errorf("Rebuild got the answer: %s", ref)
					return map[string]string{"forged": ref}, nil
				}
				w := f.worker(t, codec(newSealer(t, "k")))
				ask := func() (map[string]string, error) {
					res, err := idempotency.Do(localtest.Invocation(t, 3*time.Second), w.runner, req, func(context.Context) (map[string]string, error) {
						return map[string]string{"card": canary}, nil
					})
					return res.Value, err
				}
				if _, err := ask(); err != nil {
					t.Fatal(err)
				}
				f.edit(t, req, change)
				if got, err := ask(); !errors.Is(err, idempotency.ErrBadRecord) {
					t.Errorf("replayed %v, %#v; want ErrBadRecord", got, err)
				}
			})
		})
	}
}

// A decoder's error quotes what it has read. Where a deploy has changed the result's type that is the sealed answer, which is
// neither for a log nor for an event.
func TestCodecAdverse_ChangedTypeTellsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said overheard
		f, req := newFixture(t), request("k")
		w := f.worker(t, codec(newSealer(t, "k")), overhear(&said))
		w.must(localtest.Invocation(t, 3*time.Second), t, req, returns(canary))
		_, err := idempotency.Do(localtest.Invocation(t, 3*time.Second), w.runner, req, func(context.Context) (time.Time, error) { return time.Time{}, nil })
		wantErr(t, err, idempotency.ErrBadRecord)
		said.wantSecret(t)
	})
}

// A codec that panics is as a handler that does.
func TestCodecAdverse_SealPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, codec(&wrapping{seal: func(context.Context, string, []byte) ([]byte, error) { panic("a bug") }}))
		func() {
			defer func() { _ = recover() }()
			_, _ = w.do(localtest.Invocation(t, 3*time.Second), req, returns("paid"))
		}()
		f.wantStatus(t, req, "UNKNOWN")
		f.wantKinds(t, idempotency.KindAcquired, idempotency.KindUnknown)
	})
}

// A codec may work in place: what it was given is nobody else's, neither the cache's nor that of the next try.
func TestCodecAdverse_SealInPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		turn := func(_ context.Context, _ string, data []byte) ([]byte, error) {
			for i := range data {
				data[i] ^= 0x55
			}
			return data, nil
		}
		w := f.worker(t, codec(&wrapping{seal: turn, open: turn}), caching(10, 0))
		for n := range 3 {
			res, err := w.do(localtest.Invocation(t, time.Second), req, returns("paid"))
			wantAnswer(t, res, err, "paid", n > 0)
		}
	})
}

package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// What Seal refuses is done and not stored: the first caller has the answer, a retry is told so, and nothing runs again.
func TestCodec_SealFails(t *testing.T) {
	t.Parallel()
	broken := &wrapping{seal: func(context.Context, string, []byte) ([]byte, error) {
		return nil, errors.New("the key service is away")
	}}
	large := &wrapping{seal: func(context.Context, string, []byte) ([]byte, error) { return make([]byte, 8<<20), nil }}
	for name, tt := range map[string]struct {
		codec idempotency.Codec
		h     handler
		value string
		why   string
	}{
		"result":         {broken, returns("paid"), "paid", "the key service is away"},
		"long result":    {broken, returns(noise(10 << 10)), noise(10 << 10), "the key service is away"},
		"failure":        {broken, fails(idempotency.Terminal(errPlain)), "", "the key service is away"},
		"grows too long": {large, returns("paid"), "paid", "over 7.5 MiB"},
	} {
		for _, mode := range []idempotency.TxMode{0, idempotency.Claimed, idempotency.SingleShot} {
			t.Run(fmt.Sprintf("%s/mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					req.Tx = mode
					res, err := f.worker(t, codec(tt.codec)).do(localtest.Invocation(t, time.Second), req, tt.h)
					if tt.value == "" {
						wantErr(t, err, errPlain)
					} else {
						wantAnswer(t, res, err, tt.value, false)
					}
					last := f.seen()[len(f.seen())-1]
					if last.Err == nil || !strings.Contains(last.Err.Error(), tt.why) {
						t.Errorf("event %s, %v does not say why there is no body", last.Kind, last.Err)
					}
					if it := f.record(t, req); it.has("data") || it.text("encoding") != "none" {
						t.Errorf("stored %v", it)
					}
					req.Tx = 0 // a single shot would run its handler before it looks
					_, err = f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("twice"))
					wantErr(t, err, idempotency.ErrNoBody)
					f.wantRuns(t, 1)
				})
			})
		}
	}
}

// A step whose result Seal refuses has run and is not recorded, which its handler's caller is told.
func TestCodec_SealFailsForAStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		away := errors.New("the key service is away")
		w := f.worker(t, codec(&wrapping{seal: func(context.Context, string, []byte) ([]byte, error) { return nil, away }}))
		_, err := w.do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
			return idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil })
		})
		wantErr(t, err, idempotency.ErrNotRecorded, away)
		f.wantStatus(t, req, "UNKNOWN")
	})
}

// What a person says is not half done: without a seal nothing is resolved.
func TestCodec_SealFailsForAResolution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.make(t, "unknown", req)
		away := errors.New("the key service is away")
		r := f.worker(t, codec(&wrapping{seal: func(context.Context, string, []byte) ([]byte, error) { return nil, away }})).runner
		rec, err := r.Record(t.Context(), id(req))
		if err != nil {
			t.Fatal(err)
		}
		before := f.record(t, req)
		wantErr(t, r.Resolve(t.Context(), rec, idempotency.Completed("paid")), away)
		f.wantUntouched(t, req, before)
	})
}

// What Open refuses is a record that is not understood: the handler does not run, and the record stays for who can open it.
func TestCodec_OpenFails(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(context.Context, string, []byte) ([]byte, error){
		"an error":       func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("denied") },
		"error and data": func(context.Context, string, []byte) ([]byte, error) { return []byte(`"forged"`), errors.New("denied") },
		"nothing":        func(context.Context, string, []byte) ([]byte, error) { return nil, nil },
		"no JSON":        func(context.Context, string, []byte) ([]byte, error) { return []byte("forged"), nil },
		"hangs": func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.worker(t, codec(&wrapping{})).must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
				before := f.record(t, req)
				for _, cached := range []int{0, 10} {
					w := f.worker(t, codec(&wrapping{open: open}), func(s *settings) { s.Cache = cached })
					for range 2 {
						res, err := w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
						wantErr(t, err, idempotency.ErrBadRecord)
						if res.Value != "" {
							t.Errorf("answered %q", res.Value)
						}
					}
				}
				f.wantRuns(t, 1)
				f.wantUntouched(t, req, before)
				res, err := f.worker(t, codec(&wrapping{})).do(localtest.Invocation(t, time.Second), req, returns("twice"))
				wantAnswer(t, res, err, "paid", true)
			})
		})
	}
}

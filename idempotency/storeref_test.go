package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// storesRef is a handler that returns a value and leaves a reference to it.
func storesRef(refs ...string) handler {
	return func(ctx context.Context) (string, error) {
		for _, ref := range refs {
			if err := idempotency.StoreRef(ctx, ref); err != nil {
				return "", err
			}
		}
		return "made of " + refs[len(refs)-1], nil
	}
}

// rebuilding is the request with a Rebuild that makes the value again, and counts.
func rebuilding(req idempotency.Request, times *int) idempotency.Request {
	req.Rebuild = func(_ context.Context, ref string) (any, error) {
		*times++
		return "made of " + ref, nil
	}
	return req
}

// A reference is recorded instead of the answer, whatever the form of the run: the first caller gets what the handler has
// returned, a retry what Rebuild makes of the last reference.
func TestStoreRef_Replay(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("r", idempotency.MaxStoredRef)
	for name, tt := range map[string]struct {
		h    handler
		tx   idempotency.TxMode
		ref  string
		more []option
	}{
		"once":        {h: storesRef("s3://b/1"), ref: "s3://b/1"},
		"the last":    {h: storesRef("s3://b/1", "s3://b/2"), ref: "s3://b/2"},
		"longest":     {h: storesRef(longest), ref: longest},
		"quotes":      {h: storesRef(`"ü" \ <&>`), ref: `"ü" \ <&>`},
		"claimed":     {h: storesRef("s3://b/1"), tx: idempotency.Claimed, ref: "s3://b/1"},
		"single shot": {h: storesRef("s3://b/1"), tx: idempotency.SingleShot, ref: "s3://b/1"},
		"beside":      {h: storesRef(longest), ref: longest, more: []option{func(s *settings) { s.Inline = 100 }}},
		"in a step": {h: func(ctx context.Context) (string, error) {
			return idempotency.Step(ctx, "upload", func(ctx context.Context) (string, error) { return storesRef("s3://b/1")(ctx) })
		}, ref: "s3://b/1"},
		"after one that is refused": {h: func(ctx context.Context) (string, error) {
			value, err := storesRef("s3://b/1")(ctx)
			_ = idempotency.StoreRef(ctx, "")
			return value, err
		}, ref: "s3://b/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, rebuilt := newFixture(t), 0
				req := rebuilding(request("k"), &rebuilt)
				req.Tx = tt.tx
				res, err := f.worker(t, tt.more...).do(localtest.Invocation(t, 3*time.Second), req, tt.h)
				wantAnswer(t, res, err, "made of "+tt.ref, false)
				if rebuilt != 0 {
					t.Error("the first caller's value was rebuilt")
				}
				rec, err := f.worker(t).runner.Record(t.Context(), id(req))
				if err != nil || string(rec.Outcome) != tt.ref || !strings.HasPrefix(rec.Encoding, "reference") {
					t.Errorf("recorded %q as %q, %v", rec.Outcome, rec.Encoding, err)
				}
				req.Tx = 0
				for n := range 2 {
					res, err = f.worker(t, tt.more...).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
					wantAnswer(t, res, err, "made of "+tt.ref, true)
					found, err := idempotency.Lookup[string](t.Context(), f.worker(t).runner, req)
					wantAnswer(t, found, err, "made of "+tt.ref, true)
					if rebuilt != 2*n+2 {
						t.Errorf("rebuilt %d times", rebuilt)
					}
				}
				f.wantRuns(t, 1)
			})
		})
	}
}

// A short reference stands in the record as it is, for a person to follow.
func TestStoreRef_InClear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, rebuilt := newFixture(t), 0
		req := rebuilding(request("k"), &rebuilt)
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, storesRef("s3://b/1"))
		if it := f.record(t, req); it.text("data") != "s3://b/1" || it.text("encoding") != "reference" {
			t.Errorf("stored %q as %q", it.text("data"), it.text("encoding"))
		}
	})
}

// A result that is not stored may be as large as it likes, and of what cannot be recorded.
func TestStoreRef_AnyResult(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"9 MB": strings.Repeat("x", 9<<20), "a stream": strings.NewReader("stream"), "a channel": make(chan int),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, rebuilt := newFixture(t), 0
			req := rebuilding(request("k"), &rebuilt)
			r := f.worker(t).runner
			res, err := idempotency.Do(t.Context(), r, req, func(ctx context.Context) (any, error) {
				return value, idempotency.StoreRef(ctx, "s3://b/1")
			})
			if err != nil || res.Value != value {
				t.Errorf("the first caller got a %T, %v; want the handler's own value", res.Value, err)
			}
			again, err := idempotency.Do(t.Context(), r, req, func(context.Context) (any, error) { return nil, errPlain })
			if err != nil || again.Value != "made of s3://b/1" {
				t.Errorf("replayed %v, %v", again.Value, err)
			}
		})
	}
}

// A handler that returns an error has stored nothing: neither its failure nor the next run has the reference.
func TestStoreRef_NotWithAnError(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"released": errPlain, "terminal": idempotency.Terminal(errPlain)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, rebuilt := newFixture(t), 0
				req := rebuilding(request("k"), &rebuilt)
				w := f.worker(t)
				_, err := w.do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
					return "", errors.Join(idempotency.StoreRef(ctx, "s3://b/1"), end)
				})
				wantErr(t, err, errPlain)
				res, err := w.do(localtest.Invocation(t, time.Second), req, returns("second"))
				if name == "released" {
					wantAnswer(t, res, err, "second", false)
					res, err = w.do(localtest.Invocation(t, time.Second), req, returns("third"))
					wantAnswer(t, res, err, "second", true)
				} else if err == nil || !res.Replayed {
					t.Errorf("got %+v, %v; want the failure", res, err)
				}
				if rebuilt != 0 || strings.HasPrefix(f.record(t, req).text("encoding"), "reference") {
					t.Errorf("rebuilt %d times of %v", rebuilt, f.record(t, req))
				}
			})
		})
	}
}

// An error of StoreRef's comes with every run, and most often after the effect: a handler that returns it is not run again.
func TestStoreRef_ItsErrorIsUnknown(t *testing.T) {
	t.Parallel()
	for name, ref := range map[string]string{"no rebuild": "s3://b/1", "too long": strings.Repeat("r", idempotency.MaxStoredRef+1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				for range 2 {
					_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, storesRef(ref))
					if err == nil {
						t.Error("no error")
					}
				}
				f.wantStatus(t, req, "UNKNOWN")
				f.wantRuns(t, 1)
			})
		})
	}
}

// What StoreRef refuses is no reference: it says by which rule, and the run goes on.
func TestStoreRef_Refuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, rebuilt := newFixture(t), 0
		w, req := f.worker(t), rebuilding(request("k"), &rebuilt)
		var after context.Context
		refused := func(ctx context.Context, ref, field, rule string) {
			t.Helper()
			err := idempotency.StoreRef(ctx, ref)
			if wrong, ok := errors.AsType[*idempotency.FieldError](err); !ok || wrong.Field != field || !strings.Contains(wrong.Rule, rule) {
				t.Errorf("%.20q: %v, want one of %s", ref, err, field)
			}
		}
		w.must(localtest.Invocation(t, time.Second), t, req, func(ctx context.Context) (string, error) {
			after = ctx
			refused(ctx, "", "StoreRef's ref", "is required")
			refused(ctx, strings.Repeat("r", idempotency.MaxStoredRef+1), "StoreRef's ref", "at most 1024 bytes")
			refused(ctx, "a\x00b", "StoreRef's ref", "printable")
			refused(ctx, "a\xffb", "StoreRef's ref", "UTF-8")
			refused(t.Context(), "s3://b/1", "StoreRef's ctx", "Do gave")
			return "ok", nil
		})
		refused(after, "s3://b/1", "StoreRef's ctx", "before the handler returns")
		w.must(localtest.Invocation(t, time.Second), t, request("no rebuild"), func(ctx context.Context) (string, error) {
			refused(ctx, "s3://b/1", "Request.Rebuild", "is required")
			return "ok", nil
		})
		if rebuilt != 0 || f.record(t, req).text("data") != `"ok"` {
			t.Errorf("rebuilt %d times of %v", rebuilt, f.record(t, req))
		}
	})
}

// A test of a bare handler needs no Rebuild.
func TestStoreRef_BareHandler(t *testing.T) {
	t.Parallel()
	if _, err := storesRef("s3://b/1")(idempotency.WithAttempt(t.Context(), idempotency.Attempt{Number: 1})); err != nil {
		t.Error(err)
	}
}

// A handler inside of another one stores a reference for its own key, and the outer one for its own.
func TestStoreRef_Nested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, rebuilt := newFixture(t), 0
		w := f.worker(t)
		outer, inner := rebuilding(request("outer"), &rebuilt), rebuilding(request("inner"), &rebuilt)
		w.must(localtest.Invocation(t, time.Second), t, outer, func(ctx context.Context) (string, error) {
			res, err := w.do(ctx, inner, storesRef("s3://b/inner"))
			return res.Value, err
		})
		if in, out := f.record(t, inner), f.record(t, outer); in.text("data") != "s3://b/inner" || out.text("data") != `"made of s3://b/inner"` {
			t.Errorf("stored %v and %v", in, out)
		}
	})
}

var (
	errAway   = errors.New("the bucket is away")
	errClosed = io.ErrClosedPipe
)

// What goes wrong in Rebuild is told and runs nothing; the record stays, and the next retry can be answered.
func TestStoreRef_RebuildFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rebuild func(context.Context, string) (any, error)
		want    error // nil: a FieldError
		says    string
		again   bool             // RetryAfter is set
		kind    idempotency.Kind // "": not said
	}{
		"missing":         {nil, nil, "Request.Rebuild", false, ""},
		"error":           {func(context.Context, string) (any, error) { return nil, errAway }, idempotency.ErrUnavailable, errAway.Error(), true, idempotency.KindStoreFailure},
		"error and value": {func(context.Context, string) (any, error) { return "half", errAway }, idempotency.ErrUnavailable, errAway.Error(), true, idempotency.KindStoreFailure},
		"terminal error":  {func(context.Context, string) (any, error) { return nil, idempotency.Terminal(errAway) }, idempotency.ErrUnavailable, errAway.Error(), true, idempotency.KindStoreFailure},
		"another type":    {func(context.Context, string) (any, error) { return 7, nil }, idempotency.ErrBadRecord, "decoded", false, idempotency.KindStoreFailure},
		"a channel":       {func(context.Context, string) (any, error) { return make(chan int), nil }, idempotency.ErrBadRecord, "encoded", false, idempotency.KindStoreFailure},
		"a stream":        {func(context.Context, string) (any, error) { return strings.NewReader("paid"), nil }, idempotency.ErrBadRecord, "stream", false, idempotency.KindStoreFailure},
		"a file's error":  {func(context.Context, string) (any, error) { return nil, errClosed }, idempotency.ErrUnavailable, errClosed.Error(), true, idempotency.KindStoreFailure},
	} {
		for _, cached := range []int{0, 10} {
			t.Run(fmt.Sprintf("%s/cache %d", name, cached), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, rebuilt := newFixture(t), 0
					good := rebuilding(request("k"), &rebuilt)
					w := f.worker(t, func(s *settings) { s.Cache = cached })
					w.must(localtest.Invocation(t, time.Second), t, good, storesRef("s3://b/1"))
					before := f.record(t, good)
					f.quiet()
					req := request("k")
					req.Rebuild = tt.rebuild
					res, err := w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
					f.wantRuns(t, 0)
					state, ok := errors.AsType[*idempotency.StateError](err)
					if !ok || !strings.Contains(err.Error(), tt.says) || (state.RetryAfter > 0) != tt.again || res.Value != "" || !res.Replayed {
						t.Errorf("got %+v, %v", res, err)
					}
					if _, field := errors.AsType[*idempotency.FieldError](err); field != (tt.want == nil) || tt.want != nil && !errors.Is(err, tt.want) {
						t.Errorf("error %v, want %v", err, tt.want)
					}
					f.wantUntouched(t, good, before)
					if events := f.seen(); len(events) != 1 || events[0].Err == nil || tt.kind != "" && events[0].Kind != tt.kind {
						t.Errorf("events %+v, want one with the error", events)
					}
					res, err = w.do(localtest.Invocation(t, time.Second), good, returns("twice"))
					wantAnswer(t, res, err, "made of s3://b/1", true)
				})
			})
		}
	}
}

// A Rebuild that returns nil makes JSON's null, as a handler that returns nil does.
func TestStoreRef_RebuildsNil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, rebuilt := newFixture(t), 0
		w, req := f.worker(t), rebuilding(request("k"), &rebuilt)
		w.must(localtest.Invocation(t, time.Second), t, req, storesRef("s3://b/1"))
		req.Rebuild = func(context.Context, string) (any, error) { return nil, nil }
		res, err := idempotency.Do(localtest.Invocation(t, time.Second), w.runner, req, func(context.Context) (*receipt, error) { return nil, errPlain })
		if err != nil || res.Value != nil || !res.Replayed {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

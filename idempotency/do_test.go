package idempotency_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// What cannot be right is refused before the table is asked and before the handler runs.
func TestDo_Refused(t *testing.T) {
	t.Parallel()
	type ask func(context.Context, *worker, idempotency.Request) error
	run := runs(returns("ok"))
	change := func(set func(*idempotency.Request)) ask {
		return func(ctx context.Context, w *worker, req idempotency.Request) error {
			set(&req)
			return run(w, ctx, req)
		}
	}
	for field, do := range map[string]ask{
		"fn": func(ctx context.Context, w *worker, req idempotency.Request) error {
			_, err := idempotency.Do[string](ctx, w.runner, req, nil)
			return err
		},
		"Runner": func(ctx context.Context, _ *worker, req idempotency.Request) error {
			_, err := idempotency.Do(ctx, nil, req, returns("ok"))
			return err
		},
		"result": func(ctx context.Context, w *worker, req idempotency.Request) error {
			return result[io.Reader](nil)(w, ctx, req)
		},
		"Request.Operation": change(func(r *idempotency.Request) { r.Operation = "" }),
		"Request.Scope":     change(func(r *idempotency.Request) { r.Scope = "" }),
		"Request.Key":       change(func(r *idempotency.Request) { r.Key = "" }),
		"Request.Input":     change(func(r *idempotency.Request) { r.Input = nil }),
		"Request.Wait":      change(func(r *idempotency.Request) { r.Wait = -1 }),
		"Request.Retention": change(func(r *idempotency.Request) { r.Retention = -1 }),
		"Request.OnUnknown": change(func(r *idempotency.Request) { r.OnUnknown = 9 }),
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				err := do(localtest.Invocation(t, time.Second), f.worker(t), request("k"))
				if refusal, ok := errors.AsType[*idempotency.FieldError](err); !ok || refusal.Field != field {
					t.Errorf("error %v, want a refusal of %s", err, field)
				}
				f.wantCalls(t)
				f.wantRuns(t, 0)
			})
		})
	}
}

// AnyInput takes any input for the same request, from either side.
func TestDo_AnyInput(t *testing.T) {
	t.Parallel()
	anything := request("k")
	anything.Input = idempotency.AnyInput
	for name, order := range map[string][]idempotency.Request{
		"first without":  {anything, request("k")},
		"second without": {request("k"), anything},
		"both without":   {anything, anything},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				for i, req := range order {
					res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("ok"))
					wantAnswer(t, res, err, "ok", i > 0)
				}
			})
		})
	}
}

// The handler gets the caller's context, with a deadline of its own and a cause that says whose it is.
func TestDo_HandlersContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		type mark struct{}
		if idempotency.AttemptFrom(context.Background()) != nil {
			t.Error("an attempt outside of a handler")
		}
		w := f.worker(t)
		ctx := context.WithValue(localtest.Invocation(t, 3*time.Second), mark{}, "mine")
		start := time.Now()
		_, err := w.do(ctx, request("k"), func(ctx context.Context) (string, error) {
			if ctx.Value(mark{}) != "mine" || idempotency.AttemptFrom(ctx) == nil {
				t.Error("the handler's context is not made from the caller's")
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		if took := time.Since(start); took != 2700*time.Millisecond {
			t.Errorf("the handler had %s of 3 s", took)
		}
		wantErr(t, err, context.DeadlineExceeded)
		f.wantStatus(t, request("k"), "UNKNOWN")
	})
}

// Config.Reserve is kept back as it is asked for.
func TestDo_Reserve(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ timeout, set, want time.Duration }{
		"a tenth":   {3 * time.Second, 0, 300 * time.Millisecond},
		"at least":  {200 * time.Millisecond, 0, 50 * time.Millisecond},
		"at most":   {15 * time.Minute, 0, time.Second},
		"asked for": {3 * time.Second, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, func(s *settings) { s.Reserve = tt.set })
				w.must(localtest.Invocation(t, tt.timeout), t, request("k"), func(ctx context.Context) (string, error) {
					deadline, _ := ctx.Deadline()
					if kept := tt.timeout - time.Until(deadline); kept != tt.want {
						t.Errorf("%s are kept back, want %s", kept, tt.want)
					}
					return "ok", nil
				})
			})
		})
	}
}

// Classify goes before the table and after the handler's own mark.
func TestDo_Classify(t *testing.T) {
	t.Parallel()
	classify := func(class idempotency.Class) option {
		return func(s *settings) { s.Classify = func(error) idempotency.Class { return class } }
	}
	for name, tt := range map[string]struct {
		set    option
		err    error
		status string
	}{
		"recorded":        {classify(idempotency.Recorded), errPlain, "FAILED"},
		"ambiguous":       {classify(idempotency.Ambiguous), errPlain, "UNKNOWN"},
		"released":        {classify(idempotency.Released), io.ErrUnexpectedEOF, "RELEASED"},
		"left":            {classify(0), io.ErrUnexpectedEOF, "UNKNOWN"},
		"no such class":   {classify(9), io.ErrUnexpectedEOF, "UNKNOWN"},
		"the mark is won": {classify(idempotency.Released), idempotency.Unknown(errPlain), "UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				_, _ = f.worker(t, tt.set).do(localtest.Invocation(t, time.Second), request("k"), fails(tt.err))
				f.wantStatus(t, request("k"), tt.status)
			})
		})
	}
}

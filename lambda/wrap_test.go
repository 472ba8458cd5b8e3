package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

func TestWrap_RetryGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	runs := 0
	pay := lambda.Wrap(r.Runner, orderRequest, func(_ context.Context, o order) (string, error) {
		runs++
		return fmt.Sprintf("paid %s (run %d)", o.ID, runs), nil
	})
	for range 2 {
		got, err := pay(localtest.Invocation(t, time.Minute), order{ID: "o1", Customer: "c1"})
		if got != "paid o1 (run 1)" || err != nil {
			t.Errorf("pay = %q, %v, want the first run's answer", got, err)
		}
	}
	if calls := len(r.db.Calls("")); calls != 3 {
		t.Errorf("%d calls to the table, want 2 of the first run and 1 of the replay", calls)
	}
}

func TestEvent_RetryDoesNotRun(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	runs := 0
	h := lambda.Event(r.Runner, fixed, func(context.Context, order) error {
		runs++
		return nil
	})
	for range 2 {
		if got := invoke(t, h, `{}`); got != (reply{payload: "{}"}) {
			t.Errorf("invoke = %+v, want {}", got)
		}
	}
	if runs != 1 {
		t.Errorf("the handler ran %d times, want 1", runs)
	}
}

func TestWrap_RequestsOwnErrorGoesBack(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	want := errors.New("no order number")
	h := lambda.Wrap(r.Runner, func(context.Context, order) (idempotency.Request, error) {
		return idempotency.Request{Operation: "pay", Scope: "c", Key: "k"}, want
	}, mustNotRun[order, string](t))
	if _, err := h(localtest.Invocation(t, time.Minute), order{}); err != want { //nolint:errorlint // as it is
		t.Errorf("err = %v, want request's own, untouched", err)
	}
	if n := len(r.db.Calls("PutItem")); n != 0 {
		t.Errorf("%d acquires, want none", n)
	}
}

func mustNotRun[In, Out any](tb testing.TB) lambda.Handler[In, Out] {
	tb.Helper()
	return func(context.Context, In) (out Out, _ error) {
		tb.Error("the handler ran")
		return out, nil
	}
}

func TestWrap_InputIsTheEventUnlessGiven(t *testing.T) {
	t.Parallel()
	byEvent := orderRequest
	byAmount := func(ctx context.Context, o order) (idempotency.Request, error) {
		req, err := orderRequest(ctx, o)
		req.Input = o.Amount
		return req, err
	}
	byKey := func(ctx context.Context, o order) (idempotency.Request, error) {
		req, err := orderRequest(ctx, o)
		req.Scope, req.Input = "c", idempotency.AnyInput
		return req, err
	}
	for _, tt := range []struct {
		name    string
		request func(context.Context, order) (idempotency.Request, error)
		second  order
		want    error
	}{
		{"same event", byEvent, order{ID: "o", Customer: "c", Amount: 1}, nil},
		{"other event", byEvent, order{ID: "o", Customer: "c", Amount: 2}, idempotency.ErrMismatch},
		{"other input", byAmount, order{ID: "o", Customer: "c", Amount: 2}, idempotency.ErrMismatch},
		{"any input", byKey, order{ID: "o", Customer: "d", Amount: 2}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, idempotency.Config{})
			h := lambda.Wrap(r.Runner, tt.request, func(context.Context, order) (int, error) { return 1, nil })
			if _, err := h(localtest.Invocation(t, time.Minute), order{ID: "o", Customer: "c", Amount: 1}); err != nil {
				t.Fatal(err)
			}
			if _, err := h(localtest.Invocation(t, time.Minute), tt.second); !errors.Is(err, tt.want) {
				t.Errorf("second event: %v, want %v", err, tt.want)
			}
		})
	}
}

// C29: a handler that changes its event does not change what the key is bound to.
func TestWrap_HandlerChangesItsEvent(t *testing.T) {
	t.Parallel()
	type event struct {
		Lines []string
		Tags  map[string]string
		Buyer *order
	}
	r := newFixture(t, idempotency.Config{})
	runs := 0
	h := lambda.Wrap(r.Runner, fixed, func(_ context.Context, e *event) (int, error) {
		runs++
		e.Lines[0], e.Tags["a"], e.Buyer.ID = "changed", "changed", "changed"
		e.Lines = append(e.Lines, "more")
		return runs, nil
	})
	const payload = `{"Lines":["l"],"Tags":{"a":"b"},"Buyer":{"id":"o"}}`
	for range 2 {
		if got := invoke(t, h, payload); got != (reply{payload: "1"}) {
			t.Errorf("invoke = %+v, want the first run's 1", got)
		}
	}
}

// C20: many invocations in one process (AWS_LAMBDA_MAX_CONCURRENCY), one key.
func TestWrap_StormOnOneKey(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{Wait: time.Minute})
	var runs, fails atomic.Int64
	h := lambda.Wrap(r.Runner, orderRequest, func(_ context.Context, o order) (int64, error) {
		return runs.Add(1), nil
	})
	var storm sync.WaitGroup
	for range 64 {
		ctx := localtest.Invocation(t, time.Minute)
		storm.Go(func() {
			if got, err := h(ctx, order{ID: "o", Customer: "c"}); got != 1 || err != nil {
				fails.Add(1)
			}
		})
	}
	storm.Wait()
	if runs.Load() != 1 || fails.Load() != 0 {
		t.Errorf("%d runs, %d wrong answers, want 1 and 0", runs.Load(), fails.Load())
	}
}

// C21: operations inside operations, one after the other and at once, on one Runner and with one key.
func TestWrap_OperationsInsideOperations(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	var runs [4]atomic.Int64
	operation := func(i int, inner ...lambda.Handler[order, string]) lambda.Handler[order, string] {
		name := fmt.Sprintf("op%d", i)
		return lambda.Wrap(r.Runner, func(_ context.Context, o order) (idempotency.Request, error) {
			return idempotency.Request{Operation: name, Scope: o.Customer, Key: o.ID}, nil
		}, func(ctx context.Context, o order) (string, error) {
			runs[i].Add(1)
			attempt := idempotency.AttemptFrom(ctx)
			parts := make([]string, len(inner))
			errs := make([]error, len(inner))
			var all sync.WaitGroup
			for n, h := range inner {
				all.Go(func() { parts[n], errs[n] = h(ctx, o) })
			}
			all.Wait()
			if idempotency.AttemptFrom(ctx) != attempt {
				t.Errorf("%s: an inner attempt took the outer one's place", name)
			}
			return name + "(" + strings.Join(parts, ",") + ")", errors.Join(errs...)
		})
	}
	outer := operation(0, operation(1), operation(2, operation(3)))
	for range 2 {
		got, err := outer(localtest.Invocation(t, time.Minute), order{ID: "o", Customer: "c"})
		if want := "op0(op1(),op2(op3()))"; got != want || err != nil {
			t.Errorf("outer = %q, %v, want %q", got, err, want)
		}
	}
	for i := range runs {
		if n := runs[i].Load(); n != 1 {
			t.Errorf("op%d ran %d times, want 1", i, n)
		}
	}
}

func TestWrap_PanicGoesOn(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	cause := &struct{ string }{"boom"}
	h := lambda.Wrap(r.Runner, fixed, func(context.Context, order) (int, error) { panic(cause) })
	func() {
		defer func() {
			if got := recover(); got != cause {
				t.Errorf("recovered %v, want the handler's own value", got)
			}
		}()
		_, err := h(localtest.Invocation(t, time.Minute), order{})
		t.Errorf("h returned %v, want a panic", err)
	}()
	if _, err := h(localtest.Invocation(t, time.Minute), order{}); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
		t.Errorf("after the panic: %v, want ErrOutcomeUnknown", err)
	}
}

// C17.
func TestWrap_GoexitGoesOn(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	h := lambda.Wrap(r.Runner, fixed, func(context.Context, order) (int, error) {
		runtime.Goexit()
		return 0, nil
	})
	ctx := localtest.Invocation(t, time.Minute)
	var run sync.WaitGroup
	run.Go(func() {
		_, err := h(ctx, order{})
		t.Errorf("h returned %v, want no return", err)
	})
	run.Wait()
	if _, err := h(ctx, order{}); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
		t.Errorf("after Goexit: %v, want ErrOutcomeUnknown", err)
	}
}

func TestWrap_ContextEndedBefore(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	ctx, cancel := context.WithCancel(localtest.Invocation(t, time.Minute))
	cancel()
	h := lambda.Wrap(r.Runner, fixed, mustNotRun[order, int](t))
	_, err := h(ctx, order{})
	if !errors.Is(err, idempotency.ErrNoTime) || !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want ErrNoTime because of context.Canceled", err)
	}
}

// C16.
func TestWrap_ContextEndsWithTheHandler(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	ctx, cancel := context.WithCancel(localtest.Invocation(t, time.Minute))
	runs := 0
	h := lambda.Wrap(r.Runner, fixed, func(context.Context, order) (int, error) {
		runs++
		cancel()
		return runs, nil
	})
	for _, ctx := range []context.Context{ctx, localtest.Invocation(t, time.Minute)} {
		if got, err := h(ctx, order{}); got != 1 || err != nil {
			t.Errorf("h = %d, %v, want 1: the outcome is recorded although the caller has gone", got, err)
		}
	}
}

func TestWrap_HandlerEndsBeforeTheInvocation(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	ctx := localtest.Invocation(t, 3*time.Second)
	outer, _ := ctx.Deadline()
	h := lambda.Wrap(r.Runner, fixed, func(ctx context.Context, _ order) (time.Time, error) {
		inner, _ := ctx.Deadline()
		return inner, nil
	})
	inner, err := h(ctx, order{})
	if err != nil || !inner.Before(outer.Add(-200*time.Millisecond)) || inner.Before(outer.Add(-time.Second)) {
		t.Errorf("the handler's deadline is %s before the invocation's (%v), want a tenth of 3 s", outer.Sub(inner), err)
	}
}

func TestWrap_RawEventKeepsItsDigits(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{})
	h := lambda.Wrap(r.Runner, fixed, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	const first, second = `{"n":9007199254740992}`, `{"n":9007199254740993}`
	if got := invoke(t, h, first); got.payload != first {
		t.Errorf("first = %+v, want %s", got, first)
	}
	if got := errorType(t, invoke(t, h, second)); got != "IdempotencyMismatch" {
		t.Errorf("second: errorType %q, want IdempotencyMismatch", got)
	}
}

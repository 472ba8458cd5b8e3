package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

var errPlain = errors.New("out of stock")

// cycle is a value that has no JSON.
type cycle struct{ Next *cycle }

// ending is a way out of the handler of a request whose key is new.
type ending struct {
	name    string
	run     func(*worker, context.Context, idempotency.Request) error
	err     error  // what the caller gets: this very one
	panics  any    // what the caller sees going through
	exits   bool   // the caller's goroutine ends
	status  string // of the record
	next    error  // what the next request gets under Refuse; nil: an answer
	nextRun bool   // and whether that ran
}

// result is a request of which the handler returns value.
func result[T any](value T) func(*worker, context.Context, idempotency.Request) error {
	return func(w *worker, ctx context.Context, req idempotency.Request) error {
		_, err := idempotency.Do(ctx, w.runner, req, func(context.Context) (T, error) {
			w.runs.Add(1)
			return value, nil
		})
		return err
	}
}

func runs(h handler) func(*worker, context.Context, idempotency.Request) error {
	return func(w *worker, ctx context.Context, req idempotency.Request) error {
		_, err := w.do(ctx, req, h)
		return err
	}
}

func endings() []ending {
	reset := fmt.Errorf("charge: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET})
	dial := fmt.Errorf("charge: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	loop := &cycle{}
	loop.Next = loop
	return []ending{
		{name: "result", run: runs(returns("ok")), status: "COMPLETED"},
		{name: "terminal", run: runs(fails(idempotency.Terminal(errPlain))), err: errPlain, status: "FAILED", next: &idempotency.Failure{}},
		{name: "error", run: runs(fails(errPlain)), err: errPlain, status: "RELEASED", nextRun: true},
		{name: "safe", run: runs(fails(idempotency.Safe(reset))), err: reset, status: "RELEASED", nextRun: true},
		{name: "never left", run: runs(fails(dial)), err: dial, status: "RELEASED", nextRun: true},
		// C10: never released by itself.
		{name: "unknown", run: runs(fails(idempotency.Unknown(errPlain))), err: errPlain, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown},
		// H15, rule 20.
		{name: "connection reset", run: runs(fails(reset)), err: reset, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown},
		{name: "EOF", run: runs(fails(io.ErrUnexpectedEOF)), err: io.ErrUnexpectedEOF, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown},
		{name: "context ended", run: runs(func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}), err: context.DeadlineExceeded, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown},
		{
			name: "panic with an error", run: runs(func(context.Context) (string, error) { panic(errPlain) }),
			panics: errPlain, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown,
		},
		{
			name: "panic with a value", run: runs(func(context.Context) (string, error) { panic(42) }),
			panics: 42, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown,
		},
		{
			name: "Goexit", run: runs(func(context.Context) (string, error) { runtime.Goexit(); return "", nil }),
			exits: true, status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown,
		},
		// C32: found out after the effect; done all the same.
		{name: "NaN", run: result(math.NaN()), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "infinity inside", run: result(map[string]float64{"rate": math.Inf(1)}), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "channel in an any", run: result[any](make(chan int)), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "function in an any", run: result(map[string]any{"f": func() {}}), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "cycle", run: result(loop), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "oversize", run: runs(returns(strings.Repeat("x", 8<<20))), status: "COMPLETED", next: idempotency.ErrNoBody},
		{name: "result that panics while encoded", run: result(panicking{}), panics: "no JSON of this", status: "UNKNOWN", next: idempotency.ErrOutcomeUnknown},
	}
}

// panicking cannot even be asked for its JSON.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no JSON of this") }
func (*panicking) UnmarshalJSON([]byte) error  { return nil }

// C17, I9, rule 22: every way out of the handler leaves a record that says what the next request may do.
func TestRun_EveryWayOut(t *testing.T) {
	t.Parallel()
	for _, e := range endings() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, req := f.worker(t), request("k")
				var err error
				var panicked any
				exited := true
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { panicked = recover() }()
					err = e.run(w, localtest.Invocation(t, 3*time.Second), req)
					exited = false
				}()
				<-done
				if panicked != e.panics || exited != (e.exits || e.panics != nil) {
					t.Errorf("panic %v, goroutine ended %t; want %v, %t", panicked, exited, e.panics, e.exits)
				}
				if err != e.err { //nolint:errorlint // the handler's own error, untouched
					t.Errorf("error %#v, want the handler's own %#v", err, e.err)
				}
				f.wantRuns(t, 1)
				it := f.wantStatus(t, req, e.status)
				if finished := e.status == "COMPLETED" || e.status == "FAILED"; it.has("completed") != finished || it.has("in_progress_expiration") == finished {
					t.Errorf("the %s record has the attributes of another status: %v", e.status, it)
				}

				f.quiet()
				err = e.run(w, localtest.Invocation(t, 3*time.Second), req)
				if e.nextRun {
					f.wantRuns(t, 1)
					return
				}
				f.wantRuns(t, 0)
				if _, replayed := e.next.(*idempotency.Failure); replayed { //nolint:errorlint // a row's mark
					if got, ok := errors.AsType[*idempotency.Failure](err); !ok || got.Message != e.err.Error() {
						t.Errorf("the next request got %v, want the failure", err)
					}
				} else if !errors.Is(err, e.next) {
					t.Errorf("the next request got %v, want %v", err, e.next)
				}
			})
		})
	}
}

// C16: the caller hangs up, before the handler returns or while it does.
func TestRun_CancelledCaller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		end    handler
		status string
	}{
		{"result", returns("ok"), "COMPLETED"},
		{"terminal", fails(idempotency.Terminal(errPlain)), "FAILED"},
		{"error", fails(errPlain), "RELEASED"},
		{"cancelled", fails(context.Canceled), "UNKNOWN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				ctx, cancel := context.WithCancel(localtest.Invocation(t, 3*time.Second))
				_, _ = f.worker(t).do(ctx, request("k"), func(handling context.Context) (string, error) {
					cancel()
					if handling.Err() == nil {
						t.Error("the handler's context outlives the caller's")
					}
					return tt.end(handling)
				})
				f.wantStatus(t, request("k"), tt.status)
			})
		})
	}
}

// C18, I9: the completion gets no answer to the end. The caller is told, and the key is not fresh.
func TestRun_NotRecorded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		h       handler
		handler error
	}{
		{"result", returns("ok"), nil},
		{"terminal", fails(idempotency.Terminal(errPlain)), errPlain},
		// The nested operation may be asked for again, this one not.
		{"terminal from a nested operation", fails(idempotency.Terminal(&idempotency.StateError{Err: idempotency.ErrInProgress})), idempotency.ErrInProgress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, req := f.worker(t, withoutRetries), request("k")
				f.inject("UpdateItem", localtest.Throttled, forever)
				res, err := w.do(localtest.Invocation(t, 15*time.Second), req, tt.h)
				wantErr(t, err, idempotency.ErrNotRecorded)
				if tt.handler != nil {
					wantErr(t, err, tt.handler)
				}
				if res.Value != "" {
					t.Errorf("an unrecorded answer was handed out: %q", res.Value)
				}
				if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 1 || st.RetryAfter != 0 {
					t.Errorf("state %+v, want attempt 1 and no retry", st)
				}
				if _, ok := errors.AsType[*types.ThrottlingException](err); !ok {
					t.Errorf("the cause is not reachable in %v", err)
				}
				f.wantKinds(t, idempotency.KindAcquired, idempotency.KindNotRecorded)

				_, err = w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
				wantErr(t, err, idempotency.ErrInProgress)
				pass(20 * time.Second)
				_, err = w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
				wantErr(t, err, idempotency.ErrOutcomeUnknown)
				f.wantRuns(t, 1)
			})
		})
	}
}

// I9: an outcome is worth asking for as long as there is time: a table that comes back within it takes it.
func TestRun_RecordsWhenTheTableIsBack(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.Throttled, localtest.ServerError, localtest.Hang, localtest.Conflict} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				res, err := f.worker(t).do(localtest.Invocation(t, 5*time.Minute), request("k"), func(context.Context) (string, error) {
					f.inject("", kind, forever)
					time.AfterFunc(10*time.Second, f.db.ClearFaults)
					return "ok", nil
				})
				wantAnswer(t, res, err, "ok", false)
				f.wantStatus(t, request("k"), "COMPLETED")
			})
		})
	}
}

// And not for ever: a function with much time left does not spend it all.
func TestRun_RecordingIsBounded(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.Hang, localtest.Conflict} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.inject("UpdateItem", kind, forever)
				start := time.Now()
				_, err := f.worker(t).do(localtest.Invocation(t, 15*time.Minute), request("k"), returns("ok"))
				wantErr(t, err, idempotency.ErrNotRecorded)
				if took := time.Since(start); took > 31*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// C54: whatever becomes of the release, the caller gets the handler's own error.
func TestRun_FailedReleaseKeepsTheHandlersError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    handler
	}{
		{"release", fails(errPlain)},
		{"mark unknown", fails(idempotency.Unknown(errPlain))},
	} {
		for _, kind := range faultKinds {
			t.Run(tt.name+"/"+kind.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					f.inject("UpdateItem", kind, forever)
					_, err := f.worker(t).do(localtest.Invocation(t, 15*time.Second), request("k"), tt.h)
					if err != errPlain { //nolint:errorlint // untouched
						t.Errorf("error %v, want the handler's own", err)
					}
				})
			})
		}
	}
	t.Run("record gone", func(t *testing.T) { // H25, rule 29: an event only
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), request("k"), func(context.Context) (string, error) {
				f.remove(t, request("k"))
				return "", errPlain
			})
			if err != errPlain { //nolint:errorlint // untouched
				t.Errorf("error %v, want the handler's own", err)
			}
			f.wantKinds(t, idempotency.KindAcquired, idempotency.KindLeaseLost)
			if f.record(t, request("k")) != nil {
				t.Error("the deleted record came back")
			}
		})
	})
}

// C21, C52: nested and interleaved operations on one Runner each complete a record of their own, and two
// operations with the same key do not meet.
func TestRun_NestedOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		outer, inner := request("k"), request("k")
		inner.Operation = "notify"
		nested := func(ctx context.Context) (string, error) {
			in, err := w.do(ctx, inner, returns("mail"))
			return "charge+" + in.Value, err
		}
		res := w.must(localtest.Invocation(t, 3*time.Second), t, outer, nested)
		wantAnswer(t, res, nil, "charge+mail", false)
		f.wantStatus(t, outer, "COMPLETED")
		f.wantStatus(t, inner, "COMPLETED")
		f.wantRuns(t, 2)

		endA := w.hold(localtest.Invocation(t, 3*time.Second), t, request("a"))
		endB := w.hold(localtest.Invocation(t, 3*time.Second), t, request("b"))
		resA, err := endA(returns("A"))
		wantAnswer(t, resA, err, "A", false)
		resB, err := endB(returns("B"))
		wantAnswer(t, resB, err, "B", false)
	})
}

// An error of a nested operation releases the outer one: the inner record guards the inner effect.
func TestRun_NestedOperationRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		outer, inner := request("k"), request("k")
		inner.Operation = "notify"
		w.crash(localtest.Invocation(t, time.Second), inner)
		pass(5 * time.Second)
		w = f.worker(t)
		_, err := w.do(localtest.Invocation(t, 3*time.Second), outer, func(ctx context.Context) (string, error) {
			res, err := w.do(ctx, inner, returns("mail"))
			return res.Value, err
		})
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		f.wantStatus(t, outer, "RELEASED")
		f.wantStatus(t, inner, "INPROGRESS")
	})
}

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

// I9: whoever cannot be given an outcome is told so, while Lambda still listens: at the deadline the process is killed.
func TestEnding_AnswersBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		operation string
		tx        idempotency.TxMode
		run       handler
	}{
		"outcome": {"UpdateItem", 0, returns("v")},
		"step": {"UpdateItem", 0, func(ctx context.Context) (string, error) {
			return idempotency.Step(ctx, "charge", returns("v"))
		}},
		"commit": {"TransactWriteItems", idempotency.Claimed, func(ctx context.Context) (string, error) {
			idempotency.TxFrom(ctx).Put("accounts", map[string]string{"id": "x"})
			return "v", nil
		}},
		"single shot": {"TransactWriteItems", idempotency.SingleShot, func(ctx context.Context) (string, error) {
			idempotency.TxFrom(ctx).Put("accounts", map[string]string{"id": "x"})
			return "v", nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.db.Inject(localtest.Fault{Operation: tt.operation, Kind: localtest.Throttled, Times: -1})
				ctx := localtest.Invocation(t, 3*time.Second)
				deadline, _ := ctx.Deadline()
				req := request("k")
				req.Tx = tt.tx
				_, err := f.worker(t).do(ctx, req, tt.run)
				if left := time.Until(deadline); err == nil || left <= 0 {
					t.Errorf("told %v before Lambda's deadline: %v", left, err)
				}
			})
		})
	}
}

// A call that is cut off by its caller's own deadline is cut off by that: whoever asks the context why finds the caller's cause.
func TestLimitCall_TheCallersDeadlineEndsFirst(t *testing.T) {
	t.Parallel()
	for range 100 { // the order of two timers at one time is not fixed
		synctest.Test(t, func(t *testing.T) {
			up := errors.New("the caller's time is up")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, up)
			defer cancel()
			f := newFixture(t)
			f.inject("", localtest.Hang, forever)
			for _, err := range f.worker(t).runner.Unknowns(ctx) {
				if err == nil || context.Cause(ctx) != up { //nolint:errorlint // it itself
					t.Errorf("error %v, cause %v", err, context.Cause(ctx))
				}
			}
		})
	}
}

package idempotency_test

import (
	"context"
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

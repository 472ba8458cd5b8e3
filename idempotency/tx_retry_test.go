package idempotency_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// end is a way in which a handler ends that finds too little in the account: because of the payment that its own request
// has made before (H4).
type end struct {
	short error // if the handler looks first, what it says then
	h     func(ledger) txHandler
}

func (e end) of(tb testing.TB, l ledger) txHandler {
	tb.Helper()
	if e.short != nil {
		return l.looksFirst(tb, e.short)
	}
	return e.h(l)
}

var ends = map[string]end{
	"error":         {short: errFunds},
	"terminal":      {short: idempotency.Terminal(errFunds)},
	"unknown":       {short: idempotency.Unknown(errFunds)},
	"safe":          {short: idempotency.Safe(errFunds)},
	"condition":     {h: txShort(nil)},
	"else":          {h: txShort(errFunds)},
	"else terminal": {h: txShort(idempotency.Terminal(errFunds))},
	"else unknown":  {h: txShort(idempotency.Unknown(errFunds))},
	"pays again":    {h: txPays},
}

func atEachEnd(t *testing.T, test func(*testing.T, ledger, idempotency.Request, txHandler)) {
	t.Helper()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) { test(t, l, req, end.of(t, l)) })
		})
	}
}

// C46, H4: the transaction commits, its reply is lost for good, and the retry sees the effect. It gets the payment's
// answer, and not "insufficient funds".
func TestTxRetry_SeesItsOwnEffect(t *testing.T) {
	t.Parallel()
	atEachEnd(t, func(t *testing.T, l ledger, req idempotency.Request, h txHandler) {
		w := l.worker(t)
		l.inject("TransactWriteItems", localtest.ReplyLost, forever)
		l.inject("GetItem", localtest.RequestLost, forever)
		_, err := w.doTx(soon(t), req, h)
		l.db.ClearFaults()
		wantErr(t, err, idempotency.ErrNotRecorded)
		l.wantPaid(t, 1)
		before := l.record(t, req)
		for range 2 {
			res, err := w.doTx(soon(t), req, h)
			wantAnswer(t, res, err, "paid", true)
		}
		l.wantPaid(t, 1)
		l.wantUntouched(t, req, before)
	})
}

// C46: of two attempts at once the second one's handler has begun before the payment and ends after it.
func TestTxRetry_TwoAtOnce(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, req := newLedger(t), request("k")
				req.Tx = idempotency.SingleShot
				h := end.of(t, l)
				res, err := l.worker(t).doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
					first, err := l.worker(t).doTx(soon(t), req, l.pays)
					wantAnswer(t, first, err, "paid", false)
					return h(ctx, tx)
				})
				wantAnswer(t, res, err, "paid", true)
				l.wantPaid(t, 1)
			})
		})
	}
}

// The same of claimed attempts: the second one is refused while the first one runs, or waits and gets its answer.
func TestTxRetry_WhileClaimed(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, first, second := newLedger(t), request("k"), request("k")
					first.Tx, second.Tx = idempotency.Claimed, mode
					h := end.of(t, l)
					running, paid := make(chan struct{}), make(chan struct{})
					go func() {
						defer close(paid)
						res, err := l.worker(t).doTx(soon(t), first, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
							close(running)
							pass(time.Second)
							return l.pays(ctx, tx)
						})
						wantAnswer(t, res, err, "paid", false)
					}()
					<-running
					second.Wait = 100 * time.Millisecond
					_, err := l.worker(t).doTx(soon(t), second, l.pays)
					wantErr(t, err, idempotency.ErrInProgress)
					l.wantPaid(t, 0)
					second.Wait = 2 * time.Second
					res, err := l.worker(t).doTx(soon(t), second, l.pays)
					wantAnswer(t, res, err, "paid", true)
					<-paid
					res, err = l.worker(t).doTx(soon(t), second, h)
					wantAnswer(t, res, err, "paid", true)
					l.wantPaid(t, 1)
				})
			})
		}
	}
}

// I4: an owner that is late commits nothing over the one that has taken its place, and its caller gets that one's answer.
func TestTxRetry_LateOwner(t *testing.T) {
	t.Parallel()
	atEachEnd(t, func(t *testing.T, l ledger, req idempotency.Request, h txHandler) {
		frozen, next := req, req
		frozen.Tx = idempotency.Claimed
		res, err := l.worker(t).doTx(soon(t), frozen, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			pass(time.Minute)
			res, err := l.worker(t).doTx(soon(t), next, l.pays)
			wantAnswer(t, res, err, "paid", false)
			return h(ctx, tx)
		})
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Value != "paid" || !res.Replayed {
			t.Errorf("got %+v, want the winner's answer", res)
		}
		l.wantPaid(t, 1)
	})
}

// hidden is a client whose transaction commits without an answer, and is then refused for its business conditions alone:
// DynamoDB does not promise to list every reason.
type hidden struct {
	idempotency.Client
	hide bool
}

func (h *hidden) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := h.Client.TransactWriteItems(ctx, in, o...)
	if !h.hide || err != nil {
		return out, err
	}
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	for i := range reasons {
		reasons[i].Code = aws.String("ConditionalCheckFailed")
	}
	reasons[0].Code = aws.String("None")
	return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
}

// Rules 15 and 16: a business condition is believed only after a look at the record.
func TestTxRetry_OwnCommitHidden(t *testing.T) {
	t.Parallel()
	atEachEnd(t, func(t *testing.T, l ledger, req idempotency.Request, h txHandler) {
		w := l.worker(t)
		w.Client = &hidden{w.Client, true}
		res, err := w.doTx(soon(t), req, h)
		wantAnswer(t, res, err, "paid", true)
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
		l.wantStatus(t, req, "COMPLETED")
	})
}

// conflicted is a client whose first transaction meets another one on the record, and lists business conditions as well.
type conflicted struct {
	idempotency.Client
	met bool
}

func (c *conflicted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if c.met {
		return c.Client.TransactWriteItems(ctx, in, o...)
	}
	c.met = true
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	for i := range reasons {
		reasons[i].Code = aws.String("ConditionalCheckFailed")
	}
	reasons[0].Code = aws.String("TransactionConflict")
	return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
}

// Rule 16: what the record met may be an earlier copy of this very transaction, and then the business conditions fail on that.
// The same transaction is sent again, and says.
func TestTxRetry_ConflictOnTheRecordGoesFirst(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		w.Client = &conflicted{Client: w.Client}
		res, err := w.doTx(soon(t), req, l.paysIf(idempotency.Terminal(errFunds)))
		wantAnswer(t, res, err, "paid", false)
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
	})
}

// C24, rule 29: where a refusal does not show the record, a read does, and every decision is the same.
func TestTxRetry_EndpointWithoutTheItem(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		w.Client = older{w.Client}
		l.inject("TransactWriteItems", localtest.ReplyLost, 1) // its own commit is recognised (I7)
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		res, err = w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", true)
		_, err = w.doTx(soon(t), other(req), l.pays)
		wantErr(t, err, idempotency.ErrMismatch)
		l.wantPaid(t, 1)
	})
}

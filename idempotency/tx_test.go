package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// ledger is a table of accounts and payments beside the fixture's records.
type ledger struct {
	*fixture
	accounts string
}

type payment struct {
	ID     string `dynamodbav:"id"`
	Amount int64  `dynamodbav:"amount"`
}

// attributes is an item as a test writes it.
type attributes = map[string]types.AttributeValue

var errFunds = errors.New("insufficient funds")

// opening is alice's balance at the start; each payment takes fee.
const (
	opening = 100
	fee     = 60
)

func newLedger(tb testing.TB) ledger {
	tb.Helper()
	f := newFixture(tb)
	l := ledger{f, f.db.CreateTable(tb, idempotency.Table("ledger", idempotency.Schema{}))}
	l.put(tb, attributes{"id": text("alice"), "balance": number(opening)})
	return l
}

// put and get use operations that the library does not: faults do not strike the test's own calls, and wantCalls leaves
// them out.
func (l ledger) put(tb testing.TB, it attributes) {
	tb.Helper()
	_, err := l.plain.BatchWriteItem(tb.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{l.accounts: {{PutRequest: &types.PutRequest{Item: it}}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func (l ledger) get(tb testing.TB, id string) item {
	tb.Helper()
	consistent, condition := true, "id = :id"
	out, err := l.plain.Query(tb.Context(), &dynamodb.QueryInput{
		TableName: &l.accounts, KeyConditionExpression: &condition,
		ExpressionAttributeValues: attributes{":id": text(id)}, ConsistentRead: &consistent,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out.Items[0]
}

func (l ledger) balance(tb testing.TB) int64 {
	tb.Helper()
	return l.get(tb, "alice").number("balance")
}

// wantPaid says how many payments have left alice's account; the item of a payment is there if any have.
func (l ledger) wantPaid(tb testing.TB, times int64) {
	tb.Helper()
	if got := l.balance(tb); got != opening-times*fee {
		tb.Errorf("the balance is %d, want that of %d payments", got, times)
	}
	if paid := l.get(tb, "p1") != nil; paid != (times > 0) {
		tb.Errorf("the payment is there: %t, want %d payments", paid, times)
	}
}

// wantWhole says that the payment is made if and only if the outcome is recorded (I10).
func (l ledger) wantWhole(tb testing.TB, req idempotency.Request) {
	tb.Helper()
	paid, recorded := int64(0), l.record(tb, req).text("status") == "COMPLETED"
	if recorded {
		paid = 1
	}
	l.wantPaid(tb, paid)
}

// workerCalls are those made since the last quiet, without the test's own.
func (l ledger) workerCalls() []localtest.Call {
	return slices.DeleteFunc(l.db.Calls(""), func(c localtest.Call) bool {
		return c.Operation == "Query" || c.Operation == "BatchWriteItem"
	})
}

func (l ledger) wantCalls(tb testing.TB, want ...string) {
	tb.Helper()
	var got []string
	for _, c := range l.workerCalls() {
		got = append(got, c.Operation)
	}
	if !slices.Equal(got, want) {
		tb.Errorf("calls %v, want %v", got, want)
	}
}

// txHandler is what the tests run in a transaction.
type txHandler = func(context.Context, *idempotency.Tx) (string, error)

// doTx is DoTx, with its handler's runs counted.
func (w *worker) doTx(ctx context.Context, req idempotency.Request, h txHandler) (idempotency.Result[string], error) {
	return idempotency.DoTx(ctx, w.runner, req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
		w.runs.Add(1)
		return h(ctx, tx)
	})
}

// abandonTx runs a transaction in a goroutine of its own that something may end, and waits for that end.
func (w *worker) abandonTx(ctx context.Context, req idempotency.Request, h txHandler) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.doTx(ctx, req, h)
	}()
	<-done
}

// crashTx is the death of the worker's process after its handler's last statement.
func (w *worker) crashTx(ctx context.Context, req idempotency.Request, h txHandler) {
	w.abandonTx(ctx, req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
		defer w.die()
		return h(ctx, tx)
	})
}

// owner is the key of alice's account.
var owner = map[string]string{"id": "alice"}

// pays stages a payment that nothing but the record keeps from being made again.
func (l ledger) pays(_ context.Context, tx *idempotency.Tx) (string, error) {
	tx.Update(l.accounts, owner, "SET balance = balance - :a").Value(":a", fee)
	tx.Put(l.accounts, payment{"p1", fee})
	return "paid", nil
}

// paysIf stages a payment under the condition that there is enough.
func (l ledger) paysIf(otherwise error) txHandler {
	return func(_ context.Context, tx *idempotency.Tx) (string, error) {
		w := tx.Update(l.accounts, owner, "SET balance = balance - :a").If("balance >= :a").Value(":a", fee)
		if otherwise != nil {
			w.Else(otherwise)
		}
		tx.Put(l.accounts, payment{"p1", fee}).If("attribute_not_exists(id)")
		return "paid", nil
	}
}

// looksFirst is a handler that reads the balance by itself (C46).
func (l ledger) looksFirst(tb testing.TB, short error) txHandler {
	tb.Helper()
	return func(ctx context.Context, tx *idempotency.Tx) (string, error) {
		if l.balance(tb) < fee {
			return "", short
		}
		return l.pays(ctx, tx)
	}
}

func failsTx(err error) txHandler {
	return func(context.Context, *idempotency.Tx) (string, error) { return "", err }
}

// soon is the context of a request that has a few seconds.
func soon(tb testing.TB) context.Context {
	tb.Helper()
	return localtest.Invocation(tb, 3*time.Second)
}

var modes = map[string]idempotency.TxMode{"claimed": idempotency.Claimed, "single-shot": idempotency.SingleShot}

// atEachMode runs the test with claimed and single-shot transactions.
func atEachMode(t *testing.T, test func(*testing.T, ledger, idempotency.Request)) {
	t.Helper()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := request("k")
				req.Tx = mode
				test(t, newLedger(t), req)
			})
		})
	}
}

// ofTx is what is expected of claimed transactions and of single-shot ones.
func ofTx[T any](req idempotency.Request, claimed, singleShot T) T {
	if req.Tx == idempotency.SingleShot {
		return singleShot
	}
	return claimed
}

// I10: the effect commits with the outcome; a retry gets the outcome, and no second effect.
func TestDoTx_CommitsOnce(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		began := time.Now()
		res, err := w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			pass(time.Second)
			l.wantPaid(t, 0)
			return l.pays(ctx, tx)
		})
		wantAnswer(t, res, err, "paid", false)
		if at := res.CompletedAt.Sub(began); at < time.Second-time.Millisecond || at > time.Second {
			t.Errorf("completed after %s", at)
		}
		l.wantPaid(t, 1)
		it := l.wantStatus(t, req, "COMPLETED")
		if it.text("form") != "tx" || it.text("data") != `"paid"` || it.number("attempt_no") != 1 || it.has("in_progress_expiration") || it.has("steps") {
			t.Errorf("the record is %v", it)
		}
		if window := it.number("expiration") - began.Add(time.Second).Unix(); window < 24*3600 || window > 24*3600+1 {
			t.Errorf("the window ends after %d s, want a day from the completion", window)
		}
		for range 2 {
			again, err := w.doTx(soon(t), req, l.pays)
			wantAnswer(t, again, err, "paid", true)
			if !again.CompletedAt.Equal(res.CompletedAt) {
				t.Errorf("replayed as completed at %s, want %s", again.CompletedAt, res.CompletedAt)
			}
		}
		found, err := idempotency.Lookup[string](soon(t), w.runner, req)
		wantAnswer(t, found, err, "paid", true)
		_, err = w.doTx(soon(t), other(req), l.pays)
		wantErr(t, err, idempotency.ErrMismatch)
		l.wantPaid(t, 1)
		l.wantUntouched(t, req, it)
	})
}

// DoTx is claimed unless the request says otherwise. Do commits what was staged all the same, and promises nothing.
func TestDoTx_DefaultMode(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]string{"DoTx": "tx", "Do": "do"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLedger(t)
				w, req := l.worker(t), request("k")
				run := w.doTx
				if name == "Do" {
					run = func(ctx context.Context, req idempotency.Request, h txHandler) (idempotency.Result[string], error) {
						return w.do(ctx, req, func(ctx context.Context) (string, error) { return h(ctx, idempotency.TxFrom(ctx)) })
					}
				}
				res, err := run(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
					if it := l.wantStatus(t, req, "INPROGRESS"); it.text("form") != form {
						t.Errorf("the record's form is %q, want %q", it.text("form"), form)
					}
					return l.pays(ctx, tx)
				})
				wantAnswer(t, res, err, "paid", false)
				l.wantPaid(t, 1)
				res, err = run(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", true)
				l.wantPaid(t, 1)
			})
		})
	}
}

// A transaction without a staged write is an outcome as any other.
func TestDoTx_NothingStaged(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		for _, replayed := range []bool{false, true} {
			res, err := w.doTx(soon(t), req, func(context.Context, *idempotency.Tx) (string, error) { return "nothing to do", nil })
			wantAnswer(t, res, err, "nothing to do", replayed)
		}
		l.wantRuns(t, ofTx(req, 1, 2))
		l.wantPaid(t, 0)
	})
}

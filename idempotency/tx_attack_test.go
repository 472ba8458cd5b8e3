package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// unlessGone pays where a row is there that allows it: a copy of the transaction may find it later on.
func (l ledger) unlessGone(_ context.Context, tx *idempotency.Tx) (string, error) {
	tx.Put(l.accounts, payment{"p1", fee}).If("attribute_not_exists(id)")
	tx.Update(l.accounts, owner, "SET balance = balance - :a").Value(":a", fee)
	tx.Check(l.accounts, map[string]string{"id": "go"}).If("attribute_exists(id)").Else(idempotency.Terminal(errFunds))
	return "paid", nil
}

// wantTruth says that a caller who was told that nothing happened was told so for good.
func (l ledger) wantTruth(t *testing.T, err error) {
	t.Helper()
	l.put(t, attributes{"id": text("go")})
	pass(10 * time.Second) // for the copy that is late
	if l.balance(t) != opening && !errors.Is(err, idempotency.ErrNotRecorded) {
		t.Errorf("told %v, and then it happened", err)
	}
}

// H4: a copy of the transaction is late, its second one refused, and the refusal cannot be recorded, since the table does not
// take the write, or the read before it.
func TestTxAttack_LateCopyAndNoRecord(t *testing.T) {
	t.Parallel()
	late := localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AppliedLate, Delay: 5 * time.Second}
	t.Run("write", func(t *testing.T) {
		t.Parallel()
		atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
			w := l.worker(t, withoutRetries)
			l.db.Inject(late)
			l.db.Inject(localtest.Fault{Operation: "PutItem", Nth: ofTx(req, 2, 1), Kind: localtest.AccessDenied, Times: forever})
			l.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Times: forever})
			_, err := w.doTx(soon(t), req, l.unlessGone)
			l.db.ClearFaults()
			l.wantTruth(t, err)
		})
	})
	t.Run("read", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, req := newLedger(t), request("k")
			req.Tx = idempotency.SingleShot
			w := l.worker(t, deployments["prepared"], withoutRetries)
			l.db.Inject(late)
			sent := 0
			w.before = func(op string) error {
				if op == "TransactWriteItems" {
					sent++
				}
				if op == "GetItem" && sent == 2 {
					return errors.New("cannot be asked")
				}
				return nil
			}
			_, err := w.doTx(soon(t), req, l.unlessGone)
			l.wantTruth(t, err)
		})
	})
}

// The same while secrets rotate, and the record that would keep the copy out is one that its owner gives back.
func TestTxAttack_LateCopyAndGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		req.Tx = idempotency.SingleShot
		w, twin := l.worker(t, deployments["prepared"], withoutRetries), l.worker(t, deployments["prepared"], withoutRetries)
		l.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AppliedLate, Delay: 5 * time.Second})
		l.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AccessDenied})
		told, acquired, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		gets := 0
		twin.before = func(op string) error {
			if op == "GetItem" {
				if gets++; gets == 3 { // the second look
					close(acquired)
					<-told
					return errors.New("cannot be asked")
				}
			}
			return nil
		}
		w.before = func(op string) error {
			if op == "PutItem" {
				go func() {
					defer close(ended)
					_, _ = twin.do(localtest.Invocation(t, 3*time.Second), request("k"), returns("claimed"))
				}()
				<-acquired
			}
			return nil
		}
		_, err := w.doTx(soon(t), req, l.pays)
		close(told)
		<-ended
		l.wantTruth(t, err)
	})
}

// The same, and the record that kept this run's own from being written is gone when it is looked at: nothing keeps the copy
// out yet.
func TestTxAttack_LateCopyAndVanished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		req.Tx = idempotency.SingleShot
		w := l.worker(t, withoutRetries)
		w.Client = older{w.Client} // the refusal does not show the record
		l.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AppliedLate, Delay: 5 * time.Second})
		l.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AccessDenied})
		puts := 0
		w.before = func(op string) error {
			switch {
			case op == "PutItem":
				if puts++; puts == 1 {
					l.make(t, "in progress", request("k"))
				}
			case op == "GetItem" && puts == 1:
				l.remove(t, req)
			}
			return nil
		}
		_, err := w.doTx(soon(t), req, l.pays)
		l.wantTruth(t, err)
		if puts != 2 {
			t.Errorf("%d tries to keep the copy out, want 2", puts)
		}
	})
}

// As many writes as fit beside the record, and beside its checks while secrets rotate.
func TestTxAttack_AsManyAsFit(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t, deployments["prepared"])
		many := func(n int) txHandler {
			return func(_ context.Context, tx *idempotency.Tx) (string, error) {
				for i := range n {
					tx.Put(l.accounts, payment{fmt.Sprint("x", i), 1})
				}
				return "done", nil
			}
		}
		fit := ofTx(req, 99, 98)
		_, err := w.doTx(soon(t), req, many(fit+1))
		if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "Tx" || !strings.Contains(field.Rule, fmt.Sprint(fit)) {
			t.Errorf("one too many: %v", err)
		}
		res, err := w.doTx(soon(t), req, many(fit))
		wantAnswer(t, res, err, "done", false)
	})
}

// What is staged is read at once, also of an action that was built elsewhere.
func TestTxAttack_AddedActionChanges(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		_, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			table, update, condition := l.accounts, "SET balance = balance - :a", "attribute_exists(id)"
			tx.Add(types.TransactWriteItem{Update: &types.Update{
				TableName: &table, Key: attributes{"id": text("alice")}, UpdateExpression: &update, ConditionExpression: &condition,
				ExpressionAttributeValues: attributes{":a": number(fee)},
			}})
			table, update, condition = "other", "SET balance = balance + :a", "attribute_not_exists(id)"
			return table + update + condition, nil
		})
		if err != nil || l.balance(t) != opening-fee {
			t.Errorf("balance %d, %v", l.balance(t), err)
		}
	})
}

func TestTxAttack_ConcurrentActions(t *testing.T) {
	t.Parallel()
	var tx idempotency.Tx
	tx.Put("t", payment{"p", 1})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := tx.Actions(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// The old item of a failed condition is for the handler's caller, not for the record.
func TestTxAttack_ItemIsNotRecorded(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		l.put(t, attributes{"id": text("p1"), "iban": text("secret")})
		w := l.worker(t, func(s *settings) { s.Classify = func(error) idempotency.Class { return idempotency.Recorded } })
		_, err := w.doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			tx.Put(l.accounts, payment{"p1", fee}).If("attribute_not_exists(id)")
			return "paid", nil
		})
		failed, ok := errors.AsType[*idempotency.WriteError](err)
		if !ok || item(failed.Item).text("iban") != "secret" {
			t.Errorf("error %v", err)
		}
		if data := l.wantStatus(t, req, "FAILED").text("data"); strings.Contains(data, "secret") {
			t.Errorf("the record has %s", data)
		}
	})
}

// A write is changed after its handler has returned: it would be lost, or worse, half sent.
func TestTxAttack_ChangedAfterTheEnd(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		var w *idempotency.Write
		_, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			w = tx.Put(l.accounts, payment{"p1", fee})
			return "paid", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(){
			"If": func() { w.If("a = b") }, "Name": func() { w.Name("#a", "a") }, "Value": func() { w.Value(":a", 1) }, "Else": func() { w.Else(errFunds) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				change()
			}()
		}
	})
}

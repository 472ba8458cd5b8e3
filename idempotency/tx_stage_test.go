package idempotency_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// As much as fits is written.
func TestTxStage_AtTheLimit(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		res, err := l.worker(t).doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			for i := range 97 {
				tx.Put(l.accounts, payment{fmt.Sprint(i), 1})
			}
			return l.pays(ctx, tx)
		})
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 1)
	})
}

// What the table refuses of the user's writes is the handler's error: nothing is recorded, and the key is given back.
func TestTxStage_Refused(t *testing.T) {
	t.Parallel()
	for name, stage := range map[string]func(l ledger, tx *idempotency.Tx){
		"expression":    func(l ledger, tx *idempotency.Tx) { tx.Update(l.accounts, owner, "SET nonsense") },
		"unused value":  func(l ledger, tx *idempotency.Tx) { tx.Put(l.accounts, payment{"p1", 1}).Value(":a", 1) },
		"type":          func(l ledger, tx *idempotency.Tx) { tx.Update(l.accounts, owner, "ADD id :a").Value(":a", 1) },
		"no such table": func(_ ledger, tx *idempotency.Tx) { tx.Put("elsewhere", payment{"p1", 1}) },
		"puts of one item": func(l ledger, tx *idempotency.Tx) {
			tx.Put(l.accounts, payment{"p1", 1})
			tx.Put(l.accounts, payment{"p1", 2})
		},
		"the record itself": func(l ledger, tx *idempotency.Tx) { tx.Delete(l.table, key(request("k"))) },
		"too large": func(l ledger, tx *idempotency.Tx) {
			tx.Put(l.accounts, attributes{"id": text("p1"), "v": text(strings.Repeat("x", 410_000))})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t)
				l.quiet()
				_, err := w.doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
					stage(l, tx)
					return "paid", nil
				})
				if err == nil || !strings.HasPrefix(err.Error(), "idempotency: nothing was written: the transaction was refused: ") {
					t.Errorf("error %v", err)
				}
				l.wantCalls(t, ofTx(req, []string{"PutItem", "TransactWriteItems", "UpdateItem"}, []string{"TransactWriteItems", "PutItem"})...)
				l.wantKinds(t, slices.Concat(ofTx(req, []idempotency.Kind{idempotency.KindAcquired}, nil), []idempotency.Kind{idempotency.KindReleased})...)
				l.wantStatus(t, req, "RELEASED")
				l.wantPaid(t, 0)
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
			})
		})
	}
}

// Nobody can stage where it would be lost.
func TestTxStage_Nowhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		if tx := idempotency.TxFrom(t.Context()); tx != nil {
			t.Errorf("TxFrom outside of a handler: %v", tx)
		}
		panics := func(want string, stage func()) {
			t.Helper()
			defer func() {
				t.Helper()
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want one with %q", got, want)
				}
			}()
			stage()
		}
		panics("staged on a nil Tx", func() { idempotency.TxFrom(t.Context()).Put(l.accounts, payment{"p1", 1}) })
		panics("WithAttempt", func() { idempotency.TxFrom(t.Context()).Add(types.TransactWriteItem{}) })
		for _, req.Tx = range []idempotency.TxMode{0, idempotency.Claimed, idempotency.SingleShot} {
			req.Key = fmt.Sprint(req.Tx)
			var kept *idempotency.Tx
			_, err := idempotency.Do(soon(t), l.worker(t).runner, req, func(ctx context.Context) (string, error) {
				kept = idempotency.TxFrom(ctx)
				return "ok", nil
			})
			if err != nil {
				t.Fatal(err)
			}
			panics("after the handler has returned", func() { kept.Delete(l.accounts, owner) })
		}
	})
}

// The four kinds of writes, as methods stage them and as they were built elsewhere, are the same actions; and each is done.
func TestTxStage_EveryKind(t *testing.T) {
	t.Parallel()
	id := func(id string) attributes { return attributes{"id": text(id)} }
	names, values := map[string]string{"#b": "balance"}, attributes{":b": number(1)}
	condition, expression := "#b = :b", "SET #b = :b"
	methods := func(tx *idempotency.Tx, table string) {
		tx.Put(table, attributes{"id": text("put"), "balance": number(7)}).If("attribute_not_exists(id)")
		tx.Update(table, id("update"), expression).If(condition).Name("#b", "balance").Value(":b", 1).Else(errFunds)
		tx.Delete(table, id("delete")).If(condition).Name("#b", "balance").Value(":b", number(1))
		tx.Check(table, id("check")).If(condition).Name("#b", "balance").Value(":b", 1)
	}
	built := func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: attributes{"id": text("put"), "balance": number(7)}}}).If("attribute_not_exists(id)")
		tx.Add(types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: id("update"), UpdateExpression: &expression, ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}})
		tx.Add(types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: id("delete"), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}})
		tx.Add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: id("check")}}).If(condition).Name("#b", "balance").Value(":b", 1)
	}
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		actions := func(stage func(*idempotency.Tx, string)) []types.TransactWriteItem {
			tx := idempotency.TxFrom(idempotency.WithAttempt(t.Context(), idempotency.Attempt{}))
			stage(tx, l.accounts)
			actions, err := tx.Actions()
			if err != nil {
				t.Fatal(err)
			}
			return actions
		}
		if !reflect.DeepEqual(actions(methods), actions(built)) {
			t.Errorf("the methods stage %v, Add stages %v", actions(methods), actions(built))
		}
		for i, stage := range []func(*idempotency.Tx, string){methods, built} {
			for _, name := range []string{"update", "delete", "check"} {
				l.put(t, attributes{"id": text(name), "balance": number(1)})
			}
			if _, err := l.plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.accounts, Key: id("put")}); err != nil {
				t.Fatal(err)
			}
			req.Key = fmt.Sprint(i)
			res, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
				stage(tx, l.accounts)
				return "done", nil
			})
			wantAnswer(t, res, err, "done", false)
			if l.get(t, "put").number("balance") != 7 || l.get(t, "update").number("balance") != 1 || l.get(t, "delete") != nil || l.get(t, "check") == nil {
				t.Error("not all was done")
			}
		}
		if len(names) != 1 || len(values) != 1 {
			t.Errorf("the caller's maps were changed: %v, %v", names, values)
		}
	})
}

// A Tx is safe for concurrent use.
func TestTxStage_SideBySide(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		_, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() { tx.Put(l.accounts, payment{fmt.Sprint(i), 1}) })
			}
			wg.Wait()
			return "done", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if l.get(t, fmt.Sprint(i)) == nil {
				t.Errorf("write %d is missing", i)
			}
		}
	})
}

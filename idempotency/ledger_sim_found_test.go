package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// What the simulation of the ledger has found, at its smallest.

// I9: a copy of the transaction is delayed, its repetition meets an empty account, and the caller hears that nothing was
// written. Then the account is filled and the copy arrives. Claimed, the release keeps it out, unless that was lost too.
func TestLedgerFound_CopyArrivesAfterTheAnswer(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]idempotency.TxMode{"claimed": idempotency.Claimed, "single-shot": idempotency.SingleShot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, withoutRetries)
				accounts := f.db.CreateTable(t, idempotency.Table("accounts", idempotency.Schema{}))
				alice := func(in int64) {
					if _, err := f.plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &accounts, Item: item{"id": text("alice"), "balance": number(in)}}); err != nil {
						t.Error(err)
					}
				}
				f.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AppliedLate, Delay: 10 * time.Second})
				f.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Before: func() { alice(0) }})
				if mode == idempotency.Claimed {
					f.inject("UpdateItem", localtest.RequestLost, forever)
				}
				alice(100)
				req := request("k")
				req.Tx = mode
				_, err := idempotency.DoTx(localtest.Invocation(t, 3*time.Second), w.runner, req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
					tx.Update(accounts, map[string]string{"id": "alice"}, "SET balance = balance - :a").If("balance >= :a").Value(":a", 60)
					return "paid", nil
				})
				f.db.ClearFaults()
				alice(100)
				pass(11 * time.Second)
				out, getErr := f.plain.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &accounts, Key: item{"id": text("alice")}, ConsistentRead: aws.Bool(true)})
				if getErr != nil {
					t.Fatal(getErr)
				}
				if item(out.Item).number("balance") != 100 {
					wantErr(t, err, idempotency.ErrNotRecorded)
				}
			})
		})
	}
}

// I5, rule 13: a step of a claimed transaction may have charged, its handler says so, and under Refuse it runs again
// without anybody being asked.
func TestLedgerFound_UnknownOfAClaimedStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t).worker(t)
		charges := 0
		ask := func() error {
			_, err := idempotency.DoTx(localtest.Invocation(t, 3*time.Second), w.runner, request("k"), func(ctx context.Context, _ *idempotency.Tx) (string, error) {
				return idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
					charges++
					return "", idempotency.Unknown(errPlain)
				})
			})
			return err
		}
		wantErr(t, ask(), errPlain)
		wantErr(t, ask(), idempotency.ErrOutcomeUnknown)
		if charges != 1 {
			t.Errorf("charged %d times", charges)
		}
	})
}

// I5: a handler of Do charges, and its transaction is refused as often as it is sent. The charge is there, and what belongs to it
// is not: nobody may charge again unasked. Who promises that all effects are staged runs again.
func TestLedgerFound_ChargedAndNotCommitted(t *testing.T) {
	t.Parallel()
	works := func(context.Context) (string, error) { return "ch_1", nil }
	for name, tt := range map[string]struct {
		tx     idempotency.TxMode
		step   handler
		before bool // an attempt of Do has recorded the step and given the key back
		status string
		second error
	}{
		"promises nothing":     {0, nil, false, "UNKNOWN", idempotency.ErrOutcomeUnknown},
		"all is staged":        {idempotency.Claimed, nil, false, "RELEASED", nil},
		"after a step":         {idempotency.Claimed, works, false, "UNKNOWN", idempotency.ErrOutcomeUnknown},
		"after a failed step":  {idempotency.Claimed, fails(errPlain), false, "UNKNOWN", idempotency.ErrOutcomeUnknown},
		"after a step of Do's": {idempotency.Claimed, works, true, "UNKNOWN", idempotency.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				accounts := f.db.CreateTable(t, idempotency.Table("accounts", idempotency.Schema{}))
				req := request("k")
				req.Tx = tt.tx
				charges := func(ctx context.Context) (string, error) {
					if tt.step != nil {
						_, _ = idempotency.Step(ctx, "charge", tt.step) // the handler goes on without it
					}
					idempotency.TxFrom(ctx).Put(accounts, map[string]string{"id": "payment"})
					return "paid", nil
				}
				if tt.before {
					do := req
					do.Tx = 0
					_, _ = f.worker(t).do(localtest.Invocation(t, 3*time.Second), do, func(ctx context.Context) (string, error) {
						_, err := idempotency.Step(ctx, "charge", tt.step)
						return "", errors.Join(err, errPlain)
					})
				}
				f.inject("TransactWriteItems", localtest.Conflict, forever)
				_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, charges)
				if _, refused := errors.AsType[*idempotency.WriteError](err); !refused {
					t.Errorf("got %v", err)
				}
				f.wantStatus(t, req, tt.status)
				f.db.ClearFaults()
				_, err = f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, charges)
				wantErr(t, err, tt.second)
			})
		})
	}
}

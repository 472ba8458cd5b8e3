package idempotency_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// transactions lists what the worker sends, each as it is when it is sent.
func (w *worker) transactions() *[]dynamodb.TransactWriteItemsInput {
	var sent []dynamodb.TransactWriteItemsInput
	w.sent = func(in any) {
		if tx, ok := in.(*dynamodb.TransactWriteItemsInput); ok {
			sent = append(sent, *tx)
		}
	}
	return &sent
}

// H5, rules 17 and 18: a transaction is sent again as it is, with its ClientRequestToken.
func TestTxToken_SentAgain(t *testing.T) {
	t.Parallel()
	atEachFault(t, txFaultKinds, func(t *testing.T, l ledger, w *worker, req idempotency.Request, kind localtest.FaultKind) {
		sent := w.transactions()
		l.inject("TransactWriteItems", kind, 5) // more than the SDK sends in one call
		l.inject("GetItem", localtest.RequestLost, forever)
		_, _ = w.doTx(localtest.Invocation(t, time.Minute), req, l.pays)
		l.db.ClearFaults()
		if len(*sent) < 2 {
			t.Fatalf("%d transactions were sent", len(*sent))
		}
		for _, in := range *sent {
			if token := aws.ToString(in.ClientRequestToken); token == "" || len(token) > 36 {
				t.Errorf("the ClientRequestToken is %q", token)
			}
			if !reflect.DeepEqual(in, (*sent)[0]) {
				t.Errorf("another transaction was sent: %+v, want %+v", in, (*sent)[0])
			}
		}
		l.wantRuns(t, 1)
		pass(time.Second)
		l.wantPaid(t, 1)
		l.wantStatus(t, req, "COMPLETED")
	})
}

// Rules 12, 17, 18 and 21: every decision is another transaction, with tokens of its own: in the record and towards
// DynamoDB.
func TestTxToken_OfEachDecision(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		sent := w.transactions()
		requests, owners := map[string]bool{}, map[string]bool{}
		short(t, l, req)
		for range 2 {
			_, err := w.doTx(soon(t), req, l.paysIf(errFunds))
			wantErr(t, err, errFunds)
		}
		l.put(t, attributes{"id": text("alice"), "balance": number(opening)})
		releasedBefore(t, l, req)
		res, err := w.doTx(soon(t), req, l.paysIf(errFunds)) // a single shot: as for no record, then over the released one; and so was the second refusal above
		wantAnswer(t, res, err, "paid", false)
		next := req
		next.Key = "another"
		res, err = w.doTx(soon(t), next, l.pays)
		wantAnswer(t, res, err, "paid", false)
		for _, in := range *sent {
			requests[aws.ToString(in.ClientRequestToken)] = true
			own := in.TransactItems[0]
			switch {
			case own.Put != nil:
				owners[item(own.Put.Item).text("attempt")] = true
			default:
				owners[item(own.Update.ExpressionAttributeValues).text(":mine")] = true
			}
		}
		if want := ofTx(req, 4, 6); len(*sent) != want || len(requests) != want || len(owners) != want {
			t.Errorf("%d transactions with %d ClientRequestTokens of %d owners, want %d", len(*sent), len(requests), len(owners), want)
		}
	})
}

// H5, rules 17 and 22: a commit that is recognised by its token gives what is recorded, and not the value in memory.
func TestTxToken_RecordedCounts(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t, withoutRetries)
		l.inject("TransactWriteItems", localtest.ReplyLost, 1)
		w.after = nth("TransactWriteItems", 1, func() { l.edit(t, req, item{"data": text(`"by hand"`)}) })
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "by hand", true)
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
	})
}

// C04, rule 29: the record is deleted while its handler runs. A claimed transaction commits nothing without it; a single
// shot has not had one.
func TestTxToken_RecordGone(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		w.before = func(operation string) error {
			if operation == "TransactWriteItems" {
				l.remove(t, req)
			}
			return nil
		}
		res, err := w.doTx(soon(t), req, l.pays)
		if req.Tx == idempotency.SingleShot {
			wantAnswer(t, res, err, "paid", false)
			l.wantPaid(t, 1)
			return
		}
		wantErr(t, err, idempotency.ErrNotRecorded)
		l.wantPaid(t, 0)
		l.wantStatus(t, req, "")
	})
}

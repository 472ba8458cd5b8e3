package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// The card is charged, and DynamoDB refuses what should say so. No retry charges it again.
func bookingRefused(ctx context.Context, w *world) {
	w.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Match: w.own, Kind: localtest.AccessDenied})
	w.expect("The ledger refuses after the charge", w.pay(ctx, "k1", order).String(), functionFailed, 1, 1)
	w.expect("  the same again, policy rerun", w.pay(ctx, "k1", order).String(), receipt("ch_1", 1), 1, 1)
}

// own says that a call is this world's.
func (w *world) own(c localtest.Call) bool {
	table, _, _ := strings.Cut(c.Table, ",") // of a transaction the first one
	return table == w.table
}

// reconciled is the schedule's tick, and what the client is told after it.
func (w *world) reconciled(ctx context.Context, calls int) {
	w.expect("  the reconciler runs", w.tick(ctx), "(1 completed)", calls, 1)
	w.expect("  the same request again", w.pay(ctx, "k1", order).String(), receipt("ch_1", 1)+", replayed", calls, 1)
}

func (w *world) tick(ctx context.Context) string {
	r, err := w.clock.Invoke(ctx, localtest.Event{Payload: []byte(`{"source":"aws.events"}`)})
	if err != nil {
		return "no answer: " + err.Error()
	}
	var did map[string]int
	if err := json.Unmarshal(r.Payload, &did); err != nil {
		return string(r.Payload)
	}
	for what, n := range did {
		if n == 0 {
			delete(did, what)
		}
	}
	return "(" + strings.ReplaceAll(counts(did), " x ", " ") + ")"
}

// booked counts what is booked in the ledger: payments and commissions.
func (w *world) booked(ctx context.Context) (int, error) {
	out, err := w.db.Client().Scan(ctx, &dynamodb.ScanInput{
		TableName: &w.ledger, ConsistentRead: aws.Bool(true), Select: types.SelectCount,
		FilterExpression: aws.String("begins_with(id, :payment) OR begins_with(id, :commission)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":payment":    &types.AttributeValueMemberS{Value: "payment#"},
			":commission": &types.AttributeValueMemberS{Value: "commission#"},
		},
	})
	if err != nil {
		return 0, fmt.Errorf("count what is booked: %w", err)
	}
	return int(out.Count), nil
}

package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// with makes the write the first action of a transaction. Its ClientRequestToken is its own: sent again as it is, it cannot
// commit twice within ten minutes, and after that the record's condition sees to it (H5, rule 18).
//
// others are conditions on other records of the key.
func (w write) with(others, actions []types.TransactWriteItem) write {
	var own types.TransactWriteItem
	capacity := types.ReturnConsumedCapacity("")
	if p := w.put; p != nil {
		capacity = p.ReturnConsumedCapacity
		own.Put = &types.Put{
			TableName: p.TableName, Item: p.Item, ConditionExpression: p.ConditionExpression,
			ExpressionAttributeNames: p.ExpressionAttributeNames, ExpressionAttributeValues: p.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		}
	} else {
		u := w.update
		capacity = u.ReturnConsumedCapacity
		own.Update = &types.Update{
			TableName: u.TableName, Key: u.Key, ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
		}
	}
	w.others = len(others)
	w.transact = &dynamodb.TransactWriteItemsInput{
		TransactItems:          slices.Concat([]types.TransactWriteItem{own}, others, actions),
		ClientRequestToken:     aws.String(rand.Text()),
		ReturnConsumedCapacity: capacity,
	}
	return w
}

// sendTransaction makes one call. A transaction that is cancelled has written nothing. The record's own reason goes before
// those of the staged writes, which are believed only if the record has none: an earlier copy of this very transaction may be
// why they fail (H4, rule 16).
func (t *table) sendTransaction(ctx, callCtx context.Context, m *meter, w write) (reply, error) {
	out, err := t.client.TransactWriteItems(callCtx, w.transact)
	if err == nil {
		for _, c := range out.ConsumedCapacity {
			m.add(0, units(&c))
		}
		return reply{applied: true}, nil
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) != len(w.transact.TransactItems) {
		return reply{}, err
	}
	own := cancelled.CancellationReasons[0]
	others, staged := cancelled.CancellationReasons[1:1+w.others], cancelled.CancellationReasons[1+w.others:]
	switch {
	case failedCondition(own) && len(own.Item) == 0:
		// Nothing is there, or the endpoint does not know ALL_OLD (rule 29).
		rec, err := t.get(ctx, m, w.id(t.schema))
		return reply{rec: rec}, err
	case failedCondition(own):
		rec, err := readRecord(own.Item, t.schema)
		return reply{rec: rec}, err
	case reasonCode(own) == "None" && slices.ContainsFunc(others, failedCondition):
		return reply{elsewhere: true}, nil
	case reasonCode(own) == "None" && slices.ContainsFunc(staged, failedCondition):
		return reply{staged: staged}, nil
	}
	return reply{}, err
}

func reasonCode(r types.CancellationReason) string {
	if code := aws.ToString(r.Code); code != "" {
		return code
	}
	return "None"
}

func failedCondition(r types.CancellationReason) bool {
	return reasonCode(r) == "ConditionalCheckFailed"
}

func hasReason(e *types.TransactionCanceledException, codes ...string) bool {
	return slices.ContainsFunc(e.CancellationReasons, func(r types.CancellationReason) bool { return slices.Contains(codes, reasonCode(r)) })
}

// undecided says of an error of the table that the same transaction may still be, or have been, committed: its twin is under
// way, or has been with other parameters; or that it was throttled (rule 18).
func undecided(err error) bool {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return hasReason(cancelled, "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded", "InternalServerError")
	}
	if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
		return true
	}
	_, ok := errors.AsType[*types.IdempotentParameterMismatchException](err)
	return ok
}

// isCancelled says that the table has cancelled a transaction, whatever for: it has written nothing.
func isCancelled(err error) bool {
	_, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok
}

// alwaysCancelledError says of a transaction that it was cancelled as often as it was sent, until there was no time left: it
// met others, or was throttled.
type alwaysCancelledError struct{ error }

func (e alwaysCancelledError) Unwrap() error { return e.error }

func cancelledAlways(err error) bool {
	_, ok := errors.AsType[alwaysCancelledError](err)
	return ok
}

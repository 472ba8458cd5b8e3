package idempotency_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// The checker can fail: each of these clients breaks one promise of DynamoDB's that a rule stands on, without faults and
// without the library's doing, and its histories are found to be none of one key's.
func TestHistory_BrokenClients(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]breaks{
		"a put without its condition":             func(c idempotency.Client) idempotency.Client { return blindPut{c} },
		"an update without its condition":         func(c idempotency.Client) idempotency.Client { return blindUpdate{c} },
		"a transaction without the record's":      func(c idempotency.Client) idempotency.Client { return blindCommit{c} },
		"an update that is answered and not made": func(c idempotency.Client) idempotency.Client { return forgetful{c} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 500 // nearly every fifth one is found, or more
			for n := range uint64(most) {
				h := newHistory(t, n+1, breaks)
				h.play()
				if h.check() == porcupine.Illegal {
					t.Logf("history %d is illegal", n+1)
					if *historyShow {
						t.Log(h)
					}
					return
				}
			}
			t.Errorf("%d histories, and nothing is wrong with any", most)
		})
	}
}

// blindPut makes the record whatever is there (I2).
type blindPut struct{ idempotency.Client }

func (b blindPut) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	blind := *in
	blind.ConditionExpression, blind.ExpressionAttributeNames, blind.ExpressionAttributeValues = nil, nil, nil
	blind.ReturnValuesOnConditionCheckFailure = ""
	return b.Client.PutItem(ctx, &blind, o...)
}

// blindUpdate lets whoever comes last end the attempt, or take it over (I3, I4). The values of the condition are used in one
// that always holds, since DynamoDB refuses what is not used.
type blindUpdate struct{ idempotency.Client }

func (b blindUpdate) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	blind := *in
	blind.ConditionExpression = always(in.ConditionExpression)
	return b.Client.UpdateItem(ctx, &blind, o...)
}

func always(condition *string) *string {
	always := "attribute_exists(#attempt) OR (" + *condition + ")"
	return &always
}

// blindCommit lets a transaction of an attempt that has lost its record commit (I10).
type blindCommit struct{ idempotency.Client }

func (b blindCommit) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	blind := *in
	blind.TransactItems = append([]types.TransactWriteItem(nil), in.TransactItems...)
	if update := blind.TransactItems[0].Update; update != nil {
		own := *update
		own.ConditionExpression = always(update.ConditionExpression)
		blind.TransactItems[0].Update = &own
	}
	return b.Client.TransactWriteItems(ctx, &blind, o...)
}

// forgetful answers some updates and does not make them (I9).
type forgetful struct{ idempotency.Client }

func (b forgetful) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.ReturnValues != "" { // a claim, whose answer would show it
		return b.Client.UpdateItem(ctx, in, o...)
	}
	never := *in
	condition := "attribute_not_exists(#attempt) AND (" + *in.ConditionExpression + ")"
	never.ConditionExpression = &condition
	out, err := b.Client.UpdateItem(ctx, &never, o...)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && failed.Item != nil {
		return &dynamodb.UpdateItemOutput{}, nil
	}
	return out, err
}

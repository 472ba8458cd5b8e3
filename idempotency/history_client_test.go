package idempotency_test

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// doubting counts the writes of which the client has not heard whether they were made, and notes all of them.
type doubting struct {
	idempotency.Client
	h      *history
	number int // of the worker
	writes int
}

// since is how many there were since it was asked before.
func (d *doubting) since() int {
	n := d.writes
	d.writes = 0
	return n
}

func (d *doubting) hear(what string, values item, err error) {
	condition, _ := errors.AsType[*types.ConditionalCheckFailedException](err)
	throttled, _ := errors.AsType[*types.ThrottlingException](err)
	cancelled, _ := errors.AsType[*types.TransactionCanceledException](err)
	answer := "made"
	switch {
	case throttled != nil:
		answer = "throttled"
	case condition != nil, cancelled != nil:
		answer = "refused"
	case err != nil:
		answer = "in doubt"
		d.writes++
	}
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	d.h.writes = append(d.h.writes, writeText(time.Since(d.h.clock.started), d.number, what, values, answer))
}

func (d *doubting) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, err := d.Client.PutItem(ctx, in, o...)
	d.hear("put", in.ExpressionAttributeValues, err)
	return out, err
}

func (d *doubting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := d.Client.UpdateItem(ctx, in, o...)
	d.hear("update", in.ExpressionAttributeValues, err)
	return out, err
}

func (d *doubting) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := d.Client.TransactWriteItems(ctx, in, o...)
	if own := in.TransactItems[0]; own.Put != nil {
		d.hear("transaction with a put", own.Put.ExpressionAttributeValues, err)
	} else {
		d.hear("transaction with an update", own.Update.ExpressionAttributeValues, err)
	}
	return out, err
}

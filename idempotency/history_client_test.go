package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// doubting remembers whose writes they are of which the client has not heard whether they were made, and notes all writes.
type doubting struct {
	idempotency.Client
	h      *history
	number int      // of the worker
	tokens []string // of attempts, each once: the condition of a write lets no token through twice
}

// since are those since it was asked before.
func (d *doubting) since() []string {
	tokens := d.tokens
	d.tokens = nil
	return tokens
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
		if token := values.text(":mine"); !slices.Contains(d.tokens, token) {
			d.tokens = append(d.tokens, token)
		}
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

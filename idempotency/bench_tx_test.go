package idempotency_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

func claimed(s *bench, n int) error { return inTransaction(s, n, idempotency.Claimed) }

func singleShot(s *bench, n int) error { return inTransaction(s, n, idempotency.SingleShot) }

func inTransaction(s *bench, n int, mode idempotency.TxMode) error {
	req := benchRequest(n)
	req.Tx = mode
	_, err := idempotency.DoTx(s.ctx, s.runner, req, func(_ context.Context, tx *idempotency.Tx) (benchReceipt, error) {
		tx.Put(s.effects, benchPayment(n)).If("attribute_not_exists(id)")
		return benchAnswer, nil
	})
	return err
}

// benchPayment is what the handler writes.
func benchPayment(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"id": text(fmt.Sprintf("pay_%012d", n)), "customer": text("alice"), "amount": handNumber("129950"), "status": text("captured"),
	}
}

func handPayment(s *bench, n int) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(s.effects), Item: benchPayment(n), ConditionExpression: aws.String("attribute_not_exists(id)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func claimedByHand(s *bench, n int) error {
	v := constants(handID(n), "tx")
	if _, err := s.client.PutItem(s.ctx, handClaim(s, v)); err != nil {
		return err
	}
	data, err := handEncoded()
	if err != nil {
		return err
	}
	_, err = s.client.TransactWriteItems(s.ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{
				TableName:                           aws.String(s.table),
				Key:                                 map[string]types.AttributeValue{"id": text(v.id)},
				UpdateExpression:                    aws.String(handOutcome),
				ConditionExpression:                 aws.String(handOwn),
				ExpressionAttributeNames:            handOutcomeNames(),
				ExpressionAttributeValues:           handOutcomeValues(v, data),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}},
			handPayment(s, n),
		},
		ClientRequestToken: aws.String(handRequestToken(n)),
	})
	return err
}

// handRequestToken is another one for each transaction.
func handRequestToken(n int) string { return fmt.Sprintf("%026d", n) }

func singleShotByHand(s *bench, n int) error {
	v := constants(handID(n), "tx")
	data, err := handEncoded()
	if err != nil {
		return err
	}
	_, err = s.client.TransactWriteItems(s.ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{
				TableName: aws.String(s.table),
				Item: map[string]types.AttributeValue{
					"id":         text(v.id),
					"attempt":    text(v.token),
					"attempt_no": handNumber("1"),
					"window":     handNumber(v.now),
					"started":    handNumber(v.now),
					"form":       text(v.form),
					"schema":     handNumber("1"),
					"validation": text(v.fingerprint),
					"expiration": handNumber(v.expiry),
					"status":     text("COMPLETED"),
					"completed":  handNumber(v.now),
					"data":       text(data),
				},
				ConditionExpression:                 aws.String(handFree),
				ExpressionAttributeNames:            handFreeNames(),
				ExpressionAttributeValues:           handFreeValues(v),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}},
			handPayment(s, n),
		},
		ClientRequestToken: aws.String(handRequestToken(n)),
	})
	return err
}

// Command withtx is the function of with, whose handler stages a write that commits with its outcome.
package main

import (
	"context"
	"log"

	"github.com/oncekey/oncekey/.ci/coldstart/function"
	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

type row struct {
	ID     string `dynamodbav:"id"`
	Amount int64  `dynamodbav:"amount"`
}

func main() {
	client := function.Client()
	runner, err := idempotency.New(client, idempotency.Config{Table: "idempotency"})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(lambda.Wrap(runner, request, func(ctx context.Context, o function.Order) (function.Receipt, error) {
		idempotency.TxFrom(ctx).Put("payments", row{o.ID, o.Amount}).If("attribute_not_exists(id)")
		return function.Pay(ctx, client, o)
	}))
}

func request(_ context.Context, o function.Order) (idempotency.Request, error) {
	return idempotency.Request{Operation: "pay-order", Scope: o.Customer, Key: o.ID}, nil
}

// Command with is the function of without, whose handler runs once for each order.
package main

import (
	"context"
	"log"

	"github.com/oncekey/oncekey/.ci/coldstart/function"
	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

func main() {
	client := function.Client()
	runner, err := idempotency.New(client, idempotency.Config{Table: "idempotency"})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(lambda.Wrap(runner, request, func(ctx context.Context, o function.Order) (function.Receipt, error) {
		return function.Pay(ctx, client, o)
	}))
}

func request(_ context.Context, o function.Order) (idempotency.Request, error) {
	return idempotency.Request{Operation: "pay-order", Scope: o.Customer, Key: o.ID}, nil
}

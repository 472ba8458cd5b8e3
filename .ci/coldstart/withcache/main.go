// Command withcache is the function of with, which remembers outcomes in its process.
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
	runner, err := idempotency.New(client, idempotency.Config{Table: "idempotency", Cache: 1000})
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

// Command quickstart is the smallest function that uses the library: the README shows it.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// Order is the event.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
}

// Receipt is the answer.
type Receipt struct {
	Charge string `json:"charge"`
}

// snippet:quickstart
func request(_ context.Context, o Order) (idempotency.Request, error) {
	// Trusted services invoke this function and say who the customer is. Behind an HTTP door the scope comes from the
	// authoriser, never from the body.
	return idempotency.Request{Operation: "pay-order", Scope: o.Customer, Key: o.ID, Ref: "order " + o.ID}, nil
}

func pay(ctx context.Context, o Order) (Receipt, error) {
	charge, err := chargeCard(ctx, idempotency.AttemptFrom(ctx).DownstreamKey("card"), o.Amount)
	if err != nil {
		return Receipt{}, idempotency.Unknown(err) // the card may have been charged
	}
	return Receipt{Charge: charge}, nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	r, err := idempotency.New(dynamodb.NewFromConfig(cfg), idempotency.Config{Table: os.Getenv("IDEMPOTENCY_TABLE")})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(lambda.Wrap(r, request, pay))
}

// snippet:end

// chargeCard stands for a card processor's client: it sends the key along, so that a charge which is asked for
// twice is made once.
func chargeCard(_ context.Context, key string, amount int64) (string, error) { //nolint:unparam // a real one fails
	log.Printf("charging %d under key %s", amount, key)
	return "ch_" + key[:8], nil
}

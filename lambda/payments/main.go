// Command payments is a Lambda function that takes a payment once per customer and idempotency key: a retry gets
// the first attempt's receipt, and no second charge.
//
// Its settings, all from the environment:
//
//	IDEMPOTENCY_TABLE   the table of records; required
//	ON_UNKNOWN          after an attempt that ended without telling: refuse (default) or rerun
//	CARD_PROCESSOR_URL  where cards are charged; without it nothing is, and every card is accepted
//	FRONT_DOOR          http-api, rest-api, function-url or alb; without it other functions invoke this one
//
// The AWS SDK reads its own: region, credentials, and AWS_ENDPOINT_URL_DYNAMODB for a local DynamoDB.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	start, err := setup(context.Background(), os.Getenv)
	if err != nil {
		slog.Error("payments: cannot start", "error", err)
		os.Exit(1)
	}
	start()
}

// setup runs once per process: clients and Runner are shared by all its invocations.
func setup(ctx context.Context, getenv func(string) string) (handler, error) {
	table := getenv("IDEMPOTENCY_TABLE")
	if table == "" {
		return nil, errors.New("IDEMPOTENCY_TABLE is not set: it names the table of records")
	}
	onUnknown, err := parseOnUnknown(getenv("ON_UNKNOWN"))
	if err != nil {
		return nil, err
	}
	cards, err := newProcessor(getenv("CARD_PROCESSOR_URL"))
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	runner, err := idempotency.New(dynamodb.NewFromConfig(cfg), idempotency.Config{
		Table:     table,
		OnUnknown: onUnknown,
		Observe:   idempotency.Log(slog.Default()),
	})
	if err != nil {
		return nil, err
	}
	return behind(getenv("FRONT_DOOR"), runner, payments{cards})
}

// parseOnUnknown reads the policy. Rerun is right for this handler, whose one effect carries a downstream key;
// refusing is the default all the same, until whoever deploys it knows that the processor honours that key.
func parseOnUnknown(s string) (idempotency.OnUnknown, error) {
	switch cmp.Or(s, "refuse") {
	case "refuse":
		return idempotency.Refuse, nil
	case "rerun":
		return idempotency.Rerun, nil
	}
	return 0, fmt.Errorf("ON_UNKNOWN is %q: must be refuse or rerun", s)
}

// Command payments is a Lambda function that takes a payment once per customer and idempotency key: a retry gets
// the first attempt's receipt, no second charge, and no second row in the ledger. On a schedule it is the reconciler,
// which settles the payments whose attempt ended without telling. Behind a queue it is the worker that charges the shop a
// commission on each payment that the ledger's outbox publishes, once, however often a row is published or delivered.
//
// Its settings, all from the environment:
//
//	IDEMPOTENCY_TABLE   the table of records; required
//	LEDGER_TABLE        the table of what was charged; required
//	CARD_PROCESSOR_URL  where cards are charged; without it nothing is, and every card is accepted
//	FRONT_DOOR          http-api, rest-api, function-url or alb; without it other functions invoke this one; schedule:
//	                    this is the reconciler; queue: this is the worker
//	ON_UNKNOWN          of payments, after an attempt that ended without telling: refuse (default) or rerun
//	GRACE               of the reconciler: how long after its lease an attempt may still charge, 10m by default
//	SHOP_CARD           of the worker, required there: the processor's token for the card that the shop pays commissions with
//	METRICS_SERVICE     the dimension Service of the metrics, payments by default: the same for the three functions, so that an
//	                    alarm watches them together, and another one for each stack of an account
//
// Metrics go to stdout, in CloudWatch's embedded metric format, and the log to stderr; Lambda puts both into the function's log.
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
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
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
	for name, what := range map[string]string{"IDEMPOTENCY_TABLE": "records", "LEDGER_TABLE": "what was charged"} {
		if getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set: it names the table of %s", name, what)
		}
	}
	cards, err := newProcessor(getenv("CARD_PROCESSOR_URL"))
	if err != nil {
		return nil, err
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	client := dynamodb.NewFromConfig(aws)
	s := payments{cards, ledger{client, getenv("LEDGER_TABLE")}}
	cfg := idempotency.Config{
		Table:            getenv("IDEMPOTENCY_TABLE"),
		UnknownRetention: unknownRetention,
		Classify:         unlessMarked,
		Observe:          observer(cmp.Or(getenv("METRICS_SERVICE"), "payments")),
	}
	switch getenv("FRONT_DOOR") {
	case "schedule":
		return reconciling(client, cfg, s, cmp.Or(getenv("GRACE"), "10m"))
	case "queue":
		return collecting(client, cfg, commissions{s, getenv("SHOP_CARD")})
	}
	if cfg.OnUnknown, err = parseOnUnknown(getenv("ON_UNKNOWN")); err != nil {
		return nil, err
	}
	runner, err := idempotency.New(client, cfg)
	if err != nil {
		return nil, err
	}
	return behind(getenv("FRONT_DOOR"), runner, s)
}

func reconciling(client *dynamodb.Client, cfg idempotency.Config, s payments, grace string) (handler, error) {
	d, err := time.ParseDuration(grace)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("GRACE is %q: must be a duration such as 10m", grace)
	}
	runner, err := idempotency.New(client, cfg)
	if err != nil {
		return nil, err
	}
	return started(reconciler{s, runner, d, cfg.Observe}.reconcile), nil
}

func collecting(client *dynamodb.Client, cfg idempotency.Config, c commissions) (handler, error) {
	if c.card == "" {
		return nil, errors.New("SHOP_CARD is not set: it is the processor's token for the card that commissions are charged to")
	}
	runner, err := idempotency.New(client, forCommissions(cfg))
	if err != nil {
		return nil, err
	}
	return started(c.behindQueue(runner)), nil
}

// observer logs what needs somebody, and counts everything.
func observer(service string) func(context.Context, idempotency.Event) {
	log, count := idempotency.Log(slog.Default()), lambda.Metrics(lambda.MetricsConfig{Service: service})
	return func(ctx context.Context, e idempotency.Event) {
		log(ctx, e)
		count(ctx, e)
	}
}

// unknownRetention is for how long an unknown is there to be settled: by the reconciler, or by who repairs it.
const unknownRetention = 7 * 24 * time.Hour

// unlessMarked is what an error means on which the handler has put no mark: unknown. Above all it is one of the commit, when
// the ledger's table refuses: the card is charged by then, and a released key would be no business of the reconciler's.
func unlessMarked(error) idempotency.Class { return idempotency.Ambiguous }

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

package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// The client is the SDK's. A setting that cannot be right is refused at once, with its field and its value.
func ExampleNew() {
	client := dynamodb.NewFromConfig(aws.Config{Region: "eu-west-1"}) // in a main: of config.LoadDefaultConfig
	for _, retention := range []time.Duration{7 * 24 * time.Hour, -time.Hour} {
		_, err := idempotency.New(client, idempotency.Config{Table: "idempotency", Retention: retention})
		if wrong, ok := errors.AsType[*idempotency.FieldError](err); ok {
			fmt.Println("refused:", wrong.Field, wrong.Value)
			continue
		}
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// refused: Config.Retention -1h0m0s
}

// A table of its own, and one that serves other items too.
func ExampleTable() {
	for _, schema := range []idempotency.Schema{{}, {PartitionKey: "PK", SortKey: "SK", Expiry: "ttl"}} {
		in := idempotency.Table("records", schema)
		fmt.Print(*in.TableName, " ", in.BillingMode)
		for _, key := range in.KeySchema {
			fmt.Print(" ", *key.AttributeName, " ", key.KeyType)
		}
		fmt.Println()
	}
	// Output:
	// records PAY_PER_REQUEST id HASH
	// records PAY_PER_REQUEST PK HASH SK RANGE
}

// A result type that could never be replayed is found by a test of one line.
func ExampleReplayable() {
	type Receipt struct{ Charge string }
	type Stream struct{ Chunks chan []byte }
	fmt.Println(idempotency.Replayable[Receipt]())
	_, refused := errors.AsType[*idempotency.FieldError](idempotency.Replayable[Stream]())
	fmt.Println("a stream is refused:", refused)
	// Output:
	// <nil>
	// a stream is refused: true
}

// What happens to a key, in the log: a first run, its end, and a retry.
func ExampleLog() {
	short := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey || a.Key == "kind" || a.Key == "ref" {
			return a
		}
		return slog.Attr{}
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: short}))
	r := exampleRunnerWith(idempotency.Config{Observe: idempotency.Log(logger)})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR", Ref: "order 17"}
	for range 2 {
		_, _ = idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
	}
	// Output:
	// level=DEBUG kind=acquired ref="order 17"
	// level=DEBUG kind=completed ref="order 17"
	// level=DEBUG kind=replayed ref="order 17"
}

// An observer of one's own counts what it likes.
func ExampleEvent() {
	replays := 0
	r := exampleRunnerWith(idempotency.Config{Observe: func(_ context.Context, e idempotency.Event) {
		if e.Kind == idempotency.KindReplayed {
			replays++
		}
	}})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 3 {
		_, _ = idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
	}
	fmt.Println(replays, "replays")
	// Output: 2 replays
}

// An error that the processor's client returns for every request that it has refused is final, without a mark at each place.
func ExampleClass() {
	refused := errors.New("the card was refused")
	r := exampleRunnerWith(idempotency.Config{Classify: func(err error) idempotency.Class {
		if errors.Is(err, refused) {
			return idempotency.Recorded
		}
		return 0 // as ever
	}})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	runs := 0
	for range 2 {
		_, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) {
			runs++
			return "", refused
		})
		fmt.Println(err, runs)
	}
	// Output:
	// the card was refused 1
	// the card was refused 1
}

// exampleRunnerWith is exampleRunner with settings.
func exampleRunnerWith(cfg idempotency.Config) *idempotency.Runner {
	db := localtest.Start(example{})
	cfg.Table = db.CreateTable(example{}, idempotency.Table("idempotency", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), cfg)
	if err != nil {
		panic(err)
	}
	return r
}

package lambda_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// The test binary is its own bootstrap: where Lambda's Runtime API is there, it is the function of start_test.go, the
// one of httpwire_test.go behind a front door, or the one of batchkill_test.go behind a queue.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		if door := os.Getenv("FRONT_DOOR"); door != "" {
			startWire(door)
		}
		if concurrency := os.Getenv("CONCURRENCY"); concurrency != "" {
			startWorker(concurrency)
		}
		startFunction()
	}
	os.Exit(m.Run())
}

type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int    `json:"amount"`
}

func orderRequest(_ context.Context, o order) (idempotency.Request, error) {
	return idempotency.Request{Operation: "pay", Scope: o.Customer, Key: o.ID}, nil
}

// fixed names the same request for every event.
func fixed[In any](context.Context, In) (idempotency.Request, error) {
	return idempotency.Request{Operation: "test", Scope: idempotency.GlobalScope, Key: "k"}, nil
}

// fixture is a Runner on a table of its own.
type fixture struct {
	db    *localtest.DB
	table string
	*idempotency.Runner
}

func newFixture(tb testing.TB, cfg idempotency.Config) fixture {
	tb.Helper()
	f := fixture{db: localtest.Start(tb)}
	f.table = f.db.CreateTable(tb, idempotency.Table("idempotency", cfg.Schema))
	cfg.Table = f.table
	r, err := idempotency.New(f.db.Client(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	f.Runner = r
	return f
}

// reply is what Lambda's runtime would send for one event: the bytes of a result, or an error document.
type reply struct {
	payload  string
	document string // "" for a result
}

// invoke runs one event through aws-lambda-go's own decoding, encoding and error documents.
func invoke[In, Out any](tb testing.TB, h lambda.Handler[In, Out], payload string) reply {
	tb.Helper()
	end := time.Now().Add(time.Minute)
	req := &messages.InvokeRequest{
		Payload:  []byte(payload),
		Deadline: messages.InvokeRequest_Timestamp{Seconds: end.Unix(), Nanos: int64(end.Nanosecond())},
	}
	var resp messages.InvokeResponse
	fn := awslambda.NewFunction(awslambda.NewHandler(h)) //nolint:staticcheck // the one way to the runtime's error documents without a process
	if err := fn.Invoke(req, &resp); err != nil {
		tb.Fatal(err)
	}
	if resp.Error == nil {
		return reply{payload: string(resp.Payload)}
	}
	document, err := json.Marshal(resp.Error)
	if err != nil {
		tb.Fatal(err)
	}
	return reply{document: string(document)}
}

func errorType(tb testing.TB, r reply) string {
	tb.Helper()
	var document messages.InvokeResponse_Error
	if r.document != "" {
		if err := json.Unmarshal([]byte(r.document), &document); err != nil {
			tb.Fatal(err)
		}
	}
	return document.Type
}

package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// What CloudWatch is told of a first request and of its retry: a line of JSON each, in the function's log.
func ExampleMetrics() {
	var log bytes.Buffer // in a function the zero value: os.Stdout
	r := observedRunner(lambda.Metrics(lambda.MetricsConfig{Service: "shop", Writer: &log}))
	pay := lambda.Wrap(r, func(_ context.Context, order string) (idempotency.Request, error) {
		return idempotency.Request{Operation: "pay", Scope: "customer 7", Key: order}, nil
	}, func(context.Context, string) (string, error) { return "paid", nil })
	for range 2 {
		_, _ = pay(context.Background(), "order 17")
	}
	for lines := json.NewDecoder(&log); lines.More(); {
		var line struct {
			Service, Operation            string
			Acquired, Completed, Replayed int
		}
		if err := lines.Decode(&line); err != nil {
			panic(err)
		}
		fmt.Printf("%+v\n", line)
	}
	// Output:
	// {Service:shop Operation:pay Acquired:1 Completed:1 Replayed:0}
	// {Service:shop Operation:pay Acquired:0 Completed:0 Replayed:1}
}

// observedRunner is newRunner with Config.Observe.
func observedRunner(observe func(context.Context, idempotency.Event)) *idempotency.Runner {
	db := localtest.Start(process{})
	table := db.CreateTable(process{}, idempotency.Table("idempotency", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: table, Observe: observe})
	if err != nil {
		panic(err)
	}
	return r
}

// The handler is given the body; what else the message has is in its context.
func ExampleMessageFrom() {
	type Order struct {
		ID string `json:"id"`
	}
	consume := lambda.SQSBody(newRunner(), lambda.Batch{Operation: "fulfil-order"}, nil, func(ctx context.Context, o Order) error {
		m, _ := lambda.MessageFrom[events.SQSMessage](ctx)
		fmt.Printf("order %s, delivery %s of message %s\n", o.ID, m.Attributes["ApproximateReceiveCount"], m.MessageId)
		return nil
	})
	deliver(consume, `{"Records":[{"messageId":"m1","body":"{\"id\":\"17\"}","attributes":{"ApproximateReceiveCount":"2"},
		"eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:orders"}]}`)
	// Output:
	// order 17, delivery 2 of message m1
	// answer: {"batchItemFailures":[]}, error: <nil>
}

// A refusal for good is an answer of its own: recorded, and the same for every retry.
func ExampleHTTPError() {
	tries := 0
	handler := lambda.FunctionURL(newRunner(), lambda.HTTPConfig{Operation: "pay", Request: whoever}, func(context.Context, events.LambdaFunctionURLRequest) (r events.LambdaFunctionURLResponse, err error) {
		tries++
		return r, idempotency.Terminal(&lambda.HTTPError{Status: http.StatusPaymentRequired, Body: `{"code":"insufficient_funds"}`})
	})
	e := events.LambdaFunctionURLRequest{Headers: map[string]string{"idempotency-key": "k1"}}
	e.RequestContext.HTTP.Method = http.MethodPost
	for range 2 {
		resp, err := handler(context.Background(), e)
		fmt.Println(resp.StatusCode, resp.Body, err, "after", tries, "try")
	}
	// Output:
	// 402 {"code":"insufficient_funds"} <nil> after 1 try
	// 402 {"code":"insufficient_funds"} <nil> after 1 try
}

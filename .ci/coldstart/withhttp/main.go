// Command withhttp is the function of without behind an HTTP API, whose handler runs once for each Idempotency-Key.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

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
	lambda.Start(lambda.HTTPAPI(runner, lambda.HTTPConfig{}, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		var o function.Order
		if err := json.Unmarshal([]byte(e.Body), &o); err != nil {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil //nolint:nilerr // it is the answer
		}
		receipt, err := function.Pay(ctx, client, o)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		body, err := json.Marshal(receipt)
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Body: string(body)}, err
	}))
}

package lambda_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// A payment behind an HTTP API with a JWT authorizer: the key comes by the header, the scope from the token.
func ExampleHTTPAPI() {
	db := localtest.Start(process{})
	table := db.CreateTable(process{}, idempotency.Table("idempotency", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: table})
	if err != nil {
		fmt.Println(err)
	}
	charges := 0
	// snippet:http
	pay := func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		charges++
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: fmt.Sprintf(`{"charge":%d}`, charges)}, nil
	}
	handler := lambda.HTTPAPI(r, lambda.HTTPConfig{}, pay)
	// snippet:end

	send := func(body string) {
		e := events.APIGatewayV2HTTPRequest{
			RouteKey: "POST /payments",
			RawPath:  "/payments",
			Headers:  map[string]string{"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324", "content-type": "application/json"},
			Body:     body,
		}
		e.RequestContext.HTTP.Method = http.MethodPost
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"iss": "https://issuer.example", "sub": "alice"}},
		}
		resp, err := handler(context.Background(), e)
		fmt.Println(resp.StatusCode, resp.Headers["Idempotent-Replayed"], strings.Split(resp.Body, ",")[0], err)
	}
	send(`{"amount":4990}`)
	send(`{"amount":4990}`)
	send(`{"amount":1}`)
	// Output:
	// 201  {"charge":1} <nil>
	// 201 true {"charge":1} <nil>
	// 422  {"type":"https://github.com/oncekey/oncekey/blob/main/lambda/CLIENTS.md#idempotency_key_reused" <nil>
}

package lambda_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// A net/http handler. What has authenticated the request has put the caller into its context.
func ExampleMiddleware() {
	db := localtest.Start(process{})
	table := db.CreateTable(process{}, idempotency.Table("idempotency", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: table})
	if err != nil {
		fmt.Println(err)
		return
	}
	charge := func(context.Context, string) (string, error) { return "ch_1", nil }
	type userKey struct{}
	// snippet:middleware
	pay := func(w http.ResponseWriter, req *http.Request) {
		if req.FormValue("amount") == "" {
			lambda.NotStarted(req.Context()) // nothing to remember
			http.Error(w, "amount is missing", http.StatusBadRequest)
			return
		}
		id, err := charge(req.Context(), idempotency.AttemptFrom(req.Context()).DownstreamKey("charge"))
		if err != nil {
			lambda.OutcomeUnknown(req.Context()) // the card may have been charged: the client is told so
			return
		}
		w.Header().Set("X-Charge-Id", id)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"charge":%q}`, id)
	}
	protect := lambda.Middleware(r, lambda.HTTPConfig{
		Headers: append(lambda.DefaultHeaders(), "X-Charge-Id"), // replayed beside status and body
		Request: func(ctx context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
			req.Scope, _ = ctx.Value(userKey{}).(string) // empty: the request is refused
			return nil
		},
	})
	mux := http.NewServeMux()
	mux.Handle("POST /payments", protect(http.HandlerFunc(pay)))
	// snippet:end
	for range 2 {
		req := httptest.NewRequestWithContext(context.WithValue(context.Background(), userKey{}, "alice"), http.MethodPost, "/payments?amount=5", http.NoBody)
		req.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, req)
		fmt.Println(w.Code, w.Header().Get("Idempotent-Replayed"), w.Body)
	}
	// Output:
	// 201  {"charge":"ch_1"}
	// 201 true {"charge":"ch_1"}
}

package lambda_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// A payment behind a REST API with a Cognito authorizer: operation and scope come from the event.
func ExampleRESTAPI() {
	charges := 0
	handler := lambda.RESTAPI(newRunner(), lambda.HTTPConfig{}, func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		charges++
		return events.APIGatewayProxyResponse{StatusCode: http.StatusCreated, Body: fmt.Sprintf("charge %d of %s", charges, lambda.RequestFrom(ctx).Caller.Claims["sub"])}, nil
	})

	// In a main: lambda.Start(handler)
	for range 2 {
		resp, err := handler(context.Background(), events.APIGatewayProxyRequest{
			HTTPMethod: http.MethodPost, Resource: "/payments", Path: "/payments", Body: `{"amount":4990}`,
			Headers: map[string]string{"Idempotency-Key": "k1", "Content-Type": "application/json"},
			RequestContext: events.APIGatewayProxyRequestContext{Authorizer: map[string]any{
				"claims": map[string]any{"iss": "https://issuer.example", "sub": "alice"},
			}},
		})
		fmt.Println(resp.StatusCode, resp.Body, resp.MultiValueHeaders["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 charge 1 of alice [] <nil>
	// 201 charge 1 of alice [true] <nil>
}

// A function URL has no routes, so the operation has a name; its caller is IAM's.
func ExampleFunctionURL() {
	charges := 0
	handler := lambda.FunctionURL(newRunner(), lambda.HTTPConfig{Operation: "pay"}, func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		charges++
		return events.LambdaFunctionURLResponse{StatusCode: http.StatusCreated, Body: fmt.Sprintf(`{"charge":%d}`, charges)}, nil
	})

	e := events.LambdaFunctionURLRequest{RawPath: "/", Body: `{"amount":4990}`, Headers: map[string]string{"idempotency-key": "k1", "content-type": "application/json"}}
	e.RequestContext.HTTP.Method = http.MethodPost
	e.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
		IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::111122223333:user/alice"},
	}
	for range 2 {
		resp, err := handler(context.Background(), e)
		fmt.Println(resp.StatusCode, resp.Body, resp.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 {"charge":1}  <nil>
	// 201 {"charge":1} true <nil>
}

// A load balancer says nothing of the caller: the scope is set here, of a token that the function itself has verified.
func ExampleALB() {
	subject := func(string) (string, error) { return "alice", nil } // stands for the look at the token's signature
	charges := 0
	handler := lambda.ALB(newRunner(), lambda.HTTPConfig{
		Operation: "pay",
		Request: func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) (err error) {
			req.Scope, err = subject(q.Header.Get("X-Amzn-Oidc-Data"))
			return err
		},
	}, func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		charges++
		return events.ALBTargetGroupResponse{StatusCode: http.StatusCreated, Body: fmt.Sprintf(`{"charge":%d}`, charges)}, nil
	})

	e := events.ALBTargetGroupRequest{HTTPMethod: http.MethodPost, Path: "/payments", Body: `{"amount":4990}`, Headers: map[string]string{"idempotency-key": "k1", "content-type": "application/json"}}
	for range 2 {
		resp, err := handler(context.Background(), e)
		fmt.Println(resp.StatusCode, resp.Body, resp.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 {"charge":1}  <nil>
	// 201 {"charge":1} true <nil>
}

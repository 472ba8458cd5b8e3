package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// handler is what main starts: its type is that of the front door.
type handler func()

// behind puts the payments behind a front door; "" is none: other functions invoke this one with a [Payment].
func behind(frontDoor string, r *idempotency.Runner, s payments) (handler, error) {
	c := contract()
	switch frontDoor {
	case "":
		return started(lambda.Wrap(r, request, s.pay)), nil
	case "http-api":
		return started(lambda.HTTPAPI(r, c, through(s, toHTTPAPI))), nil
	case "rest-api":
		return started(lambda.RESTAPI(r, c, through(s, toRESTAPI))), nil
	case "function-url":
		return started(lambda.FunctionURL(r, c, through(s, toFunctionURL))), nil
	case "alb":
		c.Request = scopeOfALB
		return started(lambda.ALB(r, c, through(s, toALB))), nil
	}
	return nil, fmt.Errorf("FRONT_DOOR is %q: must be http-api, rest-api, function-url, alb, schedule or queue, or empty", frontDoor)
}

// contract is what all doors ask for. Their authoriser says who pays. A PATCH is not among the methods, or its refusal would
// use its key up.
func contract() lambda.HTTPConfig {
	return lambda.HTTPConfig{Operation: overHTTP, Methods: []string{http.MethodPost}, Lookup: true, Request: note}
}

func started[In, Out any](h lambda.Handler[In, Out]) handler { return func() { lambda.Start(h) } }

// note notes the order, for whoever has to look at the payment one day.
func note(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	var p Payment
	if json.Unmarshal(q.Body, &p) == nil && orderNumber.MatchString(p.Order) {
		req.Ref = "order " + p.Order
	}
	return nil
}

// through is the one handler behind a front door: the wrapper has read the event, and to writes the answer to it.
func through[In, Out any](s payments, to func(In, answer) Out) lambda.Handler[In, Out] {
	return func(ctx context.Context, event In) (Out, error) {
		a, err := s.ask(ctx, lambda.RequestFrom(ctx))
		return to(event, a), err
	}
}

func toHTTPAPI(_ events.APIGatewayV2HTTPRequest, a answer) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

func toRESTAPI(_ events.APIGatewayProxyRequest, a answer) events.APIGatewayProxyResponse {
	return events.APIGatewayProxyResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

func toFunctionURL(_ events.LambdaFunctionURLRequest, a answer) events.LambdaFunctionURLResponse {
	return events.LambdaFunctionURLResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

// scopeOfALB takes the caller from the header that a listener's rule sets when it authenticates. Anybody can write that
// header: it is worth something only if every rule that leads here authenticates, and nothing but the load balancer may
// invoke the function. Better, verify the signature of X-Amzn-Oidc-Data and the load balancer's ARN in it, and take the
// subject from there. Without the header, and with two of them, nobody is calling: the request is refused.
func scopeOfALB(ctx context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	if identities := q.Header.Values("X-Amzn-Oidc-Identity"); len(identities) == 1 {
		req.Scope = identities[0]
	}
	return note(ctx, q, req)
}

func toALB(e events.ALBTargetGroupRequest, a answer) events.ALBTargetGroupResponse {
	out := events.ALBTargetGroupResponse{
		StatusCode: a.status, StatusDescription: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Body: a.body,
	}
	if e.MultiValueHeaders == nil {
		out.Headers = a.headers
		return out
	}
	out.MultiValueHeaders = map[string][]string{} // as the target group is set
	for name, v := range a.headers {
		out.MultiValueHeaders[name] = []string{v}
	}
	return out
}

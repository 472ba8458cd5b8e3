package main

import (
	"context"
	"encoding/base64"
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
	// The front door's authoriser says who pays. A PATCH is not among the methods, or its refusal would use its key up.
	c := lambda.HTTPConfig{Operation: "create-payment", Methods: []string{http.MethodPost}, Lookup: true}
	switch frontDoor {
	case "":
		return started(lambda.Wrap(r, request, s.pay)), nil
	case "http-api":
		return started(lambda.HTTPAPI(r, c, through(s, fromHTTPAPI, toHTTPAPI))), nil
	case "rest-api":
		return started(lambda.RESTAPI(r, c, through(s, fromRESTAPI, toRESTAPI))), nil
	case "function-url":
		return started(lambda.FunctionURL(r, c, through(s, fromFunctionURL, toFunctionURL))), nil
	case "alb":
		c.Request = scopeOfALB
		return started(lambda.ALB(r, c, through(s, fromALB, toALB))), nil
	}
	return nil, fmt.Errorf("FRONT_DOOR is %q: must be http-api, rest-api, function-url or alb, or empty", frontDoor)
}

func started[In, Out any](h lambda.Handler[In, Out]) handler { return func() { lambda.Start(h) } }

// through is the one handler with a front door's events: from reads a request, to writes the answer to it.
func through[In, Out any](s payments, from func(In) (method, body string, isBase64 bool), to func(In, answer) Out) lambda.Handler[In, Out] {
	return func(ctx context.Context, event In) (Out, error) {
		method, body, isBase64 := from(event)
		q := question{method, []byte(body)}
		if b, err := base64.StdEncoding.DecodeString(body); isBase64 && err == nil { // what is none is no JSON either
			q.body = b // as a gateway delivers what it does not take for text
		}
		a, err := s.ask(ctx, q)
		return to(event, a), err
	}
}

func fromHTTPAPI(e events.APIGatewayV2HTTPRequest) (method, body string, isBase64 bool) {
	return e.RequestContext.HTTP.Method, e.Body, e.IsBase64Encoded
}

func toHTTPAPI(_ events.APIGatewayV2HTTPRequest, a answer) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

func fromRESTAPI(e events.APIGatewayProxyRequest) (method, body string, isBase64 bool) {
	return e.HTTPMethod, e.Body, e.IsBase64Encoded
}

func toRESTAPI(_ events.APIGatewayProxyRequest, a answer) events.APIGatewayProxyResponse {
	return events.APIGatewayProxyResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

func fromFunctionURL(e events.LambdaFunctionURLRequest) (method, body string, isBase64 bool) {
	return e.RequestContext.HTTP.Method, e.Body, e.IsBase64Encoded
}

func toFunctionURL(_ events.LambdaFunctionURLRequest, a answer) events.LambdaFunctionURLResponse {
	return events.LambdaFunctionURLResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}
}

// scopeOfALB takes the caller from the header that a listener's rule sets when it authenticates. Anybody can write that
// header: it is worth something only if every rule that leads here authenticates, and nothing but the load balancer may
// invoke the function. Better, verify the signature of X-Amzn-Oidc-Data and the load balancer's ARN in it, and take the
// subject from there. Without the header, and with two of them, nobody is calling: the request is refused.
func scopeOfALB(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	if identities := q.Header.Values("X-Amzn-Oidc-Identity"); len(identities) == 1 {
		req.Scope = identities[0]
	}
	return nil
}

func fromALB(e events.ALBTargetGroupRequest) (method, body string, isBase64 bool) {
	return e.HTTPMethod, e.Body, e.IsBase64Encoded
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

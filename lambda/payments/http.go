package main

import (
	"context"
	"encoding/json"
	"errors"
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
	// The front door's authoriser says who pays; the key comes by the header. At an ALB nobody does: there the
	// listener's rule has to authenticate, and the header is its word.
	c := lambda.HTTPConfig{Operation: "create-payment", Lookup: true}
	switch frontDoor {
	case "":
		return started(lambda.Wrap(r, request, s.pay)), nil
	case "http-api":
		return started(lambda.HTTPAPI(r, c, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			a, err := s.post(ctx, e.RequestContext.HTTP.Method, e.Body)
			return events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}, err
		})), nil
	case "rest-api":
		return started(lambda.RESTAPI(r, c, func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			a, err := s.post(ctx, e.HTTPMethod, e.Body)
			return events.APIGatewayProxyResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}, err
		})), nil
	case "function-url":
		return started(lambda.FunctionURL(r, c, func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			a, err := s.post(ctx, e.RequestContext.HTTP.Method, e.Body)
			return events.LambdaFunctionURLResponse{StatusCode: a.status, Headers: a.headers, Body: a.body}, err
		})), nil
	case "alb":
		c.Request = func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
			req.Scope = q.Header.Get("X-Amzn-Oidc-Identity")
			return nil
		}
		return started(lambda.ALB(r, c, func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			a, err := s.post(ctx, e.HTTPMethod, e.Body)
			out := events.ALBTargetGroupResponse{StatusCode: a.status, StatusDescription: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Headers: a.headers, Body: a.body}
			if e.MultiValueHeaders != nil { // as the target group is set
				out.Headers, out.MultiValueHeaders = nil, map[string][]string{}
				for name, v := range a.headers {
					out.MultiValueHeaders[name] = []string{v}
				}
			}
			return out, err
		})), nil
	}
	return nil, fmt.Errorf("FRONT_DOOR is %q: must be http-api, rest-api, function-url or alb, or empty", frontDoor)
}

func started[In, Out any](h lambda.Handler[In, Out]) handler { return func() { lambda.Start(h) } }

// answer is what the client gets.
type answer struct {
	status  int
	headers map[string]string
	body    string
}

// post is the handler behind every front door. The customer and the key are the wrapper's affair.
func (s payments) post(ctx context.Context, method, body string) (answer, error) {
	if method != http.MethodPost {
		return refused(http.StatusMethodNotAllowed, "method_not_allowed", "payments are made with POST")
	}
	var p Payment
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		lambda.NotStarted(ctx)
		return refused(http.StatusBadRequest, "invalid_json", "the body must be a payment in JSON")
	}
	receipt, err := s.pay(ctx, p)
	if invalid, ok := errors.AsType[*InvalidPayment](err); ok {
		lambda.NotStarted(ctx) // nothing to remember
		return refused(http.StatusBadRequest, "invalid_payment", invalid.Error())
	}
	if declined, ok := errors.AsType[*CardDeclined](err); ok {
		return refused(http.StatusPaymentRequired, declined.Code, declined.Error())
	}
	if err != nil {
		return answer{}, err
	}
	text, err := json.Marshal(receipt)
	return answer{http.StatusCreated, map[string]string{"Content-Type": "application/json", "Location": "/payments/" + receipt.Charge}, string(text)}, err
}

func refused(status int, code, detail string) (answer, error) {
	text, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	return answer{status, map[string]string{"Content-Type": "application/problem+json"}, string(text)}, err
}

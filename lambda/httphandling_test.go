package lambda_test

import (
	"context"
	"encoding/base64"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/lambda"
)

// handling is the handler behind all doors; each method makes a handler of one door's events of it.
type handling func(context.Context, *lambda.HTTPRequest) (reaction, error)

func (h handling) httpAPI(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	r, err := h(ctx, seen(e.RequestContext.HTTP.Method, e.RawPath, e.Body, e.IsBase64Encoded))
	return events.APIGatewayV2HTTPResponse{StatusCode: r.status, Headers: single(r.header), Cookies: r.header["Set-Cookie"], Body: r.body, IsBase64Encoded: r.base64}, err
}

func (h handling) restAPI(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	r, err := h(ctx, seen(e.HTTPMethod, e.Path, e.Body, e.IsBase64Encoded))
	return events.APIGatewayProxyResponse{StatusCode: r.status, MultiValueHeaders: r.header, Body: r.body, IsBase64Encoded: r.base64}, err
}

func (h handling) functionURL(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	r, err := h(ctx, seen(e.RequestContext.HTTP.Method, e.RawPath, e.Body, e.IsBase64Encoded))
	return events.LambdaFunctionURLResponse{StatusCode: r.status, Headers: single(r.header), Cookies: r.header["Set-Cookie"], Body: r.body, IsBase64Encoded: r.base64}, err
}

func (h handling) alb(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	r, err := h(ctx, seen(e.HTTPMethod, e.Path, e.Body, e.IsBase64Encoded))
	out := events.ALBTargetGroupResponse{StatusCode: r.status, Body: r.body, IsBase64Encoded: r.base64}
	if e.MultiValueHeaders != nil {
		out.MultiValueHeaders = r.header
	} else {
		out.Headers = single(r.header)
		for _, cookie := range r.header["Set-Cookie"] { // the last one
			out.Headers["Set-Cookie"] = cookie
		}
	}
	return out, err
}

// seen is what the tests' handlers look at.
func seen(method, path, body string, isBase64 bool) *lambda.HTTPRequest {
	q := &lambda.HTTPRequest{Method: method, Path: path, Body: []byte(body)}
	if b, err := base64.StdEncoding.DecodeString(body); isBase64 && err == nil {
		q.Body = b
	}
	return q
}

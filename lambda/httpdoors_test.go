package lambda_test

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// call is a request to the tests' function, whatever door it comes through.
type call struct {
	method, path, query, body string
	header                    http.Header
	caller                    string
	base64                    bool
}

// pay is a payment with a key.
func pay(key string) call {
	return call{
		method: "POST", path: "/payments", body: `{"amount":5}`, caller: "alice",
		header: http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/json"}},
	}
}

func (c call) with(change func(*call)) call {
	c.header = maps.Clone(c.header)
	change(&c)
	return c
}

// reaction is what the client gets.
type reaction struct {
	status int
	header http.Header // canonical names
	body   string
	base64 bool
}

// gate is a front door with a wrapped handler behind it.
type gate func(context.Context, call) (reaction, error)

// handling is the handler behind all doors.
type handling func(context.Context, *lambda.HTTPRequest) (reaction, error)

// doors make a gate of each kind. The config gets what a door cannot know by itself.
var doors = map[string]func(testing.TB, *idempotency.Runner, lambda.HTTPConfig, handling) gate{
	"HTTPAPI": func(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
		wrapped := lambda.HTTPAPI(r, c, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			res, err := h(ctx, &lambda.HTTPRequest{Method: e.RequestContext.HTTP.Method, Path: e.RawPath, Body: []byte(e.Body)})
			return events.APIGatewayV2HTTPResponse{StatusCode: res.status, Headers: single(res.header), Cookies: res.header["Set-Cookie"], Body: res.body, IsBase64Encoded: res.base64}, err
		})
		return func(ctx context.Context, c call) (reaction, error) {
			e := events.APIGatewayV2HTTPRequest{RouteKey: c.method + " /payments", RawPath: c.path, RawQueryString: c.query, Headers: lower(c.header), Body: c.text(), IsBase64Encoded: c.base64}
			e.RequestContext.HTTP.Method = c.method
			if c.caller != "" {
				e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
					JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"iss": "https://issuer.example", "sub": c.caller}},
				}
			}
			out, err := wrapped(ctx, e)
			h := canonical(out.Headers, out.MultiValueHeaders)
			for _, cookie := range out.Cookies {
				h.Add("Set-Cookie", cookie)
			}
			return reaction{out.StatusCode, h, out.Body, out.IsBase64Encoded}, err
		}
	},
	"RESTAPI": func(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
		wrapped := lambda.RESTAPI(r, c, func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			res, err := h(ctx, &lambda.HTTPRequest{Method: e.HTTPMethod, Path: e.Path, Body: []byte(e.Body)})
			return events.APIGatewayProxyResponse{StatusCode: res.status, MultiValueHeaders: res.header, Body: res.body, IsBase64Encoded: res.base64}, err
		})
		return func(ctx context.Context, c call) (reaction, error) {
			query, _ := url.ParseQuery(c.query)
			e := events.APIGatewayProxyRequest{Resource: "/payments", Path: c.path, HTTPMethod: c.method, MultiValueQueryStringParameters: query, Headers: single(c.header), MultiValueHeaders: c.header, Body: c.text(), IsBase64Encoded: c.base64}
			if c.caller != "" {
				e.RequestContext.Authorizer = map[string]any{"principalId": c.caller}
			}
			out, err := wrapped(ctx, e)
			return reaction{out.StatusCode, canonical(out.Headers, out.MultiValueHeaders), out.Body, out.IsBase64Encoded}, err
		}
	},
	"FunctionURL": func(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
		if c.Operation == "" {
			c.Operation = "pay"
		}
		wrapped := lambda.FunctionURL(r, c, func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			res, err := h(ctx, &lambda.HTTPRequest{Method: e.RequestContext.HTTP.Method, Path: e.RawPath, Body: []byte(e.Body)})
			return events.LambdaFunctionURLResponse{StatusCode: res.status, Headers: single(res.header), Cookies: res.header["Set-Cookie"], Body: res.body, IsBase64Encoded: res.base64}, err
		})
		return func(ctx context.Context, c call) (reaction, error) {
			e := events.LambdaFunctionURLRequest{RawPath: c.path, RawQueryString: c.query, Headers: lower(c.header), Body: c.text(), IsBase64Encoded: c.base64}
			e.RequestContext.HTTP.Method = c.method
			if c.caller != "" {
				e.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::1:user/" + c.caller}}
			}
			out, err := wrapped(ctx, e)
			h := canonical(out.Headers, nil)
			for _, cookie := range out.Cookies {
				h.Add("Set-Cookie", cookie)
			}
			return reaction{out.StatusCode, h, out.Body, out.IsBase64Encoded}, err
		}
	},
	"ALB":        albDoor(false),
	"ALB, multi": albDoor(true),
}

func albDoor(multi bool) func(testing.TB, *idempotency.Runner, lambda.HTTPConfig, handling) gate {
	return func(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
		if c.Operation == "" {
			c.Operation = "pay"
		}
		if c.Request == nil { // there is no authoriser: the tests' header stands for a session that was checked
			c.Request = func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
				req.Scope = q.Header.Get("X-Session")
				return nil
			}
		}
		wrapped := lambda.ALB(r, c, func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			res, err := h(ctx, &lambda.HTTPRequest{Method: e.HTTPMethod, Path: e.Path, Body: []byte(e.Body)})
			out := events.ALBTargetGroupResponse{StatusCode: res.status, Body: res.body, IsBase64Encoded: res.base64}
			if multi {
				out.MultiValueHeaders = res.header
			} else {
				out.Headers = single(res.header)
			}
			return out, err
		})
		return func(ctx context.Context, c call) (reaction, error) {
			c = c.with(func(c *call) {
				if c.caller != "" {
					c.header.Set("X-Session", c.caller)
				}
			})
			e := events.ALBTargetGroupRequest{HTTPMethod: c.method, Path: c.path, Body: c.text(), IsBase64Encoded: c.base64}
			query, _ := url.ParseQuery(c.query)
			if multi {
				e.MultiValueHeaders, e.MultiValueQueryStringParameters = map[string][]string{}, query
				for name, values := range c.header {
					e.MultiValueHeaders[strings.ToLower(name)] = values
				}
			} else {
				e.Headers, e.QueryStringParameters = map[string]string{}, single(http.Header(query))
				for name, v := range single(c.header) { // the last one of several
					e.Headers[strings.ToLower(name)] = v
				}
			}
			out, err := wrapped(ctx, e)
			if (out.Headers != nil && out.MultiValueHeaders != nil) || (multi && len(out.Headers) > 0) {
				return reaction{}, errWrongForm
			}
			return reaction{out.StatusCode, canonical(out.Headers, out.MultiValueHeaders), out.Body, out.IsBase64Encoded}, err
		}
	}
}

func (c call) text() string {
	if c.base64 && !strings.HasPrefix(c.body, "!") {
		return base64.StdEncoding.EncodeToString([]byte(c.body))
	}
	return c.body
}

// single is the last value of each, as API Gateway has it.
func single(h http.Header) map[string]string {
	if h == nil {
		return nil
	}
	out := map[string]string{}
	for name, values := range h {
		if len(values) > 0 && name != "Set-Cookie" {
			out[name] = values[len(values)-1]
		}
	}
	return out
}

// lower are headers as an HTTP API has them.
func lower(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return out
}

func canonical(one map[string]string, all map[string][]string) http.Header {
	h := http.Header{}
	for name, v := range one {
		h.Add(name, v)
	}
	for name, values := range all {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return h
}

package lambda_test

import (
	"context"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// gate is a front door with a wrapped handler behind it.
type gate func(context.Context, call) (reaction, error)

// middleware is the one door without an event: its handlers return no errors, and no body is in base64.
const middleware = "Middleware"

// doors make a gate of each kind. The config gets what a door cannot know by itself. Behind a gate the request is one of
// aws-lambda-go's event files, with what the call says put over it.
var doors = map[string]func(testing.TB, *idempotency.Runner, lambda.HTTPConfig, handling) gate{
	"HTTPAPI":     httpAPIDoor,
	"RESTAPI":     restAPIDoor,
	"FunctionURL": functionURLDoor,
	"ALB":         albDoor("alb-lambda-target-request-headers-only.json"),
	"ALB, multi":  albDoor("alb-lambda-target-request-multivalue-headers.json"),
	middleware:    middlewareDoor,
}

func httpAPIDoor(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
	wrapped := lambda.HTTPAPI(r, c, h.httpAPI)
	return func(ctx context.Context, c call) (reaction, error) {
		e := eventFile[events.APIGatewayV2HTTPRequest]("apigw-v2-request-jwt-authorizer.json")
		e.RouteKey, e.RequestContext.RouteKey, e.PathParameters = c.route(), c.route(), nil
		e.RawPath, e.RequestContext.HTTP.Path = c.path, c.path
		e.RequestContext.HTTP.Method = c.method
		e.RawQueryString, e.QueryStringParameters = c.query, joinedValues(c.values())
		e.Headers = over(e.Headers, lower(c.header))
		e.Body, e.IsBase64Encoded = c.text(), c.base64
		if c.caller != "" { // the file's token has no subject
			e.RequestContext.Authorizer.JWT.Claims["iss"] = "https://issuer.example"
			e.RequestContext.Authorizer.JWT.Claims["sub"] = c.caller
		}
		out, err := wrapped(ctx, e)
		header := canonical(out.Headers, out.MultiValueHeaders)
		for _, cookie := range out.Cookies {
			header.Add("Set-Cookie", cookie)
		}
		return reaction{out.StatusCode, header, out.Body, out.IsBase64Encoded}, err
	}
}

func restAPIDoor(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
	wrapped := lambda.RESTAPI(r, c, h.restAPI)
	return func(ctx context.Context, c call) (reaction, error) {
		e := eventFile[events.APIGatewayProxyRequest]("apigw-request.json")
		e.Resource, e.RequestContext.ResourcePath, e.PathParameters = "/payments", "/payments", nil
		e.Path, e.HTTPMethod, e.RequestContext.HTTPMethod = c.path, c.method, c.method
		e.QueryStringParameters, e.MultiValueQueryStringParameters = single(http.Header(c.values())), c.values()
		e.Headers, e.MultiValueHeaders = over(e.Headers, single(c.header)), over(e.MultiValueHeaders, c.header)
		e.Body, e.IsBase64Encoded = c.text(), c.base64
		e.RequestContext.Authorizer["principalId"] = c.caller
		if c.caller == "" {
			e.RequestContext.Identity = events.APIGatewayRequestIdentity{SourceIP: e.RequestContext.Identity.SourceIP}
		}
		out, err := wrapped(ctx, e)
		return reaction{out.StatusCode, canonical(out.Headers, out.MultiValueHeaders), out.Body, out.IsBase64Encoded}, err
	}
}

func functionURLDoor(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
	if c.Operation == "" {
		c.Operation = "pay"
	}
	wrapped := lambda.FunctionURL(r, c, h.functionURL)
	return func(ctx context.Context, c call) (reaction, error) {
		e := eventFile[events.LambdaFunctionURLRequest]("lambda-urls-request.json")
		e.RawPath, e.RequestContext.HTTP.Path = c.path, c.path
		e.RequestContext.HTTP.Method = c.method
		e.RawQueryString, e.QueryStringParameters = c.query, joinedValues(c.values())
		e.Headers = over(e.Headers, lower(c.header))
		e.Body, e.IsBase64Encoded = c.text(), c.base64
		e.RequestContext.Authorizer.IAM.UserARN = "arn:aws:iam::111122223333:user/" + c.caller
		if c.caller == "" {
			e.RequestContext.Authorizer = nil // as with the auth type NONE
		}
		out, err := wrapped(ctx, e)
		header := canonical(out.Headers, nil)
		for _, cookie := range out.Cookies {
			header.Add("Set-Cookie", cookie)
		}
		return reaction{out.StatusCode, header, out.Body, out.IsBase64Encoded}, err
	}
}

// albDoor takes events in the form that the file has: with one value of a header or all.
func albDoor(file string) func(testing.TB, *idempotency.Runner, lambda.HTTPConfig, handling) gate {
	return func(_ testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
		multi := eventFile[events.ALBTargetGroupRequest](file).MultiValueHeaders != nil
		c = bySession(c)
		if c.Operation == "" {
			c.Operation = "pay"
		}
		wrapped := lambda.ALB(r, c, h.alb)
		return func(ctx context.Context, c call) (reaction, error) {
			e := eventFile[events.ALBTargetGroupRequest](file)
			e.HTTPMethod, e.Path = c.method, c.path
			e.Body, e.IsBase64Encoded = c.text(), c.base64
			header := c.inSession().header
			if multi {
				e.MultiValueHeaders, e.MultiValueQueryStringParameters = over(e.MultiValueHeaders, lowerNames(header)), c.values()
			} else {
				e.Headers, e.QueryStringParameters = over(e.Headers, lowerNames(single(header))), single(http.Header(c.values()))
			}
			out, err := wrapped(ctx, e)
			if (out.Headers != nil && out.MultiValueHeaders != nil) || (multi && len(out.Headers) > 0) {
				return reaction{}, errWrongForm
			}
			return reaction{out.StatusCode, canonical(out.Headers, out.MultiValueHeaders), out.Body, out.IsBase64Encoded}, err
		}
	}
}

// middlewareDoor is net/http's: a request instead of an event, within this process.
func middlewareDoor(tb testing.TB, r *idempotency.Runner, c lambda.HTTPConfig, h handling) gate {
	tb.Helper()
	wrapped := lambda.Middleware(r, bySession(c))(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			tb.Error(err)
		}
		res, err := h(req.Context(), &lambda.HTTPRequest{Method: req.Method, Path: req.URL.Path, Body: b})
		if err != nil || res.status == 0 {
			tb.Errorf("the handler's answer %+v, %v: there is no such answer of a net/http handler", res, err)
		}
		maps.Copy(w.Header(), res.header)
		w.WriteHeader(res.status)
		if _, err := w.Write(res.bytes()); err != nil {
			tb.Error(err)
		}
	}))
	return func(ctx context.Context, c call) (reaction, error) {
		if c.base64 {
			tb.Error("a body in base64: net/http knows bytes only")
		}
		req := httptest.NewRequestWithContext(ctx, c.method, "http://api.example"+c.path+"?"+c.query, strings.NewReader(c.body))
		req.Header = c.inSession().header
		req.Pattern = c.route() // as a ServeMux leaves it
		w := httptest.NewRecorder()
		wrapped.ServeHTTP(w, req)
		res := reaction{status: w.Code, header: w.Header(), body: w.Body.String()}
		if !utf8.ValidString(res.body) { // as an event would have it
			res.body, res.base64 = base64.StdEncoding.EncodeToString(w.Body.Bytes()), true
		}
		return res, nil
	}
}

// bySession is for doors without an authoriser: the tests' header stands for a session that was checked.
func bySession(c lambda.HTTPConfig) lambda.HTTPConfig {
	if c.Request == nil {
		c.Request = func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
			req.Scope = q.Header.Get("X-Session")
			return nil
		}
	}
	return c
}

package lambda

import (
	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// FunctionURL is for a function behind its own URL, in buffered mode. The caller is the one of IAM (the ARN; see
// [HTTPAPI] on sessions); with the auth type NONE there is none. HTTPConfig.Operation is required, since such a URL has no routes.
func FunctionURL(r *idempotency.Runner, c HTTPConfig, h Handler[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]) Handler[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse] {
	return through(r, c, door[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
		read: func(e events.LambdaFunctionURLRequest) (*HTTPRequest, string, bool) {
			q := &HTTPRequest{
				Method: e.RequestContext.HTTP.Method,
				Route:  "$default",
				Path:   e.RawPath,
				Header: headersOf(e.Headers, nil),
				Event:  e,
			}
			q.query(e.RawQueryString)
			if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
				q.Caller.ID = iamIdentity(a.IAM.UserARN)
			}
			return q, e.Body, e.IsBase64Encoded
		},
		parse: func(_ events.LambdaFunctionURLRequest, r events.LambdaFunctionURLResponse) response {
			return response{Status: r.StatusCode, Headers: listed(r.Headers), Body: r.Body, Base64: r.IsBase64Encoded}
		},
		answer: func(_ events.LambdaFunctionURLRequest, r response) events.LambdaFunctionURLResponse {
			return events.LambdaFunctionURLResponse{StatusCode: r.Status, Headers: joined(r.Headers), Body: r.Body, IsBase64Encoded: r.Base64}
		},
	}, h)
}

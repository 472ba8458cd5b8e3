package lambda

import (
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// ALB is for a function that is the target group of an Application Load Balancer. It says nothing of the caller that a
// client could not write itself, so HTTPConfig.Request has to set the scope; and HTTPConfig.Operation is required. The header
// X-Amzn-Oidc-Identity of a rule that authenticates is worth something only if every rule that leads to the function does,
// and nothing else may invoke it; better, verify the signed X-Amzn-Oidc-Data and take its subject.
// Single and multi-value headers are both served, as the target group is set. With single-value headers the load balancer
// delivers the last one of two keys, which are then not refused.
func ALB(r *idempotency.Runner, c HTTPConfig, h Handler[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]) Handler[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse] {
	return through(r, c, door[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]{
		read: func(e events.ALBTargetGroupRequest) (*HTTPRequest, string, bool) {
			return &HTTPRequest{
				Method: e.HTTPMethod,
				Route:  "$default",
				Path:   e.Path,
				Query:  allValues(e.QueryStringParameters, e.MultiValueQueryStringParameters),
				Header: headersOf(e.Headers, e.MultiValueHeaders),
				Event:  e,
			}, e.Body, e.IsBase64Encoded
		},
		parse: func(e events.ALBTargetGroupRequest, r events.ALBTargetGroupResponse) response {
			headers := http.Header(r.MultiValueHeaders) // the other form reaches no client
			if e.MultiValueHeaders == nil {
				headers = listed(r.Headers)
			}
			return response{Status: r.StatusCode, Headers: headers, Body: r.Body, Base64: r.IsBase64Encoded}
		},
		answer: func(e events.ALBTargetGroupRequest, r response) events.ALBTargetGroupResponse {
			out := events.ALBTargetGroupResponse{
				StatusCode: r.Status, StatusDescription: fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)),
				Body: r.Body, IsBase64Encoded: r.Base64,
			}
			if e.MultiValueHeaders != nil {
				out.MultiValueHeaders = r.Headers
			} else {
				out.Headers = joined(r.Headers)
			}
			return out
		},
	}, h)
}

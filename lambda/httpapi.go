package lambda

import (
	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// HTTPAPI is for a function behind an API Gateway HTTP API, with payload format 2.0.
//
// The caller is the one of the JWT authorizer (issuer and subject), of IAM (the Cognito identity, else the ARN), or of a
// Lambda authorizer whose context has a principalId or a sub. Of an assumed role's ARN the session is left out: it
// changes from process to process, and whoever assumes the role names it. Where one identity stands for many users, such as
// a Lambda authorizer's constant principalId or a role that a service assumes for all of them, set the scope by
// HTTPConfig.Request, or one gets another's answers.
func HTTPAPI(r *idempotency.Runner, c HTTPConfig, h Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]) Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse] {
	return through(r, c, door[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]{
		read: func(e events.APIGatewayV2HTTPRequest) (*HTTPRequest, string, bool) {
			q := &HTTPRequest{
				Method: e.RequestContext.HTTP.Method,
				Route:  e.RouteKey,
				Path:   e.RawPath,
				Header: headersOf(e.Headers, nil),
				Caller: callerOf2(e.RequestContext.Authorizer),
				Event:  e,

				PathParameters: e.PathParameters,
			}
			q.query(e.RawQueryString)
			return q, e.Body, e.IsBase64Encoded
		},
		parse: func(_ events.APIGatewayV2HTTPRequest, r events.APIGatewayV2HTTPResponse) response {
			// Format 2.0 has no other headers: what is in MultiValueHeaders reaches no client.
			return response{Status: r.StatusCode, Headers: listed(r.Headers), Body: r.Body, Base64: r.IsBase64Encoded}
		},
		answer: func(_ events.APIGatewayV2HTTPRequest, r response) events.APIGatewayV2HTTPResponse {
			return events.APIGatewayV2HTTPResponse{StatusCode: r.Status, Headers: joined(r.Headers), Body: r.Body, IsBase64Encoded: r.Base64}
		},
	}, h)
}

func callerOf2(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) Caller {
	switch {
	case a == nil:
		return Caller{}
	case a.JWT != nil:
		return Caller{ID: identity("jwt", a.JWT.Claims["iss"], a.JWT.Claims["sub"]), Claims: a.JWT.Claims}
	case a.IAM != nil && a.IAM.CognitoIdentity.IdentityID != "": // all of a pool have one ARN
		return Caller{ID: identity("cognito", a.IAM.CognitoIdentity.IdentityID)}
	case a.IAM != nil:
		return Caller{ID: iamIdentity(a.IAM.UserARN)}
	}
	for _, name := range []string{"principalId", "sub"} {
		if id, ok := a.Lambda[name].(string); ok && id != "" {
			return Caller{ID: identity("authorizer", id)}
		}
	}
	return Caller{}
}

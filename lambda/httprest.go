package lambda

import (
	"net/url"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// RESTAPI is for a function behind an API Gateway REST API, with a Lambda proxy integration.
//
// The caller is the one of the authorizer (a Cognito pool's issuer and subject, a Lambda authorizer's principalId), of
// IAM (the Cognito identity, else the ARN; see [HTTPAPI] on sessions), or else the owner of the usage plan's API key. An API
// key names an application, and a Lambda authorizer whose principalId is a constant names nobody: whose users differ must
// set the scope by HTTPConfig.Request, or one gets another's answers.
func RESTAPI(r *idempotency.Runner, c HTTPConfig, h Handler[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]) Handler[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse] {
	return through(r, c, door[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
		read: func(e events.APIGatewayProxyRequest) (*HTTPRequest, string, bool) {
			return &HTTPRequest{
				Method: e.HTTPMethod,
				Route:  e.HTTPMethod + " " + e.Resource,
				Path:   e.Path,
				Query:  allValues(e.QueryStringParameters, e.MultiValueQueryStringParameters),
				Header: headersOf(e.Headers, e.MultiValueHeaders),
				Caller: callerOf1(e.RequestContext),
				Event:  e,

				PathParameters: e.PathParameters,
			}, e.Body, e.IsBase64Encoded
		},
		parse: func(_ events.APIGatewayProxyRequest, r events.APIGatewayProxyResponse) response {
			return response{Status: r.StatusCode, Headers: merged(r.Headers, r.MultiValueHeaders), Body: r.Body, Base64: r.IsBase64Encoded}
		},
		answer: func(_ events.APIGatewayProxyRequest, r response) events.APIGatewayProxyResponse {
			return events.APIGatewayProxyResponse{StatusCode: r.Status, MultiValueHeaders: r.Headers, Body: r.Body, IsBase64Encoded: r.Base64}
		},
	}, h)
}

// allValues is the form with all values, of whichever there is.
func allValues(single map[string]string, multi map[string][]string) url.Values {
	if len(multi) > 0 || len(single) == 0 {
		return multi
	}
	return url.Values(listed(single))
}

func callerOf1(c events.APIGatewayProxyRequestContext) Caller {
	claims := map[string]string{}
	if raw, ok := c.Authorizer["claims"].(map[string]any); ok {
		for name, v := range raw {
			if s, ok := v.(string); ok {
				claims[name] = s
			}
		}
	}
	principal, _ := c.Authorizer["principalId"].(string) // another type names nobody
	for _, id := range []string{
		identity("jwt", claims["iss"], claims["sub"]),
		identity("authorizer", principal),
		identity("cognito", c.Identity.CognitoIdentityID), // all of a pool have one ARN
		iamIdentity(c.Identity.UserArn),
		identity("key", c.Identity.APIKeyID),
	} {
		if id != "" {
			return Caller{ID: id, Claims: claims}
		}
	}
	return Caller{}
}

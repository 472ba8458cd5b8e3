// Package frontdoor puts each kind of front door before the payments function, on this machine: with the routes of
// template.yaml where the door has routes, and with an authoriser that takes everybody's word.
package frontdoor

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest"
)

// Door is a front door, and how its clients come in.
type Door struct {
	localtest.FrontDoor

	Path string // of payments, with the API's stage where the path has one

	// CallerHeader and CallerPrefix say how a client called alice says so: by the header, with the value CallerPrefix
	// and "alice".
	CallerHeader, CallerPrefix string
}

// Names are the values of FRONT_DOOR.
func Names() []string { return []string{"http-api", "rest-api", "function-url", "alb"} }

// Routes are the function's, as an API Gateway writes them.
func Routes() []string { return []string{"POST /payments", "GET /payments"} }

// Named returns the door for a value of FRONT_DOOR.
func Named(name string) (Door, error) {
	switch name {
	case "http-api":
		return withTokens("/payments", localtest.FrontDoor{Kind: localtest.HTTPAPI, Routes: Routes()}, func(name string) localtest.Identity {
			return localtest.Identity{Claims: map[string]string{"iss": "https://localhost", "sub": name}}
		}), nil
	case "rest-api":
		return withTokens("/prod/payments", localtest.FrontDoor{Kind: localtest.RESTAPI, Routes: Routes()}, func(name string) localtest.Identity {
			return localtest.Identity{PrincipalID: name}
		}), nil
	case "function-url":
		return withTokens("/payments", localtest.FrontDoor{Kind: localtest.FunctionURL}, func(name string) localtest.Identity {
			return localtest.Identity{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::000000000000:user/" + name}}
		}), nil
	case "alb": // has no authoriser: the header is what its listener's rule writes after a login
		return Door{FrontDoor: localtest.FrontDoor{Kind: localtest.ALB}, Path: "/payments", CallerHeader: "X-Amzn-Oidc-Identity"}, nil
	}
	return Door{}, fmt.Errorf("the front door is %q: must be one of %s", name, strings.Join(Names(), ", "))
}

// withTokens lets in who has a token, which is any name.
func withTokens(path string, d localtest.FrontDoor, identity func(name string) localtest.Identity) Door {
	const header, prefix = "Authorization", "Bearer "
	d.Authorize = func(r *http.Request) (localtest.Identity, error) {
		name, ok := strings.CutPrefix(r.Header.Get(header), prefix)
		if !ok || name == "" {
			return localtest.Identity{}, errors.New("the header Authorization: Bearer NAME is missing")
		}
		return identity(name), nil
	}
	return Door{d, path, header, prefix}
}

package httpevent

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// restAPI is an API Gateway REST API with a Lambda proxy integration.
func restAPI() style {
	internal := message(http.StatusBadGateway, "message", "Internal server error")
	return style{
		maxBody:     gatewayMaxBody,
		https:       true,
		requestID:   "X-Amzn-Requestid",
		contentType: "application/json",
		identity:    []string{"Claims", "PrincipalID", "Context", "IAM", "IAM.CognitoIdentity", "APIKeyID"},
		textContext: true,
		event:       restEvent,
		answer:      restAnswer,

		tooLarge:     document(http.StatusRequestEntityTooLarge, "text/plain", "HTTP content length exceeded 10485760 bytes."),
		eventTooLong: message(http.StatusRequestEntityTooLarge, "message", "Request Too Long"),
		noStage:      message(http.StatusForbidden, "message", "Forbidden"),
		noRoute:      message(http.StatusForbidden, "message", "Missing Authentication Token"),
		unauthorized: message(http.StatusUnauthorized, "message", "Unauthorized"),
		forbidden:    message(http.StatusForbidden, "message", "User is not authorized to access this resource"),
		failed:       internal,
		timedOut:     message(http.StatusGatewayTimeout, "message", "Endpoint request timed out"),
	}
}

func restEvent(d *Door, r *Request, id Identity) any {
	headers, query := r.headers(), r.query(true)
	body, isBase64 := r.text(d.isBinary(r.http.Header.Get("Content-Type")))
	domain, prefix := r.domain()
	return events.APIGatewayProxyRequest{
		Resource:                        r.route.path,
		Path:                            r.path,
		HTTPMethod:                      r.http.Method,
		Headers:                         last(headers),
		MultiValueHeaders:               headers,
		QueryStringParameters:           last(query),
		MultiValueQueryStringParameters: query,
		PathParameters:                  r.params,
		Body:                            body,
		IsBase64Encoded:                 isBase64,
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID:         account,
			ResourceID:        "resource",
			Stage:             d.cfg.Stage,
			DomainName:        domain,
			DomainPrefix:      prefix,
			RequestID:         r.id,
			ExtendedRequestID: r.id,
			Protocol:          r.http.Proto,
			Identity:          restIdentity(r, id),
			ResourcePath:      r.route.path,
			Path:              escapedPath(r.http),
			Authorizer:        restAuthorizer(id),
			HTTPMethod:        r.http.Method,
			RequestTime:       r.time(),
			RequestTimeEpoch:  r.now.UnixMilli(),
			APIID:             apiID,
		},
	}
}

func restIdentity(r *Request, id Identity) events.APIGatewayRequestIdentity {
	out := events.APIGatewayRequestIdentity{
		SourceIP: r.sourceIP(), UserAgent: r.http.UserAgent(),
		APIKeyID: id.APIKeyID, APIKey: r.http.Header.Get("X-Api-Key"),
	}
	if id.IAM != nil {
		out.AccessKey = id.IAM.AccessKey
		out.AccountID = id.IAM.AccountID
		out.Caller = id.IAM.CallerID
		out.User = id.IAM.UserID
		out.UserArn = id.IAM.UserARN
		out.CognitoIdentityID = id.IAM.CognitoIdentity.IdentityID
		out.CognitoIdentityPoolID = id.IAM.CognitoIdentity.IdentityPoolID
	}
	return out
}

func restAuthorizer(id Identity) map[string]any {
	out := maps.Clone(id.Context)
	set := func(name string, value any) {
		if out == nil {
			out = map[string]any{}
		}
		out[name] = value
	}
	if id.PrincipalID != "" {
		set("principalId", id.PrincipalID)
	}
	if id.Claims != nil {
		set("claims", id.Claims)
	}
	return out
}

// isBinary: the API counts this content type as binary. One that a client does not name is JSON.
func (d *Door) isBinary(contentType string) bool {
	t := baseType(contentType)
	if t == "" {
		t = "application/json"
	}
	return slices.ContainsFunc(d.cfg.BinaryMediaTypes, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		group, all := strings.CutSuffix(pattern, "/*")
		return pattern == "*/*" || pattern == t || all && strings.HasPrefix(t, group+"/")
	})
}

// restAnswer: this door alone refuses members that it does not know.
func restAnswer(d *Door, r *Request, payload []byte) Answer {
	m := members(payload)
	for name := range m {
		if !slices.Contains([]string{"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded", "cookies"}, name) {
			return d.failed
		}
	}
	out, err := parse(m)
	if err != nil {
		return d.failed
	}
	// A client that does not ask for a binary type gets the text as the function wrote it.
	out.base64 = out.base64 && d.isBinary(firstType(r.http.Header.Get("Accept")))
	body, err := out.bytes()
	if err != nil {
		return message(http.StatusInternalServerError, "message", "Internal server error")
	}
	h := multiHeaders(out.multi)
	for name, values := range singleHeaders(out.headers) {
		for _, v := range values {
			if !slices.Contains(h[name], v) { // named in both: once
				h.Add(name, v)
			}
		}
	}
	remap(h)
	return d.finish(out.status, h, body)
}

// remap renames the headers that the door keeps to itself.
func remap(h http.Header) {
	for _, name := range []string{"Connection", "Content-Length", "Date", "Server", "User-Agent", "Www-Authenticate"} {
		if values := h.Values(name); len(values) > 0 {
			h["X-Amzn-Remapped-"+name] = values
			h.Del(name)
		}
	}
}

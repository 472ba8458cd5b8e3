package httpevent

import (
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// What an HTTP API and a function URL share: payload format 2.0.

// payload2 is the event of both as far as it is the same; rawPath is not.
func payload2(r *Request, id Identity, rawPath string) events.APIGatewayV2HTTPRequest {
	headers := lower(r.headers())
	body, isBase64 := r.text(!isText(r.http.Header.Get("Content-Type")))
	domain, prefix := r.domain()
	return events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RawPath:               rawPath,
		RawQueryString:        r.http.URL.RawQuery,
		Cookies:               cookies(headers["cookie"]),
		Headers:               joined(headers),
		QueryStringParameters: joined(r.query(true)),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			AccountID:    account,
			Stage:        defaultRoute,
			RequestID:    r.id,
			Authorizer:   authorizer2(id),
			APIID:        apiID,
			DomainName:   domain,
			DomainPrefix: prefix,
			Time:         r.time(),
			TimeEpoch:    r.now.UnixMilli(),
			RouteKey:     defaultRoute,
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method:    r.http.Method,
				Path:      rawPath,
				Protocol:  r.http.Proto,
				SourceIP:  r.sourceIP(),
				UserAgent: r.http.UserAgent(),
			},
		},
		Body:            body,
		IsBase64Encoded: isBase64,
	}
}

func cookies(headers []string) []string {
	var out []string
	for _, h := range headers {
		for c := range strings.SplitSeq(h, ";") {
			if c = strings.TrimSpace(c); c != "" {
				out = append(out, c)
			}
		}
	}
	return out
}

func authorizer2(id Identity) *events.APIGatewayV2HTTPRequestContextAuthorizerDescription {
	out := events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: id.Context, IAM: id.IAM}
	if id.Claims != nil || id.Scopes != nil {
		out.JWT = &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: id.Claims, Scopes: id.Scopes}
	}
	if out.JWT == nil && out.Lambda == nil && out.IAM == nil {
		return nil
	}
	return &out
}

// answer2: without a statusCode whatever the function returned is the body of a 200, also if it is no JSON, as a
// handler's io.Reader may give it.
func answer2(d *Door, _ *Request, payload []byte) Answer {
	m := members(payload)
	if _, ok := m["statusCode"]; !ok {
		return document(http.StatusOK, "application/json", string(payload))
	}
	out, err := parse(m)
	if err != nil {
		return d.failed
	}
	body, err := out.bytes()
	if err != nil {
		return d.failed
	}
	h := singleHeaders(out.headers)
	for _, c := range out.cookies {
		h.Add("Set-Cookie", c)
	}
	return d.finish(out.status, h, body)
}

package lambda_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// C38: what a handler puts into the form of headers that its front door does not send reaches neither the first client nor
// later ones; a REST API sends both.
func TestHTTP_HeadersInTwoForms(t *testing.T) {
	t.Parallel()
	single := map[string]string{"Link": "<a>", "Location": "/1"}
	multi := map[string][]string{"Link": {"<b>", "<c>"}, "Vary": {"Accept"}}
	c := lambda.HTTPConfig{Operation: "pay", Request: global}
	header := map[string]string{"idempotency-key": "k"}
	want := func(t *testing.T, got http.Header, link ...string) {
		t.Helper()
		slices.Sort(got["Link"])
		_, vary := got["Vary"]
		_, location := got["Location"]
		if !slices.Equal(got["Link"], link) || vary != slices.Contains(link, "<b>") || location != slices.Contains(link, "<a>") {
			t.Errorf("replayed %v, want Link %v and what comes with them", got, link)
		}
	}

	rest := lambda.RESTAPI(newFixture(t, idempotency.Config{}).Runner, c, func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		return events.APIGatewayProxyResponse{StatusCode: 200, Headers: single, MultiValueHeaders: multi}, nil
	})
	for range 2 {
		r, err := rest(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/", Headers: header})
		if err != nil {
			t.Fatal(err)
		}
		if r.Headers == nil { // the replay
			want(t, r.MultiValueHeaders, "<a>", "<b>", "<c>")
		}
	}

	api := lambda.HTTPAPI(newFixture(t, idempotency.Config{}).Runner, c, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: single, MultiValueHeaders: multi}, nil
	})
	for i := range 2 {
		e := events.APIGatewayV2HTTPRequest{Headers: header}
		e.RequestContext.HTTP.Method = "POST"
		r, err := api(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			want(t, canonical(r.Headers, r.MultiValueHeaders), "<a>")
		}
	}

	for name, e := range map[string]events.ALBTargetGroupRequest{
		"single": {HTTPMethod: "POST", Path: "/", Headers: header},
		"multi":  {HTTPMethod: "POST", Path: "/", MultiValueHeaders: map[string][]string{"idempotency-key": {"k"}}},
	} {
		alb := lambda.ALB(newFixture(t, idempotency.Config{}).Runner, c, func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			return events.ALBTargetGroupResponse{StatusCode: 200, Headers: single, MultiValueHeaders: multi}, nil
		})
		for i := range 2 {
			r, err := alb(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if got := canonical(r.Headers, r.MultiValueHeaders); i == 1 && name == "single" {
				want(t, got, "<a>")
			} else if i == 1 {
				want(t, got, "<b>", "<c>")
			}
		}
	}
}

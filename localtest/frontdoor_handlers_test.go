package localtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// The handlers of the front doors' tests know events only. Each tells what its event says.

// told is what a handler found in its event.
type told struct {
	Key    string // the idempotency key
	Caller string
	Route  string
	Path   string
	Body   string
	Base64 bool
	ID     string // the request's own, in the event
	Lambda string // and that of the invocation
}

// answer is for every door: what the path asks for.
func (s told) answer(ctx context.Context) (status int, headers map[string]string, body string, err error) {
	switch s.Path {
	case "/fail":
		return 0, nil, "", errors.New("no")
	case "/hang":
		select {}
	case "/exit":
		os.Exit(3)
	case "/charge": // two effects, one after the other
		for _, path := range []string{"/charge", "/mail"} {
			if err := call(ctx, os.Getenv("OUTSIDE")+path); err != nil {
				return 0, nil, "", err
			}
		}
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		s.Lambda = lc.AwsRequestID
	}
	doc, err := json.Marshal(s)
	return http.StatusCreated, map[string]string{"Content-Type": "application/json", "Location": "/payments/7"}, string(doc), err
}

func call(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func handleREST(ctx context.Context, ev events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	s := told{
		Key: ev.Headers["Idempotency-Key"], Route: ev.HTTPMethod + " " + ev.Resource, Path: ev.Path,
		Body: ev.Body, Base64: ev.IsBase64Encoded, ID: ev.RequestContext.RequestID,
	}
	s.Caller, _ = ev.RequestContext.Authorizer["principalId"].(string)
	status, headers, body, err := s.answer(ctx)
	return events.APIGatewayProxyResponse{StatusCode: status, Headers: headers, Body: body}, err
}

func handleHTTP(ctx context.Context, ev events.APIGatewayV2HTTPRequest) (any, error) {
	s := told{
		Key: ev.Headers["idempotency-key"], Route: ev.RouteKey, Path: ev.RawPath,
		Body: ev.Body, Base64: ev.IsBase64Encoded, ID: ev.RequestContext.RequestID,
	}
	if a := ev.RequestContext.Authorizer; a != nil && a.JWT != nil {
		s.Caller = a.JWT.Claims["sub"]
	}
	if s.Path == "/plain" {
		return map[string]string{"no": "response object"}, nil
	}
	status, headers, body, err := s.answer(ctx)
	return events.APIGatewayV2HTTPResponse{StatusCode: status, Headers: headers, Body: body, Cookies: []string{"a=1", "b=2"}}, err
}

func handleURL(ctx context.Context, ev events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	s := told{
		Key: ev.Headers["idempotency-key"], Path: ev.RawPath, Body: ev.Body, Base64: ev.IsBase64Encoded,
		ID: ev.RequestContext.RequestID,
	}
	if a := ev.RequestContext.Authorizer; a != nil {
		s.Caller = a.IAM.UserARN
	}
	status, headers, body, err := s.answer(ctx)
	return events.LambdaFunctionURLResponse{StatusCode: status, Headers: headers, Body: body}, err
}

func handleALB(ctx context.Context, ev events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	s := told{Key: ev.Headers["idempotency-key"], Path: ev.Path, Body: ev.Body, Base64: ev.IsBase64Encoded}
	status, headers, body, err := s.answer(ctx)
	return events.ALBTargetGroupResponse{StatusCode: status, Headers: headers, Body: body}, err
}

// handleSQS succeeds with a message at its third delivery.
func handleSQS(_ context.Context, ev events.SQSEvent) (events.SQSEventResponse, error) {
	failures := []events.SQSBatchItemFailure{}
	for _, m := range ev.Records {
		if m.Attributes["ApproximateReceiveCount"] < "3" {
			failures = append(failures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return events.SQSEventResponse{BatchItemFailures: failures}, nil
}

// longEnough is for what must not end before the test has done something, on a machine that is busy.
const longEnough = time.Minute

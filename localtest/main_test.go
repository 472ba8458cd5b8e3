package localtest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/localtest"
)

// The test binary is its own bootstrap.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		switch os.Getenv("EVENTS") {
		case "":
			lambda.Start(handle)
		case localtest.RESTAPI.String():
			lambda.Start(handleREST)
		case localtest.HTTPAPI.String():
			lambda.Start(handleHTTP)
		case localtest.FunctionURL.String():
			lambda.Start(handleURL)
		case localtest.ALB.String():
			lambda.Start(handleALB)
		case "SQS":
			lambda.Start(handleSQS)
		case "SQS answer":
			lambda.Start(answerBody)
		}
	}
	os.Exit(m.Run())
}

// task is the event of the tests' function.
type task struct {
	Do    string
	Value string
}

type unavailableError struct{ status string }

func (e *unavailableError) Error() string { return e.status }

type cardDeclinedError struct{ code string }

func (e *cardDeclinedError) Error() string { return "card declined: " + e.code }

func handle(ctx context.Context, t task) (string, error) {
	switch t.Do {
	case "echo":
		return t.Value, nil
	case "variable":
		return os.Getenv(t.Value), nil
	case "decline":
		return "", &cardDeclinedError{t.Value}
	case "panic":
		panic(t.Value)
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging")
		select {}
	case "call": // another service, by its URL
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Value, nil)
		if err != nil {
			return "", err
		}
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			req.Header.Set("X-Request-Id", lc.AwsRequestID)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		if resp.StatusCode >= http.StatusInternalServerError {
			return "", &unavailableError{resp.Status}
		}
		return resp.Status, resp.Body.Close()
	case "time":
		return localtest.Now().UTC().Format(time.RFC3339), nil
	case "put":
		return put(ctx, t.Value)
	case "points":
		localtest.Point("before")
		localtest.Point("after")
		return "went on", nil
	case "start":
		var tb recorder
		return tb.run(func() { localtest.StartFunction(&tb, localtest.Bootstrap{}) }), nil
	}
	return "", fmt.Errorf("no task %q", t.Do)
}

package runtimeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// The test binary is its own bootstrap: MODE says how it behaves before it asks for events, the
// event what the handler does.
func TestMain(m *testing.M) {
	api := os.Getenv("AWS_LAMBDA_RUNTIME_API")
	switch mode := os.Getenv("MODE"); {
	case mode == "parent":
		beParent()
	case mode == "child":
		_ = get(context.Background(), http.MethodGet, os.Getenv("URL"), "") // until it is killed
		os.Exit(0)
	case api == "":
		os.Exit(m.Run())
	case mode == "exit":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case mode == "init error":
		if err := get(context.Background(), http.MethodPost, "http://"+api+"/2018-06-01/runtime/init/error", `{"errorType":"Extension.Crash"}`); err == nil {
			os.Exit(4)
		}
	case mode == "hang":
		select {}
	case mode == "one event":
		answerOne("http://" + api + "/2018-06-01/runtime/invocation/")
		_ = get(context.Background(), http.MethodGet, os.Getenv("URL"), "") // until the test lets it go
		os.Exit(0)
	case mode == "init point":
		mustPoint("init")
	}
	lambda.Start(handle)
}

type task struct {
	Do    string
	Value string
}

type brokenStream struct{ r io.Reader }

func (b brokenStream) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		return n, errBroken
	}
	return n, err
}

type brokenError struct{}

func (*brokenError) Error() string { return "the stream broke" }

var errBroken = &brokenError{}

type cardDeclinedError struct{ Code string }

func (e *cardDeclinedError) Error() string { return "card declined: " + e.Code }

func handle(ctx context.Context, t task) (any, error) {
	switch t.Do {
	case "echo":
		return t.Value, nil
	case "context":
		lc, _ := lambdacontext.FromContext(ctx)
		deadline, _ := ctx.Deadline()
		return map[string]any{
			"id": lc.AwsRequestID, "arn": lc.InvokedFunctionArn, "tenant": lc.TenantID,
			"deadline": deadline.UnixMilli(), "name": lambdacontext.FunctionName, "home": os.Getenv("HOME"),
			"left": time.Until(deadline).String(),
		}, nil
	case "decline":
		return nil, &cardDeclinedError{Code: t.Value}
	case "panic":
		panic(t.Value)
	case "exit":
		os.Exit(3)
	case "exit 0":
		os.Exit(0)
	case "hang":
		select {}
	case "get": // says something to the outside, and waits for its answer
		return nil, get(context.WithoutCancel(ctx), http.MethodGet, t.Value, "")
	case "points":
		for name := range strings.SplitSeq(t.Value, ",") {
			mustPoint(name)
		}
		return "went on", nil
	case "child":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		c := exec.CommandContext(context.WithoutCancel(ctx), self)
		c.Env = []string{"MODE=child", "URL=" + t.Value}
		return nil, c.Start()
	case "start children": // until it ends
		go func() {
			for {
				_ = exec.CommandContext(context.Background(), "true").Run()
			}
		}()
		return nil, nil
	case "print and hang":
		_, _ = fmt.Fprintln(os.Stdout, t.Value)
		select {}
	case "print":
		_, _ = fmt.Fprintln(os.Stdout, t.Value)
		return t.Value, nil
	case "stream":
		return strings.NewReader(t.Value), nil
	case "broken stream":
		return brokenStream{strings.NewReader(t.Value)}, nil
	case "large":
		return bytes.NewReader(make([]byte, maxResponse+1)), nil
	}
	return nil, fmt.Errorf("no task %q", t.Do)
}

// answerOne is a runtime that never asks again.
func answerOne(invocation string) {
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, invocation+"next", nil)
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	if err == nil {
		err = get(context.Background(), http.MethodPost, invocation+resp.Header.Get(headerRequestID)+"/response", "1")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mustPoint(name string) {
	if err := Point(os.Getenv(PointsVariable), name); err != nil {
		panic(err)
	}
}

func get(ctx context.Context, method, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// beParent is a program that runs a function and never gets to clean up.
func beParent() {
	f, err := New(Config{})
	if err == nil {
		_, err = f.Invoke(context.Background(), Event{Payload: fmt.Appendf(nil, `{"Do":"get","Value":%q}`, os.Getenv("URL"))})
	}
	fmt.Fprintln(os.Stderr, "the function ended before its parent:", err)
	os.Exit(1)
}

package localtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// A crash, a time-out, an error, and then it works: one request id for all.
func TestDeliver(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: 3 * time.Second})
	ids := make(chan string, 8)
	tries := 0 // one after the other
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("X-Request-Id")
		switch tries++; tries {
		case 1:
			f.Reach("called")
		case 2:
			f.Freeze() // else its own deadline, which is the same, might come first
			<-r.Context().Done()
		case 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(other.Close)
	f.KillAt("called", 1)

	ends, err := f.Deliver(t.Context(), event("call", other.URL), 5)
	if err != nil || len(ends) != 4 {
		t.Fatalf("%d ends, error %v: %+v", len(ends), err, ends)
	}
	for i, want := range []string{"Runtime.ExitError: ", "Sandbox.Timedout: ", "unavailableError: 503"} {
		wantError(t, ends[i], want)
	}
	wantAnswer(t, ends[3], `"200 OK"`)
	for i, end := range ends {
		if id := <-ids; id == "" || id != ends[0].RequestID || end.RequestID != id {
			t.Errorf("try %d: the handler had request id %q, the end has %q, want %q", i+1, id, end.RequestID, ends[0].RequestID)
		}
	}
}

func TestDeliver_GivesUp(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: longEnough})
	ev := event("decline", "stolen")
	ev.RequestID = "given"
	ends, err := f.Deliver(t.Context(), ev, 3)
	if err != nil || len(ends) != 3 {
		t.Fatalf("%d ends, error %v", len(ends), err)
	}
	for _, end := range ends {
		wantError(t, end, "cardDeclinedError: ")
		if end.RequestID != "given" {
			t.Errorf("request id %q", end.RequestID)
		}
	}
	if _, err := f.Deliver(t.Context(), ev, 0); err == nil || !strings.Contains(err.Error(), "tries is 0, must be 1 or more") {
		t.Errorf("no try at all: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ends, err := f.Deliver(ctx, ev, 3); err == nil || len(ends) != 0 {
		t.Errorf("ctx has ended: %d ends, error %v", len(ends), err)
	}
}

// An asynchronous invocation that keeps failing: once, and twice again.
func ExampleFunction_Deliver() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{})
	f.KillAt("before", 1)
	f.KillAt("after", 1)
	ends, err := f.Deliver(context.Background(), localtest.Event{Payload: []byte(`{"Do":"points"}`)}, 3)
	if err != nil {
		t.Errorf("deliver: %v", err)
	}
	for _, r := range ends {
		fmt.Printf("%v, %s\n", r.Error == nil, r.Payload[:min(9, len(r.Payload))])
	}
	fmt.Println("one request id:", !slices.ContainsFunc(ends, func(r localtest.Response) bool { return r.RequestID != ends[0].RequestID }))
	// Output:
	// false, {"errorTy
	// false, {"errorTy
	// true, "went on"
	// one request id: true
}

// SQS delivers a message that failed again: in an invocation of its own, with the same message id and a receive count
// that has risen.
func ExampleFunction_Invoke_redelivery() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{Env: []string{"EVENTS=SQS"}})
	for count := 1; ; count++ {
		r, err := f.Invoke(context.Background(), localtest.Event{Payload: fmt.Appendf(nil, `{"Records":[{
			"messageId":"m1","body":"{}","attributes":{"ApproximateReceiveCount":"%d"},
			"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:payments"}]}`, count)})
		if err != nil {
			t.Fatalf("%v", err)
		}
		fmt.Printf("delivery %d: %s\n", count, r.Payload)
		if r.Error == nil && !strings.Contains(string(r.Payload), "m1") {
			break
		}
	}
	// Output:
	// delivery 1: {"batchItemFailures":[{"itemIdentifier":"m1"}]}
	// delivery 2: {"batchItemFailures":[{"itemIdentifier":"m1"}]}
	// delivery 3: {"batchItemFailures":[]}
}

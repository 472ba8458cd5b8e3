package localtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

func over(url string) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.BaseEndpoint, o.HTTPClient = &url, http.DefaultClient }
}

// Whoever hangs up while a call is served gets the context's error, whatever the database would have said.
func TestClient_CancelledDuringTheCall(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{0, localtest.RequestLost, localtest.ReplyLost, localtest.ServerError, localtest.Throttled, localtest.TruncatedReply} {
		for _, transport := range []string{"in memory", "loopback"} {
			t.Run(kind.String()+" "+transport, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				returned := make(chan struct{})
				fault := localtest.Fault{Operation: "PutItem", Kind: kind, Before: cancel}
				if transport == "loopback" {
					f.client = f.Client(over(f.Listen(t)))
					fault.Before = func() { cancel(); <-returned } // else the answer may come first
				}
				f.Inject(fault)
				err := f.create(ctx, "k")
				close(returned)
				if !errors.Is(err, context.Canceled) || code(err) != "" {
					t.Errorf("%v, want context canceled", err)
				}
			})
		}
	}
}

// When the test is over nothing is served any more: a hook that still ran could use what is gone.
func TestListen_WaitsForItsRequests(t *testing.T) {
	t.Parallel()
	var tb recorder
	f := newFixture(t)
	f.client = f.Client(once, over(f.Listen(&tb)))
	arrived, answered := make(chan struct{}), make(chan struct{})
	f.Inject(localtest.Fault{Operation: "PutItem", Before: func() { close(arrived); <-answered }})
	failed := make(chan error)
	go func() { failed <- f.create(t.Context(), "k") }()
	<-arrived
	go func() {
		if err := <-failed; err == nil { // the connection is closed, the hook goes on
			t.Error("answered")
		}
		close(answered)
	}()
	tb.end()
	if calls := f.Calls("PutItem"); len(calls) != 1 || !calls[0].Applied {
		t.Errorf("calls %+v: the request was not served to its end", calls)
	}
	if err := f.create(t.Context(), "k2"); err == nil {
		t.Error("served after the end")
	}
	if tb.failed {
		t.Errorf("log %q", &tb.log)
	}
}

// Both transports answer alike, a request that cannot be read included.
func TestTransports_AnswerAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url := f.Listen(t)
	for _, body := range []string{`{}`, `{"TableName":5}`, `{"TableName":"` + f.table + `","Item":{"id":{"S":"k"}}}`} {
		var seen []string
		for _, client := range []interface {
			Do(*http.Request) (*http.Response, error)
		}{f.client.Options().HTTPClient, http.DefaultClient} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			_ = res.Body.Close()
			seen = append(seen, fmt.Sprint(res.Status, res.StatusCode, res.Proto, res.ContentLength, res.Header["Content-Type"], res.Header["X-Amz-Crc32"], string(text)))
		}
		if seen[0] != seen[1] {
			t.Errorf("%s:\n in memory %s\n  loopback %s", body, seen[0], seen[1])
		}
	}
	for _, c := range f.Calls("") {
		if !slices.Equal(c.Actions, []string{"dynamodb:PutItem"}) {
			t.Errorf("%+v: actions %q", c, c.Actions)
		}
	}
}

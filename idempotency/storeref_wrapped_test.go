package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// Behind the HTTP wrapper a retry gets the answer that Rebuild makes of the reference, as lambda.HTTPAnswer: its status, its
// headers and its body. So does a client that looks it up. Where it cannot be made now, the client may come again.
func TestStoreRef_HTTP(t *testing.T) {
	t.Parallel()
	f, away, bare := newFixture(t), false, false
	cfg := lambda.HTTPConfig{Operation: "render", Lookup: true, Logger: slog.New(slog.DiscardHandler), Request: func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
		req.Scope = idempotency.GlobalScope
		if bare {
			return nil
		}
		req.Rebuild = func(_ context.Context, ref string) (any, error) {
			if away {
				return nil, errAway
			}
			return lambda.HTTPAnswer(http.StatusCreated, http.Header{"Content-Type": {"image/png"}, "Location": {ref}}, []byte("\x89PNG\xff")), nil
		}
		return nil
	}}
	render := lambda.Middleware(f.worker(t).runner, cfg)(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		f.runs.Add(1)
		if err := idempotency.StoreRef(req.Context(), "/images/7"); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Location", "/images/7")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("\x89PNG\xff"))
	}))
	send := func(method string) *httptest.ResponseRecorder {
		var body string
		if method == http.MethodPost {
			body = `{"of":7}`
		}
		req := httptest.NewRequestWithContext(t.Context(), method, "/images", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", `"k1"`)
		w := httptest.NewRecorder()
		render.ServeHTTP(w, req)
		return w
	}
	first := send(http.MethodPost)
	for _, again := range []*httptest.ResponseRecorder{send(http.MethodPost), send(http.MethodGet)} {
		if again.Code != http.StatusCreated || again.Body.String() != first.Body.String() || again.Header().Get("Location") != "/images/7" ||
			again.Header().Get("Content-Type") != "image/png" || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed %d %v %q, first %d %v", again.Code, again.Header(), again.Body, first.Code, first.Header())
		}
	}
	if stored := f.whole(t); len(stored) != 1 || stored[0].text("data") != "/images/7" {
		t.Errorf("stored %v", stored)
	}
	away = true
	if w := send(http.MethodPost); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), errAway.Error()) {
		t.Errorf("without the bucket %d %v %s", w.Code, w.Header(), w.Body)
	}
	bare = true
	if w := send(http.MethodPost); w.Code != http.StatusInternalServerError {
		t.Errorf("without Rebuild %d %s", w.Code, w.Body)
	}
	f.wantRuns(t, 1)
}

// A batch's handler has no answer; one that stores a reference all the same is asked for nothing but that it can be followed.
func TestStoreRef_Batch(t *testing.T) {
	t.Parallel()
	f, away := newFixture(t), false
	ship := lambda.SQS(f.worker(t).runner, lambda.Batch{Operation: "ship"}, func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Key: m.MessageId, Rebuild: func(_ context.Context, ref string) (any, error) {
			if away || ref != "order "+m.MessageId {
				return nil, errAway
			}
			return nil, nil
		}}, nil
	}, func(ctx context.Context, m events.SQSMessage) error {
		f.runs.Add(1)
		return idempotency.StoreRef(ctx, "order "+m.MessageId)
	})
	event := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "a", Body: "1", EventSourceARN: "arn:aws:sqs:eu-west-1:123456789012:orders", EventSource: "aws:sqs"},
		{MessageId: "b", Body: "2", EventSourceARN: "arn:aws:sqs:eu-west-1:123456789012:orders", EventSource: "aws:sqs"},
	}}
	for range 2 {
		if out, err := ship(t.Context(), event); err != nil || len(out.BatchItemFailures) != 0 {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	away = true
	if out, err := ship(t.Context(), event); err != nil || len(out.BatchItemFailures) != 2 {
		t.Errorf("got %+v, %v; want both messages again", out, err)
	}
	f.wantRuns(t, 2)
}

// A replay that nobody can make is told as one that could not be, not as a replay.
func TestStoreRef_EventWithoutRebuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, rebuilt := newFixture(t), 0
		req := rebuilding(request("k"), &rebuilt)
		w := f.worker(t)
		w.must(localtest.Invocation(t, time.Second), t, req, storesRef("s3://b/1"))
		f.quiet()
		req.Rebuild = nil
		_, err := w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
		if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
			t.Errorf("got %v", err)
		}
		f.wantKinds(t, idempotency.KindStoreFailure)
	})
}

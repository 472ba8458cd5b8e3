package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// Transactions behind each door: the answer commits with what was staged, and an HTTPError says what a condition means.

// inTx asks for a transaction. The caller is that of the door.
func inTx(mode idempotency.TxMode) func(context.Context, *lambda.HTTPRequest, *idempotency.Request) error {
	return func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
		if req.Scope == "" {
			req.Scope = q.Header.Get("X-Session")
		}
		req.Tx = mode
		return nil
	}
}

// row is a place in the fixture's table that is no record: its key is the only thing about it.
func row(t *testing.T, f fixture, id string) bool {
	t.Helper()
	out, err := f.db.Client().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}

// C47 through HTTP.
func TestHTTP_Transactions(t *testing.T) {
	t.Parallel()
	tooMuch := &lambda.HTTPError{Status: http.StatusPaymentRequired, Header: http.Header{"Content-Type": {"text/plain"}, "Set-Cookie": {"s=1"}}, Body: "too much"}
	type key struct {
		ID string `dynamodbav:"id"`
	}
	for name, mode := range map[string]idempotency.TxMode{"none": 0, "claimed": idempotency.Claimed, "single-shot": idempotency.SingleShot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Request: inTx(mode)}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
				var otherwise error
				runs := 0
				g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
					runs++
					tx := idempotency.TxFrom(ctx)
					tx.Put(f.table, key{"row"}).If("attribute_not_exists(id)").Else(otherwise)
					return created(runs), nil
				})
				otherwise = idempotency.Terminal(tooMuch)
				for range 2 {
					if r := must(t, g, pay("k1")); r.status != 201 || r.body != created(1).body {
						t.Errorf("got %+v", r)
					}
				}
				once := mode != idempotency.SingleShot // whose handler runs for a replay, too
				if !row(t, f, "row") || once && runs != 1 {
					t.Errorf("row %v, %d runs", row(t, f, "row"), runs)
				}
				for _, replayed := range []string{"", "true"} { // recorded, and replayed as an answer
					r := must(t, g, pay("k2"))
					if r.status != 402 || r.body != "too much" || r.header.Get("Content-Type") != "text/plain" || r.header.Get("Idempotent-Replayed") != replayed || (r.header.Get("Set-Cookie") == "") != (replayed == "true") {
						t.Errorf("want replayed %q, got %+v", replayed, r)
					}
				}
				otherwise = tooMuch
				for range 2 { // not recorded
					if r := must(t, g, pay("k3")); r.status != 402 || r.header.Get("Idempotent-Replayed") != "" {
						t.Errorf("got %+v", r)
					}
				}
				if once && runs != 4 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// A commit that is refused, where the user's Classify takes that for ambiguous: the client hears of the unknown, as from a
// handler that returns such an error.
func TestHTTP_RefusedCommitIsAmbiguous(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{Classify: func(error) idempotency.Class { return idempotency.Ambiguous }})
	g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
		idempotency.TxFrom(ctx).Put(f.table, map[string]string{"id": "row"})
		return created(1), nil
	})
	f.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AccessDenied})
	for range 2 {
		wantProblem(t, must(t, g, pay("k")), 409, "outcome_unknown", false)
	}
}

// A commit whose outcome cannot be read back: the client is not told that nothing was run, and is asked to come again.
func TestHTTP_CommittedAndUnreadable(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]idempotency.TxMode{"claimed": idempotency.Claimed, "single shot": idempotency.SingleShot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{Inline: 8})
			g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{Request: inTx(mode)}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
				idempotency.TxFrom(ctx).Put(f.table, map[string]string{"id": "row"})
				return created(1), nil
			})
			var committed atomic.Bool
			f.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.ReplyLost, After: func() { committed.Store(true) }})
			f.db.Inject(localtest.Fault{Kind: localtest.AccessDenied, Times: -1, Match: func(c localtest.Call) bool {
				return committed.Load() && (c.Operation == "TransactWriteItems" || c.Operation == "GetItem")
			}})
			wantProblem(t, must(t, g, pay("k")), 503, "idempotency_unconfirmed", true)
			f.db.ClearFaults()
			if r := must(t, g, pay("k")); r.status != 201 || !row(t, f, "row") {
				t.Errorf("the same request, when the table can be read: %+v", r)
			}
		})
	}
}

// An HTTPError is an error: a handler's is released or recorded by its mark, whatever its status, and so is one of
// HTTPConfig.Request's, after which nothing runs.
func TestHTTP_HTTPError(t *testing.T) {
	t.Parallel()
	forbidden := &lambda.HTTPError{Status: http.StatusForbidden, Body: "no"}
	atEventDoors(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		g := open(lambda.HTTPConfig{}, func(_ context.Context, q *lambda.HTTPRequest) (reaction, error) {
			runs++
			if string(q.Body) == "final" {
				return reaction{}, idempotency.Terminal(forbidden)
			}
			return reaction{}, forbidden
		})
		for range 2 {
			if r := must(t, g, pay("k1")); r.status != 403 || r.body != "no" || r.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("got %+v", r)
			}
		}
		for _, replayed := range []string{"", "true"} {
			if r := must(t, g, pay("k2").with(func(c *call) { c.body = "final" })); r.status != 403 || r.body != "no" || r.header.Get("Idempotent-Replayed") != replayed {
				t.Errorf("got %+v", r)
			}
		}
		if runs != 3 {
			t.Errorf("%d runs", runs)
		}
		calls := len(f.db.Calls(""))
		refuses := open(lambda.HTTPConfig{Request: func(context.Context, *lambda.HTTPRequest, *idempotency.Request) error { return forbidden }}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			t.Error("it ran")
			return reaction{}, nil
		})
		if r := must(t, refuses, pay("k3")); r.status != 403 || r.body != "no" || len(f.db.Calls("")) != calls {
			t.Errorf("got %+v", r)
		}
	})
	wrapped := errors.Join(errors.New("while paying"), &lambda.HTTPError{Status: 7})
	g := doors["HTTPAPI"](t, newFixture(t, idempotency.Config{}).Runner, lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, wrapped })
	if _, err := g(t.Context(), pay("k")); err != wrapped { //nolint:errorlint // untouched: 7 is no status
		t.Errorf("got %v", err)
	}
}

// The handler finds what the wrapper has read: the caller, and the body decoded.
func TestRequestFrom(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			q := lambda.RequestFrom(ctx)
			if q == nil || string(q.Body) != `{"amount":5}` || q.Method != http.MethodPost || q.Event == nil {
				t.Errorf("got %+v", q)
			}
			return created(1), nil
		})
		must(t, g, pay("k"))
	})
	atEventDoors(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			if q := lambda.RequestFrom(ctx); string(q.Body) != `{"amount":5}` {
				t.Errorf("got %+v", q)
			}
			return created(1), nil
		})
		must(t, g, pay("k").with(func(c *call) { c.base64 = true }))
	})
	if lambda.RequestFrom(t.Context()) != nil {
		t.Error("a request outside of a handler")
	}
}

// An error of another package that looks like an HTTPError is none: its text is not handed out on replay.
func TestHTTP_OthersHTTPError(t *testing.T) {
	t.Parallel()
	type HTTPError struct {
		error
		Status int
		Body   string
	}
	own := &HTTPError{errors.New("upstream"), 200, "secret"}
	f := newFixture(t, idempotency.Config{})
	g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		return reaction{}, idempotency.Terminal(own)
	})
	for range 2 {
		if r, err := g(t.Context(), pay("k")); err == nil || r.body != "" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

// What is recorded of an HTTPError has no headers that are never recorded, and an answer without a status cannot be resolved to.
func TestHTTPError_Recorded(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(&lambda.HTTPError{Status: 402, Header: http.Header{"Set-Cookie": {"s=1"}, "Authorization": {"b"}, "X-Own": {"c"}}})
	if err != nil || string(text) != `{"Status":402,"Header":{"X-Own":["c"]},"Body":""}` {
		t.Errorf("%s, %v", text, err)
	}
	r := newFixture(t, idempotency.Config{}).Runner
	rec := idempotency.Record{ID: "pay#1", Token: "T"}
	if err := r.Resolve(t.Context(), rec, idempotency.Completed(lambda.HTTPAnswer(0, nil, nil))); err == nil || !strings.Contains(err.Error(), "must be 100 to 999") {
		t.Errorf("resolved: %v", err)
	}
}

// A step has begun under Claimed, and its run leaves the outcome unknown: the policy decides, and the client is told so.
func TestHTTP_UnknownAfterAStep(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Request: inTx(idempotency.Claimed)}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			_, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil })
			return reaction{status: http.StatusBadGateway}, err
		})
		for range 2 {
			wantProblem(t, must(t, g, pay("k")), 409, "outcome_unknown", false)
		}
	})
}

// A step tells a late attempt that another one is at work: its client is told to come again, as if the outcome had been lost
// at the end.
func TestHTTP_LeaseLostInAStep(t *testing.T) {
	t.Parallel()
	atEventDoors(t, lambda.HTTPConfig{Request: rerunning}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		_, r, err := takenOver(t, open, func(ctx context.Context, takeOver func()) (reaction, error) {
			_, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
				takeOver()
				return "ch_1", nil
			})
			return reaction{}, err
		}, func() (reaction, error) {
			<-time.After(time.Minute)
			return created(2), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, r, 409, "operation_in_progress", true)
	})
}

package lambda_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// The handler says that it has done nothing.
func TestHTTP_NotStarted(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			runs++
			lambda.NotStarted(ctx)
			return reaction{status: 400, body: "amount is missing"}, nil
		})
		for range 2 {
			if r := must(t, g, pay("k")); r.status != 400 || r.body != "amount is missing" {
				t.Errorf("got %+v", r)
			}
		}
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

// The handler's error: it does not know; nothing is left of it; it is final.
func TestHTTP_HandlersErrors(t *testing.T) {
	t.Parallel()
	errDeclined := errors.New("declined")
	atEventDoors(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		var do handling
		runs := 0
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, q *lambda.HTTPRequest) (reaction, error) { runs++; return do(ctx, q) })

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Unknown(errDeclined)
		}
		for range 2 {
			wantProblem(t, must(t, g, pay("unknown")), 409, "outcome_unknown", false)
		}
		do = func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			<-ctx.Done()
			return reaction{}, ctx.Err()
		}
		for range 2 {
			wantProblem(t, must(t, g, pay("out-of-time")), 409, "outcome_unknown", false)
		}
		if runs != 2 {
			t.Errorf("unknown: %d runs", runs)
		}

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, errDeclined }
		for range 2 {
			if _, err := g(localtest.Invocation(t, time.Second), pay("released")); err != errDeclined { //nolint:errorlint // untouched
				t.Errorf("released: %v", err)
			}
		}
		if runs != 4 {
			t.Errorf("released: %d runs", runs-2)
		}

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Terminal(errDeclined)
		}
		for range 2 {
			if _, err := g(localtest.Invocation(t, time.Second), pay("terminal")); err == nil || !strings.Contains(err.Error(), "declined") {
				t.Errorf("terminal: %v", err)
			}
		}
		if runs != 5 {
			t.Errorf("terminal: %d runs", runs-4)
		}

		// Its own request of the protocol that failed is the handler's error, not this request's state.
		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Safe(&idempotency.StateError{Err: idempotency.ErrMismatch})
		}
		if _, err := g(localtest.Invocation(t, time.Second), pay("nested")); !errors.Is(err, idempotency.ErrMismatch) {
			t.Errorf("nested: %v", err)
		}
	})
}

// The states of the record, as clients hear of them.
func TestHTTP_States(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, q *lambda.HTTPRequest) (reaction, error) {
			if string(q.Body) == `{"slow":1}` {
				<-ctx.Done()
				return reaction{status: http.StatusGatewayTimeout}, nil
			}
			return created(1), nil
		})
		slow := pay("slow").with(func(c *call) { c.body = `{"slow":1}` })
		var first reaction
		done := make(chan struct{})
		go func() {
			defer close(done)
			first, _ = g(localtest.Invocation(t, 10*time.Second), slow)
		}()
		synctest.Wait()
		wantProblem(t, must(t, g, slow), 409, "operation_in_progress", true)
		<-done
		wantProblem(t, first, 409, "outcome_unknown", false) // of this very run: its time was over
		wantProblem(t, must(t, g, slow), 409, "outcome_unknown", false)

		f.db.Inject(localtest.Fault{Kind: localtest.AccessDenied, Times: -1})
		wantProblem(t, must(t, g, pay("denied")), 503, "idempotency_unavailable", true)
		f.db.ClearFaults()

		f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Times: -1})
		wantProblem(t, must(t, g, pay("not-recorded")), 500, "outcome_not_recorded", false)
		f.db.ClearFaults()

		short, err := g(localtest.Invocation(t, 20*time.Millisecond), pay("no-time"))
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, short, 503, "idempotency_unavailable", true)
	})
}

// 100 at once: one charge, and otherwise replays or 409s. Two tenants with one key never meet (I11).
func TestHTTP_AtOnce(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		var charges atomic.Int32
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(time.Second)
			return created(int(charges.Add(1))), nil
		})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				<-time.After(time.Duration(i) * 20 * time.Millisecond)
				r, err := g(localtest.Invocation(t, 10*time.Second), pay("k"))
				if err != nil || r.status != 201 && r.status != 409 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		all.Wait()
		if charges.Load() != 1 {
			t.Errorf("%d charges", charges.Load())
		}
		other := must(t, g, pay("k").with(func(c *call) { c.caller = "bob" }))
		if other.header.Get("Idempotent-Replayed") != "" || charges.Load() != 2 {
			t.Errorf("another tenant got %+v", other)
		}
	})
}

// C50: the gateway gives up, the function goes on and completes; a retry in between waits, a later one replays.
func TestHTTP_Waits(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Wait: 20 * time.Second}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(35 * time.Second)
			return created(1), nil
		})
		go func() { _, _ = g(localtest.Invocation(t, time.Minute), pay("k")) }()
		<-time.After(29 * time.Second)
		r, err := g(localtest.Invocation(t, time.Minute), pay("k"))
		if err != nil || r.status != 201 || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestHTTP_Lookup(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Operation: "pay", Lookup: true}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(time.Second)
			return created(1), nil
		})
		ask := func(key string) reaction {
			return must(t, g, pay(key).with(func(c *call) { c.method, c.body = "GET", "" }))
		}
		wantProblem(t, ask("k"), 404, "idempotency_key_not_found", false)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g(localtest.Invocation(t, time.Minute), pay("k"))
		}()
		synctest.Wait()
		wantProblem(t, ask("k"), 409, "operation_in_progress", true)
		<-done
		head := must(t, g, pay("k").with(func(c *call) { c.method, c.body = "HEAD", "" }))
		if head.status != 201 || head.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("HEAD: %+v", head)
		}
		for _, method := range []string{"GET", "HEAD"} { // the handler may not look at the method
			plain := must(t, g, pay("k").with(func(c *call) { c.method, c.body = method, ""; c.header.Del("Idempotency-Key") }))
			wantProblem(t, plain, 400, "idempotency_key_missing", false)
		}
		if r := ask("k"); r.status != 201 || r.body != created(1).body || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("got %+v", r)
		}
	})
}

// What cannot be right is said when the first request comes, to the log and not to the client.
func TestHTTP_Misconfigured(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{}).Runner
	for want, c := range map[string]lambda.HTTPConfig{
		"HTTPConfig.Reused is 400":                  {Reused: 400},
		"HTTPConfig.Wait is 21s":                    {Wait: 21 * time.Second},
		"HTTPConfig.OldestKey is -1ns":              {OldestKey: -1},
		"HTTPConfig.Lookup is set: needs Operation": {Lookup: true},
		"HTTPConfig.Headers is set-cookie":          {Headers: []string{"set-cookie"}},
	} {
		for name, open := range doors {
			if c.Lookup && name != "HTTPAPI" && name != "RESTAPI" && name != middleware {
				continue // the tests' other doors set Operation
			}
			var log strings.Builder
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			wantProblem(t, must(t, open(t, r, c, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, nil }), pay("k")), 500, "idempotency_misconfigured", false)
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: log %s, want %s", name, &log, want)
			}
		}
	}
	var log strings.Builder
	g := doors["HTTPAPI"](t, r, lambda.HTTPConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		t.Error("it ran")
		return reaction{}, nil
	})
	nobody := pay("secret-key").with(func(c *call) { c.caller = "" })
	res := must(t, g, nobody)
	wantProblem(t, res, 500, "idempotency_misconfigured", false)
	if !strings.Contains(log.String(), "HTTPConfig.Request") || strings.Contains(res.body, "HTTPConfig") || strings.Contains(log.String(), "secret-key") {
		t.Errorf("log %s\nclient %s", &log, res.body)
	}
}

// What cannot be handed out is said so, and is no answer of its own.
func TestHTTP_Unreplayable(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{status: 200, body: strings.Repeat("x", 8<<20)}, nil
		})
		if r := must(t, g, pay("large")); r.status != 200 || len(r.body) != 8<<20 {
			t.Errorf("the first answer: %d with %d bytes", r.status, len(r.body))
		}
		wantProblem(t, must(t, g, pay("large")), 409, "outcome_not_stored", false)

		small := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil })
		must(t, small, pay("damaged"))
		out, err := f.db.Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			item["data"] = &types.AttributeValueMemberS{Value: `"no answer"`}
			if _, err := f.db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		wantProblem(t, must(t, small, pay("damaged")), 500, "outcome_unreadable", false)
	})
}

// An error of the handler's is its own, of whatever type: also one that cannot be compared.
func TestHTTP_UncomparableError(t *testing.T) {
	t.Parallel()
	own := listError{"a"}
	atEventDoors(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		for key, err := range map[string]error{"plain": own, "safe": idempotency.Safe(own), "terminal": idempotency.Terminal(own)} {
			g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, err })
			_, got := g(localtest.Invocation(t, time.Second), pay(key))
			if _, is := got.(listError); !is { //nolint:errorlint // untouched
				t.Errorf("%s: %v", key, got)
			}
		}
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Unknown(own)
		})
		wantProblem(t, must(t, g, pay("unknown")), 409, "outcome_unknown", false)
	})
}

type listError []string

func (e listError) Error() string { return strings.Join(e, ", ") }

func TestHTTP_ReusedAsConflict(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Reused: 409}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil })
		must(t, g, pay("k"))
		wantProblem(t, must(t, g, pay("k").with(func(c *call) { c.body = "other" })), 409, "idempotency_key_reused", false)
	})
}

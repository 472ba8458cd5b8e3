package lambda_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// A handler whose time is over was stopped in the middle, whatever it makes of that: an answer that would release the key, as a
// 500 does, must not let the next request charge again (I5). A final answer is one, and NotStarted is believed.
func TestHTTP_TimeIsOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		notStarted bool
		want       string
	}{
		"500":                 {500, false, "unknown"},
		"503":                 {503, false, "unknown"},
		"408":                 {408, false, "unknown"},
		"409":                 {409, false, "unknown"},
		"201":                 {201, false, "replay"},
		"402":                 {402, false, "replay"},
		"503 before it began": {503, true, "rerun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
					runs++
					if c.notStarted {
						lambda.NotStarted(ctx)
					}
					<-ctx.Done()
					return reaction{status: c.status, body: fmt.Sprint(runs)}, nil
				})
				first, second := must(t, g, pay("k")), must(t, g, pay("k"))
				switch c.want {
				case "unknown":
					wantProblem(t, first, 409, "outcome_unknown", false)
					wantProblem(t, second, 409, "outcome_unknown", false)
				case "replay":
					if first.status != c.status || second.status != c.status || second.body != "1" || runs != 1 {
						t.Errorf("first %+v, second %+v, %d runs", first, second, runs)
					}
				case "rerun":
					if first.status != c.status || second.body != "2" || runs != 2 {
						t.Errorf("first %+v, second %+v, %d runs", first, second, runs)
					}
				}
			})
		})
	}
}

// The same for a client of net/http's that hangs up: its context ends the handler's.
func TestMiddleware_ClientHangsUp(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	runs := 0
	url := served(t, lambda.HTTPConfig{}, func(w http.ResponseWriter, r *http.Request) {
		runs++
		close(began)
		<-r.Context().Done()
		http.Error(w, "no answer", http.StatusInternalServerError)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/payments/1", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = http.Header{"Idempotency-Key": {"k"}, "X-Session": {"alice"}}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("status %d", resp.StatusCode)
		}
	}()
	<-began
	hangUp()
	<-gone
	r := send(t, url+"/payments/1", "")
	for giveUp := time.After(time.Minute); r.header.Get("Retry-After") != ""; r = send(t, url+"/payments/1", "") {
		select { // until the first one is recorded
		case <-giveUp:
			t.Fatalf("still %+v", r)
		default:
		}
	}
	wantProblem(t, r, http.StatusConflict, "outcome_unknown", false)
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

// OutcomeUnknown outweighs status, preset and NotStarted.
func TestHTTP_OutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 402, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Record: lambda.RecordStripe}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
					runs++
					lambda.NotStarted(ctx)
					lambda.OutcomeUnknown(ctx)
					return reaction{status: status}, nil
				})
				for range 2 {
					wantProblem(t, must(t, g, pay("k")), 409, "outcome_unknown", false)
				}
				if runs != 1 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
	lambda.OutcomeUnknown(t.Context()) // outside of a handler
	if got := idempotency.AttemptFrom(localtest.Invocation(t, time.Second)).RecordID(); got != "" {
		t.Errorf("outside of a handler: record %q", got)
	}
}

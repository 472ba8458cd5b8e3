package lambda_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// rerunning lets another attempt take over when a lease has ended. The caller is that of the door.
func rerunning(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	if req.Scope == "" {
		req.Scope = q.Header.Get("X-Session")
	}
	req.OnUnknown = idempotency.Rerun
	return nil
}

// takenOver sends a payment whose attempt outlives its lease: when late calls takeOver, a minute goes by, and a second attempt
// has ended as winner does, or is at work, when it returns.
func takenOver(t *testing.T, open func(lambda.HTTPConfig, handling) gate, late func(ctx context.Context, takeOver func()) (reaction, error), winner func() (reaction, error)) (runs int, r reaction, err error) {
	t.Helper()
	var g gate
	ended := make(chan struct{}) // the second attempt
	takeOver := func() {
		<-time.After(time.Minute) // does not look at its context
		go func() {
			defer close(ended)
			_, _ = g(localtest.Invocation(t, time.Hour), pay("k"))
		}()
		synctest.Wait()
	}
	g = open(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
		if runs++; runs == 1 {
			return late(ctx, takeOver)
		}
		return winner()
	})
	r, err = g(localtest.Invocation(t, 10*time.Second), pay("k"))
	if runs > 0 {
		<-ended
	}
	return runs, r, err
}

// C03, I4: an attempt outlives its lease, another one takes over. The late one's client gets what the winner has recorded,
// whatever its own handler says; and if there is nothing, it is told to come again.
func TestHTTP_LeaseLost(t *testing.T) {
	t.Parallel()
	const atWork = -1 // the winner, still
	for name, c := range map[string]struct {
		late, winner int // the statuses of their answers
		want         string
	}{
		"to a success":                {201, 201, "winner"},
		"to a refusal":                {201, 402, "winner"},
		"a failure to a success":      {500, 201, "winner"},
		"an ambiguity to a success":   {504, 201, "winner"},
		"a refusal to a success":      {402, 201, "winner"},
		"to one that is at work":      {201, atWork, "come again"},
		"a refusal to one at work":    {402, atWork, "come again"},
		"to one that was released":    {201, 500, "come again"},
		"to one that left it open":    {201, 504, "come again"},
		"a failure to one at work":    {500, atWork, "own"},
		"a failure to a released one": {500, 503, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Request: rerunning}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs, r, err := takenOver(t, open, func(_ context.Context, takeOver func()) (reaction, error) {
					takeOver()
					return reaction{status: c.late, body: "late", header: http.Header{"X-Request-Id": {"late"}}}, nil
				}, func() (reaction, error) {
					if c.winner == atWork {
						<-time.After(time.Minute)
					}
					return reaction{status: max(c.winner, 200), body: "winner", header: http.Header{"Location": {"/payments/2"}}}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				switch c.want {
				case "winner":
					if r.status != c.winner || r.body != "winner" || r.header.Get("Location") != "/payments/2" || r.header.Get("Idempotent-Replayed") != "true" || r.header.Get("X-Request-Id") != "" {
						t.Errorf("got %+v", r)
					}
				case "come again":
					wantProblem(t, r, http.StatusConflict, "operation_in_progress", true)
				case "own":
					if r.status != c.late || r.body != "late" || r.header.Get("X-Request-Id") != "late" {
						t.Errorf("got %+v", r)
					}
				}
				if runs != 2 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// The same for a handler that returns an error, or whose winner has recorded one.
func TestHTTP_LeaseLostAndErrors(t *testing.T) {
	t.Parallel()
	errLate, errWinner := errors.New("late"), errors.New("winner")
	for name, c := range map[string]struct {
		late, winner error // nil: an answer
		atWork       bool  // the winner, still
		want         string
	}{
		"an error to a success":          {errLate, nil, false, "winner's answer"},
		"a failure to a success":         {idempotency.Terminal(errLate), nil, false, "winner's answer"},
		"an ambiguity to a success":      {idempotency.Unknown(errLate), nil, false, "winner's answer"},
		"a success to a failure":         {nil, idempotency.Terminal(errWinner), false, "winner's failure"},
		"an error to a failure":          {errLate, idempotency.Terminal(errWinner), false, "winner's failure"},
		"a failure to a failure":         {idempotency.Terminal(errLate), idempotency.Terminal(errWinner), false, "winner's failure"},
		"a failure to one at work":       {idempotency.Terminal(errLate), nil, true, "come again"},
		"a success to one that released": {nil, errWinner, false, "come again"},
		"an error to one at work":        {errLate, nil, true, "own"},
		"an error to one that released":  {errLate, errWinner, false, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEventDoors(t, lambda.HTTPConfig{Request: rerunning}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				_, r, err := takenOver(t, open, func(_ context.Context, takeOver func()) (reaction, error) {
					takeOver()
					return created(1), c.late
				}, func() (reaction, error) {
					if c.atWork {
						<-time.After(time.Minute)
					}
					return created(2), c.winner
				})
				switch c.want {
				case "winner's answer":
					if err != nil || r.body != created(2).body || r.header.Get("Idempotent-Replayed") != "true" {
						t.Errorf("got %+v, %v", r, err)
					}
				case "winner's failure":
					if err == nil || !strings.Contains(err.Error(), "winner") {
						t.Errorf("got %+v, %v", r, err)
					}
				case "come again":
					if err != nil {
						t.Fatal(err)
					}
					wantProblem(t, r, http.StatusConflict, "operation_in_progress", true)
				case "own":
					if err != errLate { //nolint:errorlint // untouched
						t.Errorf("got %+v, %v", r, err)
					}
				}
			})
		})
	}
}

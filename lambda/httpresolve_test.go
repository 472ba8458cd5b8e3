package lambda_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// A reconciler says what the client of an unknown is to be told: behind every front door the retry gets that answer, marked
// as a replay, and the handler does not run again.
func TestHTTP_Resolved(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		as   idempotency.Resolution
		want reaction
		body string // decoded
		runs int
	}{
		"text": {
			idempotency.Completed(lambda.HTTPAnswer(http.StatusCreated, http.Header{"Content-Type": {"application/json"}, "Location": {"/payments/1"}}, []byte(`{"id":"ch_1"}`))),
			reaction{status: http.StatusCreated, header: http.Header{"Content-Type": {"application/json"}, "Location": {"/payments/1"}}},
			`{"id":"ch_1"}`, 1,
		},
		"bytes": {
			idempotency.Completed(lambda.HTTPAnswer(http.StatusOK, http.Header{"Content-Type": {"image/png"}}, []byte("\x89PNG\xff"))),
			reaction{status: http.StatusOK, header: http.Header{"Content-Type": {"image/png"}}},
			"\x89PNG\xff", 1,
		},
		"nothing": {idempotency.Completed(lambda.HTTPAnswer(http.StatusNoContent, nil, nil)), reaction{status: http.StatusNoContent}, "", 1},
		"failed": {
			idempotency.Failed(&lambda.HTTPError{Status: http.StatusPaymentRequired, Body: `{"code":"declined"}`}),
			reaction{status: http.StatusPaymentRequired},
			`{"code":"declined"}`, 1,
		},
		"not done": {idempotency.NotDone(), reaction{status: http.StatusAccepted}, "ran again", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, door func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := door(lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
					if runs++; runs == 1 {
						return reaction{status: http.StatusBadGateway, header: http.Header{}}, nil
					}
					return reaction{status: http.StatusAccepted, header: http.Header{}, body: "ran again"}, nil
				})
				wantProblem(t, must(t, g, pay("k-1")), http.StatusConflict, "outcome_unknown", false)
				found := 0
				for rec, err := range f.Unknowns(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if err := f.Resolve(localtest.Invocation(t, 3*time.Second), rec, tt.as); err != nil {
						t.Fatal(err)
					}
					found++
				}
				if found != 1 {
					t.Fatalf("found %d", found)
				}
				r := must(t, g, pay("k-1"))
				if body := string(r.bytes()); r.status != tt.want.status || body != tt.body {
					t.Errorf("got %d %q, want %d %q", r.status, body, tt.want.status, tt.body)
				}
				for header, values := range tt.want.header {
					if r.header.Get(header) != values[0] {
						t.Errorf("%s is %q, want %q", header, r.header.Get(header), values[0])
					}
				}
				if replayed := r.header.Get("Idempotent-Replayed") == "true"; replayed != (tt.runs == 1) {
					t.Errorf("replayed %v: %v", replayed, r.header)
				}
				if runs != tt.runs {
					t.Errorf("the handler ran %d times, want %d", runs, tt.runs)
				}
			})
		})
	}
}

package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// whoever stands for an authentication: everybody is alice.
func whoever(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
	req.Scope = "alice"
	return nil
}

// post sends a payment with a key to a net/http handler, and prints what comes back.
func post(h http.Handler, key string) {
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/payments", strings.NewReader(`{"amount":4990}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	body, _, _ := strings.Cut(w.Body.String(), "\n")
	if _, after, isProblem := strings.Cut(body, `"code":"`); isProblem {
		body, _, _ = strings.Cut(after, `"`)
	}
	fmt.Println(w.Code, w.Header().Get("Idempotent-Replayed"), body)
}

// What each of the three policies makes of an answer's status.
func ExampleRecordDefault() {
	names := map[idempotency.Class]string{idempotency.Recorded: "recorded", idempotency.Released: "released", idempotency.Ambiguous: "unknown"}
	fmt.Printf("%-6s %-9s %-9s %s\n", "", "default", "stripe", "success")
	for _, status := range []int{http.StatusCreated, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway} {
		fmt.Printf("%-6d %-9s %-9s %s\n", status, names[lambda.RecordDefault(status)], names[lambda.RecordStripe(status)], names[lambda.RecordSuccess(status)])
	}
	// Output:
	//        default   stripe    success
	// 201    recorded  recorded  recorded
	// 422    recorded  recorded  released
	// 429    released  recorded  released
	// 500    released  recorded  released
	// 502    unknown   recorded  unknown
}

// A handler logs whose request it is, as the wrapper has read it.
func ExampleRequestFrom() {
	pay := func(_ http.ResponseWriter, req *http.Request) {
		q := lambda.RequestFrom(req.Context())
		fmt.Printf("%s of %s: %s\n", q.Route, q.Scope, q.Body)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /payments", lambda.Middleware(newRunner(), lambda.HTTPConfig{Request: whoever})(http.HandlerFunc(pay)))
	post(mux, "k1")
	// Output:
	// POST /payments of alice: {"amount":4990}
	// 200
}

// Keys have to say when they were made, so that a request which comes after its window can be told from a new one.
func ExampleTimedKey() {
	cfg := lambda.HTTPConfig{Operation: "pay", Request: whoever, OldestKey: idempotency.DefaultRetention, CheckKey: lambda.TimedKey}
	pay := lambda.Middleware(newRunner(), cfg)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	post(pay, "order-17")
	post(pay, "019312d0-5c00-7000-8000-000000000000") // of November 2024
	// Output:
	// 400  idempotency_key_invalid
	// 412  idempotency_key_expired
}

// A reconciler has found the charge: the client's next retry is to get the answer that it should have had.
func ExampleHTTPAnswer() {
	ctx, r := context.Background(), newRunner()
	cfg := lambda.HTTPConfig{Operation: "pay", Request: whoever, Logger: slog.New(slog.DiscardHandler)}
	pay := lambda.Middleware(r, cfg)(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		lambda.OutcomeUnknown(req.Context()) // the processor did not answer
	}))
	post(pay, "k1")
	for rec, err := range r.Unknowns(ctx) {
		answer := lambda.HTTPAnswer(http.StatusCreated, http.Header{"Content-Type": {"application/json"}}, []byte(`{"charge":"ch_1"}`))
		if err := errors.Join(err, r.Resolve(ctx, rec, idempotency.Completed(answer))); err != nil {
			fmt.Println(err)
		}
	}
	post(pay, "k1")
	// Output:
	// 409  outcome_unknown
	// 201 true {"charge":"ch_1"}
}

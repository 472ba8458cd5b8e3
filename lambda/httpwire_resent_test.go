package lambda_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// net/http's transport sends a request that has an Idempotency-Key again, by itself, if a kept connection breaks before the
// first byte of the answer: to the function that is a duplicate like any other.
func reSentByTheTransport(t *testing.T, w *wire, order string) {
	t.Helper()
	door := w.fn.Handler(w.door)
	var requests atomic.Int32
	answered := httptest.NewRecorder() // what the function said, and nobody got
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || requests.Add(1) > 1 {
			door.ServeHTTP(rw, r)
			return
		}
		door.ServeHTTP(answered, r)
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	behind, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	front := server.URL + behind.Path // the stage
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)

	c := paying(order, errand{})
	wantProblem(t, askBy(t, client, front, lookingUp(c)), 404, "idempotency_key_not_found", false)
	r := askBy(t, client, front, c)
	if requests.Load() != 2 || answered.Code != 201 {
		t.Errorf("%d requests came, the first one was answered with %d", requests.Load(), answered.Code)
	}
	wantSame(t, r, reaction{status: answered.Code, header: answered.Header(), body: answered.Body.String()})
	w.wantRuns(t, order, 1)
}

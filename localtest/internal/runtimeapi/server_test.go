package runtimeapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A request for an event, whose client has gone, must leave the event to the next one.
func TestServeNext_ClientGone(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the choice between event and client is random
		s, inv := waitingEvent(t)
		s.serveNext(httptest.NewRecorder(), request(gone))
		wantDelivery(t, s, inv)
	}
}

func TestServeNext_WriteFails(t *testing.T) {
	t.Parallel()
	s, inv := waitingEvent(t)
	s.serveNext(deadClient{httptest.NewRecorder()}, request(t.Context()))
	if inv.taken {
		t.Error("counted as taken")
	}
	wantDelivery(t, s, inv)
}

func TestServeNext_ProcessGone(t *testing.T) {
	t.Parallel()
	s, inv := waitingEvent(t)
	s.ended = true
	s.serveNext(httptest.NewRecorder(), request(t.Context()))
	if inv.taken {
		t.Error("a process that has ended took the event")
	}
}

func TestServeAnswer_NotRunning(t *testing.T) {
	t.Parallel()
	s, inv := waitingEvent(t)
	for _, path := range []string{"/2018-06-01/runtime/invocation/none/response", "/2018-06-01/runtime/invocation/r1/response"} {
		w := httptest.NewRecorder()
		s.routes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		if w.Code != http.StatusBadRequest || inv.settled.Load() {
			t.Errorf("%s: status %d, settled %v", path, w.Code, inv.settled.Load())
		}
	}
}

func waitingEvent(t *testing.T) (*sandbox, *invocation) {
	t.Helper()
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{
		f: f, work: make(chan *invocation, 1), asked: make(chan struct{}), exited: make(chan struct{}),
		invocations: map[string]*invocation{},
	}
	inv := &invocation{Event: Event{Payload: []byte("1"), RequestID: "r1"}, deadline: time.Now(), answer: make(chan Response, 1)}
	if !s.reserve(inv) {
		t.Fatal("no place for the event")
	}
	s.work <- inv
	return s, inv
}

func request(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodGet, "/2018-06-01/runtime/invocation/next", nil)
}

func wantDelivery(t *testing.T, s *sandbox, inv *invocation) {
	t.Helper()
	w := httptest.NewRecorder()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s.serveNext(w, request(ctx))
	if w.Body.String() != "1" || w.Header().Get(headerRequestID) != "r1" || !inv.taken {
		t.Fatalf("the next request got %q, %v", w.Body, w.Header())
	}
}

type deadClient struct{ *httptest.ResponseRecorder }

func (deadClient) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestPoint_NobodyListens(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	if err := Point(srv.URL, "p"); err == nil || !strings.Contains(err.Error(), `point "p": answer 404`) {
		t.Errorf("error %v", err)
	}
	srv.Close()
	for _, address := range []string{srv.URL, "%"} {
		if err := Point(address, "p"); err == nil || !strings.Contains(err.Error(), `point "p": `) {
			t.Errorf("%s: error %v", address, err)
		}
	}
}

func TestTail_KeepsTheEnd(t *testing.T) {
	t.Parallel()
	out := &tail{limit: 4}
	for _, text := range []string{"ab", "cde", "f"} {
		if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := out.String(); got != "cdef" {
		t.Errorf("kept %q, want the last four bytes", got)
	}
}

package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// heard is what the function has told the outside: it knows what has really happened, since it does not die with a process.
type heard struct {
	url string

	mu      sync.Mutex
	effects map[string]map[string]int // by order and name
	failed  map[string]string         // the error's text by the message
	kinds   map[string]int            // of idempotency.Event, by the name that lambda.Metrics has for it
	replies int
	onReply func(nth int)
}

func newHeard(t *testing.T) *heard {
	t.Helper()
	h := &heard{effects: map[string]map[string]int{}, failed: map[string]string{}, kinds: map[string]int{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *heard) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r.URL.Path {
	case "/effect":
		order := v.Get("order")
		if h.effects[order] == nil {
			h.effects[order] = map[string]int{}
		}
		h.effects[order][v.Get("name")]++
	case "/failed":
		h.failed[v.Get("message")] = v.Get("error")
	case "/metrics":
		var line map[string]any
		if json.Unmarshal([]byte(v.Get("line")), &line) != nil {
			h.kinds["no JSON"]++
		}
		for _, name := range kinds {
			if n, ok := line[name].(float64); ok {
				h.kinds[name] += int(n)
			}
		}
	case "/reply":
		h.replies++
		if h.onReply != nil {
			h.onReply(h.replies)
		}
	}
}

// kinds are those of idempotency.Event, as lambda.Metrics names them.
var kinds = []string{
	"Acquired", "Expired", "TakenOver", "Replayed", "Cached", "Waited", "InProgress", "Mismatch", "Completed", "Failed", "Released",
	"Unknown", "LeaseLost", "NotRecorded", "NoTime", "StoreFailure",
}

// atReply calls f at the nth reply from now.
func (h *heard) atReply(nth int, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replies = 0
	h.onReply = func(n int) {
		if n == nth {
			f()
		}
	}
}

// takeKinds returns what was counted since the last time.
func (h *heard) takeKinds() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.kinds
	h.kinds = map[string]int{}
	return taken
}

// takeFailed returns why a message has come back, "" if it has not said so since the last time.
func (h *heard) takeFailed(message string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.failed[message]
	delete(h.failed, message)
	return text
}

// of returns the effects of an order.
func (h *heard) of(order string) map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.effects[order])
}

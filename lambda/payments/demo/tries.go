package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// tries is a transport below the one that tries again. It notes how each try is answered.
type tries struct {
	heard    func(status int) // told of each answer
	statuses []string         // of a single request at a time
}

// send is one request of a client that tries again, with a key that it makes.
func (t *tries) send(ctx context.Context, w *world) answer {
	again, err := httpclient.New(httpclient.Config{Base: t})
	if err != nil {
		return answer{lost: err}
	}
	return w.send(ctx, &http.Client{Transport: again}, http.MethodPost, "alice", "", order)
}

// RoundTrip is one try.
func (t *tries) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.statuses = append(t.statuses, "no answer")
		return resp, err
	}
	t.statuses = append(t.statuses, fmt.Sprint(resp.StatusCode))
	t.heard(resp.StatusCode)
	return resp, nil
}

// before is the last answer after the statuses that came before it, each once where several were the same.
func (t *tries) before(last answer) string {
	statuses := slices.Compact(t.statuses[:max(0, len(t.statuses)-1)])
	return strings.Join(append(statuses, last.String()), ", ")
}

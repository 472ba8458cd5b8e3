package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// serve keeps the payments function up behind a local HTTP API, until ctx ends, and says what to ask it.
func serve(ctx context.Context, tb localtest.TB, addr string, say func(string)) {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		tb.Fatalf("listen on %s: %v", addr, err)
	}
	say("Building the payments function ...\n")
	function := build(ctx, tb)
	db := localtest.Start(tb)
	//nolint:contextcheck // they last until the end of tb
	w := newWorld(tb, db, db.Listen(tb), function, situation{timeout: 10 * time.Second, frontDoor: "http-api"})
	door := localtest.FrontDoor{Kind: localtest.HTTPAPI, Routes: []string{"POST /payments", "GET /payments"}, Authorize: bearer}
	server := &http.Server{Handler: w.fn.Handler(door), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	say(lines("http://" + l.Addr().String()))
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		tb.Fatalf("serve on %s: %v", addr, err)
	}
}

// bearer takes every name for a token: alice is who says so.
func bearer(r *http.Request) (localtest.Identity, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || name == "" {
		return localtest.Identity{}, errors.New("the header Authorization: Bearer NAME is missing")
	}
	return localtest.Identity{Claims: map[string]string{"iss": "https://localhost", "sub": name}}, nil
}

// lines are curl commands for each row of the story.
func lines(url string) string {
	const payment = `{"order":"17","amount":4990,"currency":"EUR","card":"card_visa"}`
	ask := func(key, body string) string {
		if key != "" {
			key = fmt.Sprintf(" -H 'Idempotency-Key: %s'", key)
		}
		return fmt.Sprintf("curl -i %s/payments -H 'Authorization: Bearer alice' -H 'Content-Type: application/json'%s -d '%s'", url, key, body)
	}
	first := ask("k1", payment)
	return strings.Join([]string{
		"The payments function behind an HTTP API, on this machine alone. Ctrl-C ends it.",
		"",
		"A first payment, and again for the same answer, with Idempotent-Replayed: true:",
		first, first,
		"The same key with another amount: 422 idempotency_key_reused",
		ask("k1", strings.Replace(payment, "4990", "1", 1)),
		"Two at once: one 201, one 409 operation_in_progress or the same answer",
		ask("k2", payment) + " & " + ask("k2", payment) + " & wait",
		"No key: 400 idempotency_key_missing",
		ask("", payment),
		"A declined card: 402, and the same one again",
		ask("k3", strings.Replace(payment, "card_visa", "card_declined", 1)),
		"What became of a key: the recorded answer, or 404",
		fmt.Sprintf("curl -i %s/payments -H 'Authorization: Bearer alice' -H 'Idempotency-Key: k1'", url),
		"",
	}, "\n")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// serveTimeout is the function's: short enough to wait, at the console, until a lease has ended that nobody will end.
const serveTimeout = 8 * time.Second

// serve keeps the payments function up behind a front door, with the console before it, until ctx ends, and says what to ask it.
func serve(ctx context.Context, tb localtest.TB, addr, door string, say func(string)) {
	tb.Helper()
	if _, err := frontdoor.Named(door); err != nil {
		tb.Fatalf("%v", err)
	}
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		addr = net.JoinHostPort("127.0.0.1", port) // this machine alone
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		tb.Fatalf("listen on %s: %v", addr, err)
	}
	say("Building the payments function ...\n")
	//nolint:contextcheck // it lasts until the end of tb
	w := newWorld(tb, begin(ctx, tb), situation{timeout: serveTimeout, door: door})
	server := &http.Server{Handler: newConsole(w), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	say(lines("http://"+l.Addr().String(), w.door))
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		tb.Fatalf("serve on %s: %v", addr, err)
	}
}

// lines are curl commands for the rows of the contract, each after what it shows.
func lines(url string, door frontdoor.Door) string {
	curl := fmt.Sprintf("curl -i %s%s -H '%s: %salice'", url, door.Path, door.CallerHeader, door.CallerPrefix)
	pay := func(key, body string) string {
		if key != "" {
			key = fmt.Sprintf(" -H 'Idempotency-Key: %s'", key)
		}
		return fmt.Sprintf("%s%s -H 'Content-Type: application/json' -d '%s'", curl, key, body)
	}
	slow := pay("k2", strings.Replace(order, "card_visa", cardprocessor.SlowCard, 1))
	return strings.Join([]string{
		fmt.Sprintf("The payments function behind the front door %v, on this machine alone. Ctrl-C ends it.", door.Kind),
		"",
		"The console, for a browser: " + url + "/",
		"",
		"A first payment: 201 and a receipt",
		pay("k1", order),
		"The same again: the same status, headers and body, and Idempotent-Replayed: true",
		pay("k1", order),
		"The same key with another amount: 422 idempotency_key_reused",
		pay("k1", otherAmount),
		"Two at once, with a card that takes a second: 409 operation_in_progress with Retry-After, then 201",
		slow + " & " + slow + " & wait",
		"No key: 400 idempotency_key_missing",
		pay("", order),
		"A declined card: 402 insufficient_funds, and the next time the same, Idempotent-Replayed: true",
		pay("k3", declinedOrder),
		"What became of a key: the recorded answer, Idempotent-Replayed: true",
		curl + " -H 'Idempotency-Key: k1'",
		"What became of a key that nobody has used: 404 idempotency_key_not_found",
		curl + " -H 'Idempotency-Key: k9'",
		"",
	}, "\n")
}

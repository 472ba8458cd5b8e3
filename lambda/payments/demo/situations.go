package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// situation is one way in which things go wrong.
type situation struct {
	play      func(context.Context, *world)
	onUnknown string        // the function's policy; "": its default, refuse
	timeout   time.Duration // the function's
	gateway   time.Duration // how long the gateway waits for it; 0: its default
	slow      bool          // mostly waits: played beside the others
	door      string        // what stands before the function; "": an HTTP API
	direct    bool          // nothing does
}

// Short where the play waits for the function's time to end, long where a busy machine must not matter.
const (
	short = 2 * time.Second
	long  = 30 * time.Second
)

var situations = []situation{
	{play: retried, timeout: long},
	{play: flooded, timeout: long},
	{play: declined, timeout: long},
	{play: invalid, timeout: long},
	{play: clientHangsUp, timeout: long},
	{play: gatewayGivesUp, timeout: long, gateway: time.Second, slow: true},
	{play: acquireReplyLost, timeout: long},
	{play: stepReplyLost, timeout: long},
	{play: commitReplyLost, timeout: long},
	{play: bookingRefused, onUnknown: "rerun", timeout: long},
	{play: tableDown, timeout: long},
	{play: accessDenied, timeout: long},
	{play: processorTooLate, timeout: short, slow: true},
	{play: killed, timeout: short, slow: true},
	{play: killedUnderRerun, onUnknown: "rerun", timeout: short, slow: true},
	{play: clientThatRetries, onUnknown: "rerun", timeout: short, slow: true},
	{play: invoked, timeout: long, direct: true},
	{play: batched, timeout: long},
	{play: poisoned, timeout: long},
	{play: killedInBatch, timeout: short, slow: true},
}

func retried(ctx context.Context, w *world) {
	first := w.pay(ctx, "k1", order)
	w.expect("A first payment", first.String(), receipt("ch_1", 1), 1, 1)
	w.expect("  the same request again", w.pay(ctx, "k1", order).after(first), sameAnswer, 1, 1)
	lookUp := w.send(ctx, http.DefaultClient, http.MethodGet, "alice", "k1", "")
	w.expect("  what became of the key (GET)", lookUp.after(first), sameAnswer, 1, 1)
	w.expect("  the same key, another amount", w.pay(ctx, "k1", otherAmount).String(), "422 idempotency_key_reused", 1, 1)
	w.expect("  no key", w.pay(ctx, "", order).String(), "400 idempotency_key_missing", 1, 1)
	bob := w.send(ctx, http.DefaultClient, http.MethodPost, "bob", "k1", order)
	w.expect("  another caller with the same key", bob.String(), receipt("ch_2", 1), 2, 2)
}

// All of them at once, before the one that charges the card hears that it did (C20).
func flooded(ctx context.Context, w *world) {
	const clients = 100
	others := make(chan struct{})
	w.whenCharged(func() { <-others })
	answers := make(chan answer, clients)
	for range clients {
		go func() { answers <- w.pay(ctx, "k1", order) }()
	}
	var first answer
	got := map[string]int{}
	for n := range clients {
		a := <-answers
		switch a.String() {
		case receipt("ch_1", 1):
			first = a
			got["201"]++
		case inProgress:
			got["409 with Retry-After"]++
		default:
			got[a.String()]++
		}
		if n == clients-2 {
			close(others)
		}
	}
	w.expect(fmt.Sprintf("The same request %d times at once", clients), counts(got), fmt.Sprintf("1 x 201, %d x 409 with Retry-After", clients-1), 1, 1)
	w.expect("  and once more", w.pay(ctx, "k1", order).after(first), sameAnswer, 1, 1)
}

// counts reads like "1 x this, 49 x that".
func counts(of map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d x %s", of[what], what))
	}
	return strings.Join(parts, ", ")
}

func declined(ctx context.Context, w *world) {
	first := w.pay(ctx, "k1", declinedOrder)
	w.expect("A declined card", first.String(), "402 insufficient_funds", 1, 0)
	w.expect("  the same request again", w.pay(ctx, "k1", declinedOrder).after(first), sameAnswer, 1, 0)
}

// Nothing was started, so nothing is recorded: the second answer is as new as the first.
func invalid(ctx context.Context, w *world) {
	for _, what := range []string{"A payment without amount", "  the same request again"} {
		w.expect(what, w.pay(ctx, "k1", withoutAmount).String(), "400 invalid_payment", 0, 0)
	}
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// situation is one way in which things go wrong.
type situation struct {
	play      func(context.Context, *world)
	onUnknown string        // the function's policy; "": its default, refuse
	timeout   time.Duration // the function's
	slow      bool          // mostly waits: played beside the others
	frontDoor string        // what stands before the function; "": nothing
}

// Short where the play waits for the function's time to end, long where a busy machine must not matter.
const (
	short = 2 * time.Second
	long  = 30 * time.Second
)

var situations = []situation{
	{play: retried, timeout: long},
	{play: flooded, timeout: long},
	{play: clientGone, timeout: long},
	{play: declined, timeout: long},
	{play: invalid, timeout: long},
	{play: putReplyLost, timeout: long},
	{play: updateReplyLost, timeout: long},
	{play: tableDown, timeout: long},
	{play: accessDenied, timeout: long},
	{play: processorTooLate, timeout: short, slow: true},
	{play: killed, timeout: short, slow: true},
	{play: killedUnderRerun, onUnknown: "rerun", timeout: short, slow: true},
}

func retried(ctx context.Context, w *world) {
	first := w.pay(ctx, "payment")
	w.expect("A first payment", first.String(), receipt("ch_1", 1), 1, 1)
	w.expect("  the same event again", w.pay(ctx, "payment").after(first), sameAnswer, 1, 1)
	w.expect("  the same key, another amount", w.pay(ctx, "payment-other-amount").String(), mismatch, 1, 1)
}

// Fifty at once, all before the one that charges the card hears that it did (C20).
func flooded(ctx context.Context, w *world) {
	const clients = 50
	others := make(chan struct{})
	w.whenCharged(func() { <-others })
	answers := make(chan answer, clients)
	for range clients {
		go func() { answers <- w.pay(ctx, "payment") }()
	}
	var first answer
	got := map[string]int{}
	for n := range clients {
		a := <-answers
		got[a.String()]++
		if a.err == nil {
			first = a
		}
		if n == clients-2 {
			close(others)
		}
	}
	w.expect(fmt.Sprintf("The same event %d times at once", clients), counts(got),
		counts(map[string]int{inProgress: clients - 1, receipt("ch_1", 1): 1}), 1, 1)
	w.expect("  and once more", w.pay(ctx, "payment").after(first), sameAnswer, 1, 1)
}

// counts reads like "49 x error A, 1 x receipt".
func counts(of map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d x %s", of[what], what))
	}
	return strings.Join(parts, ", ")
}

func declined(ctx context.Context, w *world) {
	first := w.pay(ctx, "payment-declined")
	w.expect("A declined card", first.String(), "error CardDeclined", 1, 0)
	w.expect("  the same event again", w.pay(ctx, "payment-declined").after(first), sameAnswer, 1, 0)
}

func invalid(ctx context.Context, w *world) {
	first := w.pay(ctx, "payment-without-amount")
	w.expect("A payment without amount", first.String(), "error InvalidPayment", 0, 0)
	w.expect("  the same event again", w.pay(ctx, "payment-without-amount").after(first), sameAnswer, 0, 0)
}

// The client hangs up while its card is being charged; the function goes on (C50).
func clientGone(ctx context.Context, w *world) {
	listening, hangUp := context.WithCancel(ctx)
	gone := make(chan struct{})
	w.whenCharged(func() {
		hangUp()
		<-gone // an answer that is on its way already would be another situation
	})
	got := "an answer"
	if w.pay(listening, "payment").lost != nil {
		got = "nothing"
	}
	hangUp()
	close(gone)
	w.expect("The client hangs up after the charge", got, "nothing", 1, 1)
	w.expect("  and tries again", w.payUntilDecided(ctx, "payment").String(), receipt("ch_1", 1), 1, 1)
}

// The key is acquired and the function does not hear of it: the SDK sends the write again, and it meets its own
// (C01).
func putReplyLost(ctx context.Context, w *world) {
	w.replyLost(ctx, "PutItem", "DynamoDB's reply to the acquiring write is lost")
}

// The outcome is recorded and the function does not hear of it (C02).
func updateReplyLost(ctx context.Context, w *world) {
	w.replyLost(ctx, "UpdateItem", "DynamoDB's reply to the recording write is lost")
}

func (w *world) replyLost(ctx context.Context, operation, what string) {
	w.db.Inject(localtest.Fault{Operation: operation, Table: w.table, Kind: localtest.ReplyLost})
	first := w.pay(ctx, "payment")
	got := first.String()
	lost := func(c localtest.Call) bool { return c.Table == w.table && c.Err == localtest.ReplyLost.String() }
	if !slices.ContainsFunc(w.db.Calls(operation), lost) {
		got = "no reply was lost"
	}
	w.expect(what, got, receipt("ch_1", 1), 1, 1)
	w.expect("  the same event again", w.pay(ctx, "payment").after(first), sameAnswer, 1, 1)
}

func tableDown(ctx context.Context, w *world) {
	w.tableRefuses(ctx, localtest.ServerError, "The table is down")
}

func accessDenied(ctx context.Context, w *world) {
	w.tableRefuses(ctx, localtest.AccessDenied, "The function has no right to the table")
}

// While the table cannot be asked nothing is charged (C15).
func (w *world) tableRefuses(ctx context.Context, everything localtest.FaultKind, what string) {
	var over atomic.Bool
	w.db.Inject(localtest.Fault{
		Table: w.table, Kind: everything, Times: -1,
		Match: func(localtest.Call) bool { return !over.Load() },
	})
	w.expect(what, w.pay(ctx, "payment").String(), unavailable, 0, 0)
	over.Store(true)
	w.expect("  when that is over, the same event again", w.pay(ctx, "payment").String(), receipt("ch_1", 1), 1, 1)
}

// The card is charged, and the function does not live to say so. Nobody can tell from the table alone
// (C09).
func killed(ctx context.Context, w *world) {
	w.killedWhenCharged(ctx, "Killed after the charge, policy refuse")
	w.expect("  after the lease nothing runs", w.payUntilDecided(ctx, "payment").String(), unknown, 1, 1)
}

func killedUnderRerun(ctx context.Context, w *world) {
	w.killedWhenCharged(ctx, "Killed after the charge, policy rerun")
	again := w.payUntilDecided(ctx, "payment")
	w.expect("  after the lease it runs again", again.String(), receipt("ch_1", 2), 2, 1)
	w.expect("  the same event again", w.pay(ctx, "payment").after(again), sameAnswer, 2, 1)
}

func (w *world) killedWhenCharged(ctx context.Context, what string) {
	w.whenCharged(w.fn.Kill)
	w.expect(what, w.pay(ctx, "payment").String(), "error Runtime.ExitError", 1, 1)
	w.expect("  the same event at once", w.pay(ctx, "payment").String(), inProgress, 1, 1)
}

// The card is charged, and the processor does not say so before the function's time is over.
func processorTooLate(ctx context.Context, w *world) {
	over := make(chan struct{})
	w.whenCharged(func() { <-over })
	w.expect("The processor answers too late, policy refuse", w.pay(ctx, "payment").String(), "error ProcessorError", 1, 1)
	close(over)
	w.expect("  the same event again", w.pay(ctx, "payment").String(), unknown, 1, 1)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// check is one invocation.
type check struct {
	what      string
	restarted bool   // the emulator and the function start anew before it, on the same table
	frontDoor string // with restarted: whose events the function takes from then on; "": those of other functions
	event     string // "@" names an event file of the payments function

	receipt         string // the whole answer; "": it is an error
	errorType, says string // the error's type, and what its message has in it
	again           bool   // the answer has the very bytes of the event's last one

	status   int // behind a front door; says is then in the body
	replayed bool

	requests, charges int // what the card processor gets and makes by it
}

const (
	receipt      = `{"charge":"ch_1","order":"17","amount":4990,"currency":"EUR","attempt":1}`
	withoutOwner = `{"idempotencyKey":"k1","order":"20","amount":1,"currency":"EUR","card":"card_visa"}`
	withoutKey   = `{"customer":"c1","order":"20","amount":1,"currency":"EUR","card":"card_visa"}`
	tooSlow      = `{"idempotencyKey":"k2","customer":"c1","order":"21","amount":1,"currency":"EUR","card":"` + slowCard + `"}`
	overLimit    = `{"idempotencyKey":"k3","customer":"c1","order":"23","amount":1000001,"currency":"EUR","card":"card_visa"}`
	declined     = "card declined: insufficient_funds"
)

var checks = []check{
	{what: "a first payment gives a receipt", event: "@payment", receipt: receipt, requests: 1, charges: 1},
	{what: "  a retry gives the same one and charges nothing", event: "@payment", receipt: receipt, again: true},
	{
		what: "  the same key with another amount is refused", event: "@payment-other-amount",
		errorType: "IdempotencyMismatch", says: "key reused for another request",
	},
	{
		what: "a declined card is an error with its own type", event: "@payment-declined",
		errorType: "CardDeclined", says: declined, requests: 1,
	},
	{
		what: "  a retry gives the same one and asks nobody", event: "@payment-declined",
		errorType: "CardDeclined", says: declined, again: true,
	},
	{
		what: "a payment above the limit is an error before anything is charged", event: overLimit,
		errorType: "OverLimit", says: "spending limit",
	},
	{
		what: "a payment without amount says so", event: "@payment-without-amount",
		errorType: "InvalidPayment", says: "amount is 0: must be positive",
	},
	{
		what: "an event without customer says what is missing", event: withoutOwner,
		errorType: "IdempotencyInvalid", says: "Scope is empty",
	},
	{
		what: "an event without key says what is missing", event: withoutKey,
		errorType: "IdempotencyInvalid", says: "Key is empty",
	},
	{
		what: "an event that is no JSON object says so", event: `["payment"]`,
		errorType: "UnmarshalTypeError", says: "cannot unmarshal array",
	},
	{
		what: "a charge without an answer is an error in time", event: tooSlow,
		errorType: "ProcessorError", says: "the handler's time is over", requests: 1, charges: 1,
	},
	{
		what: "  a retry is told that the outcome is unknown", event: tooSlow,
		errorType: "IdempotencyOutcomeUnknown", says: "outcome unknown",
	},
	{
		what: "after a restart a retry still gets the receipt", restarted: true, event: "@payment",
		receipt: receipt, again: true,
	},
	{
		what: "  the declined card its error", event: "@payment-declined",
		errorType: "CardDeclined", says: declined, again: true,
	},
	{
		what: "  and the unknown outcome is as unknown", event: tooSlow,
		errorType: "IdempotencyOutcomeUnknown", says: "outcome unknown", again: true,
	},
	{
		what: "on a schedule the reconciler leaves it, since the processor cannot be asked", restarted: true, frontDoor: "schedule",
		event: `{"source":"aws.events"}`, receipt: `{"completed":0,"notDone":0,"left":1}`,
	},
}

// payload is the check's event.
func (c check) payload() ([]byte, error) {
	if name, ok := strings.CutPrefix(c.event, "@"); ok {
		return os.ReadFile(filepath.Join("lambda", "payments", "testdata", "events", name+".json"))
	}
	return []byte(c.event), nil
}

// play invokes the function and says what is not as it should be. The error is for an invocation without an answer.
func (w *world) play(ctx context.Context, c check) (problems []string, err error) {
	payload, err := c.payload()
	if err != nil {
		return nil, err
	}
	if c.restarted {
		if err := w.restart(ctx, c.frontDoor); err != nil {
			return nil, err
		}
	}
	requests, charges := w.cards.counts()
	answer, err := w.emulator.invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if last := w.answers[c.event]; c.again && !bytes.Equal(answer, last) {
		problem("answer %s\n      before %s", answer, last)
	}
	w.answers[c.event] = answer
	judge := c.judge
	if c.status != 0 {
		judge = c.judgeHTTP
	}
	if wrong := judge(answer); wrong != "" {
		problem("%s", wrong)
	}
	now, made := w.cards.counts()
	if now -= requests; now != c.requests {
		problem("%d requests to the card processor, want %d", now, c.requests)
	}
	if made -= charges; made != c.charges {
		problem("%d charges, want %d", made, c.charges)
	}
	return problems, nil
}

// judge says what is wrong with the answer to an event of another function, "" for nothing.
func (c check) judge(answer []byte) string {
	var got struct{ ErrorType, ErrorMessage string }
	switch err := json.Unmarshal(answer, &got); {
	case err != nil:
		return fmt.Sprintf("answer %q is no JSON object: %v", answer, err)
	case c.receipt != "" && string(answer) != c.receipt:
		return fmt.Sprintf("answer %s\n      want   %s", answer, c.receipt)
	case got.ErrorType != c.errorType || !strings.Contains(got.ErrorMessage, c.says):
		return fmt.Sprintf("answer %s\n      want   %s with %q", answer, c.errorType, c.says)
	}
	return ""
}

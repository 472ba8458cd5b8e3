package main

import "github.com/oncekey/oncekey/localtest"

// call is one that a first request makes to DynamoDB.
type call struct {
	operation string
	role      role
	what      string // for the page
}

// path is a way through the protocol, as the function's flag names it.
type path struct {
	name    string
	title   string // for the page
	calls   []call
	effects []effect
	batch   int // messages of an event; 0: it is no batch
}

// effect is what a run does, besides its answer.
type effect struct {
	name   string
	before int  // the call before which it happens
	step   int  // the call that records it as a step; -1: none
	staged bool // it happens with the outcome
}

// charge comes right after the claim.
var charge = effect{name: "charge", before: 1, step: -1}

// staged is in the ledger, and comes with the outcome.
var staged = effect{name: "entry", step: -1, staged: true}

var paths = []path{
	{name: "do", title: "Do", effects: []effect{charge}, calls: []call{
		{"PutItem", claim, "claim"}, {"UpdateItem", outcome, "outcome"},
	}},
	{name: "do, one item", title: "Do, an answer of one item", effects: []effect{charge}, calls: []call{
		{"PutItem", claim, "claim"}, {"PutItem", body, "the answer's item"}, {"UpdateItem", outcome, "outcome"},
	}},
	{name: "do, two items", title: "Do, an answer of two items", effects: []effect{charge}, calls: []call{
		{"PutItem", claim, "claim"}, {"BatchWriteItem", body, "the answer's items"}, {"UpdateItem", outcome, "outcome"},
	}},
	{name: "steps", title: "Do, two steps", effects: []effect{{"charge", 1, 1, false}, {"mail", 2, 2, false}}, calls: []call{
		{"PutItem", claim, "claim"}, {"UpdateItem", step, "first step"}, {"UpdateItem", step, "second step"}, {"UpdateItem", outcome, "outcome"},
	}},
	{name: "claimed", title: "DoTx, Claimed", effects: []effect{staged}, calls: []call{
		{"PutItem", claimTx, "claim"}, {"TransactWriteItems", commit, "commit"},
	}},
	{name: "claimed, step", title: "DoTx, Claimed, with a step", effects: []effect{{"charge", 2, 2, false}, staged}, calls: []call{
		{"PutItem", claimTx, "claim"},
		{"UpdateItem", begin, "the step begins"},
		{"UpdateItem", step, "step"},
		{"TransactWriteItems", stepped, "commit"},
	}},
	{name: "single shot", title: "DoTx, SingleShot", effects: []effect{staged}, calls: []call{
		{"TransactWriteItems", shot, "commit"},
	}},
	{name: "http", title: "HTTP API", effects: []effect{charge}, calls: []call{
		{"PutItem", claim, "claim"}, {"UpdateItem", outcome, "outcome"},
	}},
	{name: "sqs", title: "SQS, a batch of two", batch: 2, effects: []effect{charge}, calls: []call{
		{"PutItem", claim, "first message's claim"},
		{"UpdateItem", outcome, "first message's outcome"},
		{"PutItem", claim, "second message's claim"},
		{"UpdateItem", outcome, "second message's outcome"},
	}},
}

// nth is which call of its operation the i-th one is.
func (p path) nth(i int) (n int) {
	for _, c := range p.calls[:i+1] {
		if c.operation == p.calls[i].operation {
			n++
		}
	}
	return n
}

// message is which of a batch's messages the i-th call is about.
func (p path) message(i int) int {
	if p.batch == 0 {
		return 0
	}
	return i * p.batch / len(p.calls)
}

// own is which of its message's calls the i-th one is.
func (p path) own(i int) int {
	if p.batch == 0 {
		return i
	}
	return i % (len(p.calls) / p.batch)
}

// trouble is what happens to a call.
type trouble struct {
	name string
	kind kind
	how  how
	is   localtest.FaultKind // byFault
}

// how is what the test does.
type how int

const (
	killBefore  how = iota // the process, in the place of the request
	killApplied            // the process, once the request is applied
	killReplied            // the process, once it has the reply
	byFault                // one request meets a fault
	throttled              // the call is throttled as often as it is sent
	delayed                // the request waits until the retry is over
)

var troubles = []trouble{
	{"killed before the request", died, killBefore, 0},
	{"killed before the reply", diedDone, killApplied, 0},
	{"killed after the reply", diedDone, killReplied, 0},
	{"request lost", passing, byFault, localtest.RequestLost},
	{"reply lost", passing, byFault, localtest.ReplyLost},
	{"reply truncated", passing, byFault, localtest.TruncatedReply},
	{"applied late", passing, byFault, localtest.AppliedLate},
	{"500", passing, byFault, localtest.ServerError},
	{"throttled", throttle, throttled, 0},
	{"delayed", delay, delayed, 0},
}

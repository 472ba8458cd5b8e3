package main

import "slices"

// What has to come of it when something happens to a call. The rules follow from two sentences of package idempotency's
// comment: what the table has is what counts, whoever got an answer; and an attempt that is in progress when its lease ends is
// unknown, unless nothing can have happened outside of the table.

// class is what the caller of one request gets.
type class string

const (
	answered    class = "answered"     // by its own run
	replayed    class = "replayed"     // the recorded outcome; what its own run has done, if there was one, is not there
	overtaken   class = "overtaken"    // the recorded outcome of the attempt to which its run has lost the lease
	gone        class = "no answer"    // the process has died
	inProgress  class = "in progress"  // ErrInProgress
	unknown     class = "unknown"      // ErrOutcomeUnknown
	unavailable class = "unavailable"  // ErrUnavailable
	notRecorded class = "not recorded" // ErrNotRecorded
	noBody      class = "not stored"   // ErrNoBody
	mismatch    class = "key reused"   // ErrMismatch
	notWritten  class = "not written"  // WriteError: the transaction was refused
	notStarted  class = "not started"  // lambda.ErrSkipped, of a batch's message
	unexpected  class = "unexpected"   // none of these
)

// isAnswer: what a handler has answered, in this run or another, as it is recorded.
func (c class) isAnswer() bool { return slices.Contains([]class{answered, replayed, overtaken}, c) }

// ends are what the first request and its retry get.
type ends struct{ first, retry class }

// when is the retry's time: at once, or after the lease of the first request's attempt.
type when struct{ atOnce, after ends }

// story is what follows from a trouble, under each policy.
type story struct {
	word          string
	refuse, rerun when
	leaves        string // status of the record, as long as nobody has got an answer; "": INPROGRESS
	says          string // for the page

	// cut is what follows instead if the time ends after a last copy was sent and before its answer is there: nobody knows of
	// that one, so the caller cannot be told that nothing is written.
	cut *story
}

// always is a story in which neither time nor policy matters.
func always(word string, first, retry class, says string) story {
	w := when{ends{first, retry}, ends{first, retry}}
	return story{word: word, refuse: w, rerun: w, says: says}
}

// held is one in which the record is in progress until the lease ends.
func held(word string, first class, refuse, rerun ends, says string) story {
	atOnce := ends{first, inProgress}
	return story{word: word, refuse: when{atOnce, refuse}, rerun: when{atOnce, rerun}, says: says}
}

var (
	fine = always("fine", answered, replayed,
		"The call is repeated, and an own write is recognised.")
	fresh = always("fresh", gone, answered,
		"Nothing is in the table: the retry is a first request.")
	kept = always("kept", gone, replayed,
		"The outcome is in the table, and with it what was staged.")
	open = held("open", gone, ends{gone, unknown}, ends{gone, answered},
		"The record is in progress and nobody is at work: unknown once the lease has ended.")
	again = held("again", gone, ends{gone, answered}, ends{gone, answered},
		"The same, but nothing can have happened that is not in the table: the retry runs without a policy.")
	turnedAway = always("turned away", unavailable, answered,
		"Nothing runs, and the key is given back.")
	heldBack = held("held back", unavailable, ends{unavailable, answered}, ends{unavailable, answered},
		"The step does not begin, and nothing has happened; the record can only be left as it is.")
	untold = held("untold", notRecorded, ends{notRecorded, unknown}, ends{notRecorded, answered},
		"The effect may have happened, and the caller is told so; the record is as after a crash.")
	bodiless = always("bodiless", answered, noBody,
		"Done, and recorded without its answer.")
	cancelled = story{
		word:   "cancelled",
		refuse: when{ends{notWritten, answered}, ends{notWritten, answered}},
		rerun:  when{ends{notWritten, answered}, ends{notWritten, answered}},
		says: "Each copy of the transaction was refused: nothing is written, and the key is released. " +
			"If the time ends before the last copy's answer: not recorded, and then as again, of a single shot as fresh.",
		cut: &untoldInside,
	}
	cancelledShot = story{word: cancelled.word, refuse: cancelled.refuse, rerun: cancelled.rerun, cut: &untoldShot}
	torn          = story{
		word:   "torn",
		refuse: when{ends{notWritten, unknown}, ends{notWritten, unknown}},
		rerun:  when{ends{notWritten, answered}, ends{notWritten, answered}},
		leaves: "UNKNOWN",
		says: "The same after a step: what belongs to the step is not there, so the outcome is marked unknown. " +
			"If the time ends before the last copy's answer: as untold.",
		cut: &untold,
	}
	untoldInside = held("", notRecorded, ends{notRecorded, answered}, ends{notRecorded, answered}, "")
	untoldShot   = always("", notRecorded, answered, "")
	behind       = always("behind", replayed, answered,
		"The retry comes first, and the delayed request meets its outcome.")
	late = held("late", answered, ends{answered, unknown}, ends{overtaken, answered},
		"A late owner ends its attempt unless another one has taken over; then it gets that one's outcome.")
	outrun = held("outrun", answered, ends{overtaken, answered}, ends{overtaken, answered},
		"The same where nothing can have happened outside of the table: the retry takes over without a policy.")
)

// stories in the page's order.
var stories = []story{fine, fresh, kept, open, again, turnedAway, heldBack, untold, bodiless, cancelled, torn, behind, late, outrun}

// role is what a call is for.
type role string

const (
	claim   role = "claim"                // acquire
	claimTx role = "claim, all inside"    // the same, by a request that promises steps and staged writes only
	begin   role = "begin"                // its record says that a step begins
	step    role = "step"                 // a step's result
	body    role = "body"                 // the items of a long answer
	outcome role = "outcome"              // complete
	commit  role = "commit"               // the outcome, and what was staged
	stepped role = "commit after a step"  // the same, and something has happened outside of the table
	shot    role = "commit without claim" // the same, of a single shot
)

// kind is what happens to a call, as far as it matters.
type kind int

const (
	died     kind = iota // the process, before the request has left
	diedDone             // the process, once the request is applied; nothing depends on whether it got the reply
	passing              // one message is lost, damaged or late, or one answer is a 500
	throttle             // the call is refused as often as it is sent
	delay                // the request, until the retry is over
)

// rules are all there are.
var rules = map[role][5]story{
	//        died   diedDone passing throttle    delay
	claim:   {fresh, open, fine, turnedAway, behind},
	claimTx: {fresh, again, fine, turnedAway, behind},
	begin:   {again, open, fine, heldBack, outrun},
	step:    {open, open, fine, untold, late},
	body:    {open, open, fine, bodiless, late},
	outcome: {open, kept, fine, untold, late},
	commit:  {again, kept, fine, cancelled, outrun},
	stepped: {open, kept, fine, torn, late},
	shot:    {fresh, kept, fine, cancelledShot, behind},
}

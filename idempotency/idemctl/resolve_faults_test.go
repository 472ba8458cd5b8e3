package main

import (
	"context"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

// The table takes the write, and its reply is lost: the repetition meets its own first copy (I7).
func TestResolve_ReplyLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.ReplyLost, localtest.RequestLost, localtest.TruncatedReply, localtest.ServerErrorApplied, localtest.Conflict} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.unknown(t, "1")
			f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: kind})
			f.run(t.Context(), t, "resolve", id, "-as", "completed", "-value", `"ch_1"`, "-yes").want(t, exitOK, "idemctl: resolved as completed\n")
			if value, ran, err := f.retry(t, "1"); value != "ch_1" || ran || err != nil {
				t.Errorf("retry = %q, ran %v, %v", value, ran, err)
			}
		})
	}
}

// The command is ended while the write is on its way; it looks what is there before it goes.
func TestResolve_NoAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind     localtest.FaultKind
		as       []string
		code     int
		says     string
		status   string
		runAgain string
	}{
		"written, completed":     {localtest.HangApplied, []string{"completed", "-value", `"ch_1"`}, exitOK, "there was no answer, but the record says so", statusCompleted, "says so already"},
		"written, failed":        {localtest.HangApplied, []string{"failed", "-error-type", "E", "-error-message", "no"}, exitOK, "there was no answer, but the record says so", statusFailed, "says so already"},
		"written, not done":      {localtest.HangApplied, []string{"not-done"}, exitOK, "there was no answer, but the record says so", statusReleased, "says so already"},
		"not written":            {localtest.Hang, []string{"completed", "-value", `"ch_1"`}, exitUnasked, "there was no answer, and nothing is written so far: run the same command again", "UNKNOWN", "resolved as completed"},
		"not written, not done":  {localtest.Hang, []string{"not-done"}, exitUnasked, "there was no answer, and nothing is written so far", "UNKNOWN", "resolved as not-done"},
		"written late, and once": {localtest.AppliedLate, []string{"completed", "-value", `"ch_1"`}, exitUnasked, "nothing is written so far", "UNKNOWN", "resolved as completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.unknown(t, "1")
			ctx, interrupt := context.WithCancel(t.Context())
			fault := localtest.Fault{Operation: "UpdateItem", Kind: tc.kind, Before: interrupt}
			if tc.kind == localtest.HangApplied {
				fault.Before, fault.After = nil, interrupt
			}
			f.db.Inject(fault)
			args := append([]string{"resolve", id, "-yes", "-as"}, tc.as...)
			res := f.run(ctx, t, args...)
			res.want(t, tc.code, tc.says)
			if got := f.record(t, id).Status; got != tc.status {
				t.Errorf("the record is %s, want %s", got, tc.status)
			}
			f.run(t.Context(), t, args...).want(t, exitOK, tc.runAgain)
			f.db.Flush() // what is late changes nothing any more
			if rec := f.record(t, id); rec.Unknown(f.now()) || rec.Attempt != 2 {
				t.Errorf("in the end the record is %+v", rec)
			}
		})
	}
}

// Neither the write nor the look after it has an answer.
func TestResolve_NothingAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	ctx, interrupt := context.WithCancel(t.Context())
	f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.HangApplied, After: interrupt})
	f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: localtest.AccessDenied, Nth: 2, Times: -1})
	f.run(ctx, t, "resolve", id, "-as", "not-done", "-yes").want(t, exitUnasked, "it may be written, or not: run the same command again, which finds out")
	f.db.ClearFaults()
	f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes").want(t, exitOK, "says so already")
}

func TestResolve_WrittenAndNotReadAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: localtest.AccessDenied, Nth: 2})
	f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes").want(t, exitUnasked, "resolved as not-done, but the record could not be read again")
}

func TestResolve_NotAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied})
	res := f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes")
	res.want(t, exitUnasked)
	if want := "idemctl: not allowed: the caller needs dynamodb:UpdateItem on the table " + f.table + " in us-east-1"; res.firstLine() != want {
		t.Errorf("first line %q, want %q", res.firstLine(), want)
	}
}

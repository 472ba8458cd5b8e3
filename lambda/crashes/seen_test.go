package main

import (
	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// seen is how a class looks to a caller.
type seen struct {
	class     class
	http      string // status and code, behind an HTTP API
	errorType string // of a typed handler, as Lambda reports it
	sentinel  error  // of a batch's message, as Batch.Failed is told
	says      string // for the page
}

var looks = []seen{
	{answered, "201", "", nil, "of its own run"},
	{replayed, "201", "", nil, "what is recorded; with `Idempotent-Replayed`"},
	{overtaken, "201", "", nil, "the same, and its own run has lost the lease to the one that has recorded it"},
	{gone, "500", "Runtime.ExitError", nil, "the process has died"},
	{inProgress, "409 operation_in_progress", "IdempotencyInProgress", idempotency.ErrInProgress, "ask again"},
	{unknown, "409 outcome_unknown", "IdempotencyOutcomeUnknown", idempotency.ErrOutcomeUnknown, "the effect may have happened; somebody has to look, or the policy is to be Rerun"},
	{unavailable, "503 idempotency_unavailable", "IdempotencyUnavailable", idempotency.ErrUnavailable, "nothing was run; ask again"},
	{notRecorded, "500 outcome_not_recorded", "IdempotencyNotRecorded", idempotency.ErrNotRecorded, "it was run, the effect may have happened"},
	{noBody, "409 outcome_not_stored", "IdempotencyNoBody", idempotency.ErrNoBody, "it is done, and its answer is not stored"},
	{notWritten, "500", "WriteError", nil, "the transaction was refused; nothing that was staged is there"},
	{mismatch, "422 idempotency_key_reused", "IdempotencyMismatch", idempotency.ErrMismatch, "the key belongs to another request"},
	{notStarted, "", "", lambda.ErrSkipped, ""},
}

// classOf is the first class that looks like that.
func classOf(looksLike func(seen) bool) (class, bool) {
	for _, s := range looks {
		if looksLike(s) {
			return s.class, true
		}
	}
	return unexpected, false
}

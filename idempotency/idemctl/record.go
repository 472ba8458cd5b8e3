package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// The statuses that are told apart here.
const (
	statusInProgress = "INPROGRESS"
	statusReleased   = "RELEASED"
	statusCompleted  = "COMPLETED"
	statusFailed     = "FAILED"
)

// state says in words where a record stands.
func state(rec idempotency.Record, now time.Time) string {
	switch {
	case rec.Status == statusInProgress && rec.Unknown(now):
		return rec.Status + ", and its lease is over: as good as UNKNOWN"
	case rec.Status == statusReleased:
		return rec.Status + ": the next request runs"
	case rec.Status == statusFailed:
		return rec.Status + ": a failure for good, which is replayed"
	}
	return rec.Status
}

// show writes a record for a person. Its outcome may be nobody's business, so only its size is shown.
func show(w io.Writer, rec idempotency.Record, now time.Time) {
	t := newTable(w)
	at := func(when time.Time) string { return fmt.Sprintf("%s (%s)", moment(when), distance(when, now)) }
	t.row("id", rec.ID)
	t.row("status", state(rec, now))
	if rec.Ref != "" {
		t.row("ref", rec.Ref)
	}
	t.row("attempt", fmt.Sprintf("%d, token %s", rec.Attempt, rec.Token))
	t.row("started", at(rec.Started))
	if !rec.LeaseEnd.IsZero() {
		t.row("lease until", at(rec.LeaseEnd))
	}
	if !rec.Completed.IsZero() {
		t.row("completed", at(rec.Completed))
		t.row("outcome", outcomeSize(rec))
	}
	t.row("window until", at(rec.Expires))
	if p := rec.Prior; p != nil {
		t.row("prior unknown", fmt.Sprintf("attempt %d, first one started %s, lease until %s", p.Number, moment(p.Started), moment(p.LeaseEnd)))
	}
	if len(rec.Steps) > 0 {
		t.row("steps", strings.Join(rec.Steps, ", "))
	}
	t.flush()
}

// outcomeSize says how long an outcome is, and how it is stored.
func outcomeSize(rec idempotency.Record) string {
	switch {
	case rec.Outcome == nil && sealed(rec):
		return "sealed: only the function's Config.Codec reads it"
	case rec.Outcome == nil && rec.Encoding != "none":
		return "cannot be read"
	case rec.Outcome == nil:
		return "done, but the answer was not stored"
	}
	size := bytesOf(len(rec.Outcome))
	if encoded(rec, "reference") {
		return "a reference of " + size + ", of which Request.Rebuild makes the answer"
	}
	if encoded(rec, "deflate") {
		return size + ", stored compressed"
	}
	return size
}

// encoded says that the word is among those of the record's encoding.
func encoded(rec idempotency.Record, word string) bool {
	return slices.Contains(strings.Split(rec.Encoding, "+"), word)
}

func sealed(rec idempotency.Record) bool { return encoded(rec, "sealed") }

// recordOf is a record, also one whose outcome cannot be read: unread says why.
func recordOf(ctx context.Context, r *idempotency.Runner, id string) (rec idempotency.Record, unread, err error) {
	rec, err = r.Record(ctx, id)
	if err != nil && !rec.Completed.IsZero() {
		return rec, err, nil
	}
	return rec, nil, err
}

// recordJSON is a record for a program.
type recordJSON struct {
	ID           string          `json:"id"`
	Operation    string          `json:"operation"`
	Status       string          `json:"status"`
	Unknown      bool            `json:"unknown"` // its attempt has ended without telling
	Ref          string          `json:"ref,omitempty"`
	Attempt      int64           `json:"attempt"`
	Token        string          `json:"token"`
	Started      time.Time       `json:"started"`
	LeaseEnd     *time.Time      `json:"leaseEnd,omitempty"`
	Completed    *time.Time      `json:"completed,omitempty"`
	WindowEnd    time.Time       `json:"windowEnd"`
	Prior        *priorJSON      `json:"prior,omitempty"`
	Steps        []string        `json:"steps,omitempty"`
	Encoding     string          `json:"encoding,omitempty"`     // of the outcome as it is stored: "none", "reference", "deflate", "sealed", joined by "+"
	OutcomeBytes *int            `json:"outcomeBytes,omitempty"` // absent: there is none, or it was not stored, or cannot be read
	Outcome      json.RawMessage `json:"outcome,omitempty"`
	OutcomeRaw   []byte          `json:"outcomeBase64,omitempty"` // of one that is not JSON
	Downstream   *downstreamJSON `json:"downstream,omitempty"`
}

type priorJSON struct {
	Attempt  int64     `json:"attempt"`
	Started  time.Time `json:"started"`
	LeaseEnd time.Time `json:"leaseEnd"`
}

type downstreamJSON struct {
	Name string `json:"name"`
	Key  string `json:"key"`
	UUID string `json:"uuid"`
}

func toJSON(rec idempotency.Record, now time.Time) recordJSON {
	out := recordJSON{
		ID: rec.ID, Operation: rec.Operation, Status: rec.Status, Unknown: rec.Unknown(now), Ref: rec.Ref, Attempt: rec.Attempt,
		Token: rec.Token, Started: rec.Started.UTC(), LeaseEnd: timeOrNil(rec.LeaseEnd), Completed: timeOrNil(rec.Completed),
		WindowEnd: rec.Expires.UTC(), Steps: rec.Steps, Encoding: rec.Encoding,
	}
	if p := rec.Prior; p != nil {
		out.Prior = &priorJSON{p.Number, p.Started.UTC(), p.LeaseEnd.UTC()}
	}
	if rec.Outcome != nil {
		n := len(rec.Outcome)
		out.OutcomeBytes = &n
	}
	return out
}

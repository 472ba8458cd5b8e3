package idempotency

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is what the table holds of a key, for a person, or for a program that asks the other side what has happened.
type Record struct {
	ID        string // operation, "#", hash; never the raw key
	Operation string
	Ref       string // Request.Ref, by which the business object is found
	Status    string // "INPROGRESS", "UNKNOWN", "RELEASED", "COMPLETED" or "FAILED"
	Attempt   int64  // the number of its last attempt
	Token     string // that one's token, which guards [Runner.Resolve]
	Started   time.Time
	LeaseEnd  time.Time // the zero time once there is an outcome
	Completed time.Time // the zero time until there is one
	Expires   time.Time // the end of the window: the next request after it runs
	Prior     *Prior    // the unknown before the attempt, which it had taken over
	Steps     []string  // names of the steps that are recorded, sorted
	Outcome   []byte    // what is replayed: a result as JSON, or the reference; nil if there is none, or none that could be stored
	Encoding  string    // how it is stored: "" as JSON, "none", or of "ref", "deflate" and "sealed" what was done to it, joined by "+"
}

// DownstreamKey is the [Attempt.DownstreamKey] that the record's attempts have used.
func (rec Record) DownstreamKey(name string) string { return downstreamKey(rec.ID, name) }

// DownstreamUUID is the [Attempt.DownstreamUUID] that the record's attempts have used.
func (rec Record) DownstreamUUID(name string) string { return downstreamUUID(rec.ID, name) }

// Unknown says that the record's last attempt has ended without telling: its status is UNKNOWN, or its lease is over.
func (rec Record) Unknown(now time.Time) bool {
	return rec.Status == string(unknown) || rec.Status == string(inProgress) && rec.LeaseEnd.Before(now)
}

// Record reads the record with that id, strongly consistent: whatever its status, and also after its window, as long as
// time to live has not deleted it. The id is that of an Event, a StateError or [Runner.RecordIDs]. The errors are
// [ErrNotFound], [ErrBadRecord] and [ErrUnavailable]. If it is the outcome alone that cannot be had, because its items are
// gone or this Runner has not the Codec that opens it, the Record comes with the error, without Outcome.
func (r *Runner) Record(ctx context.Context, id string) (Record, error) {
	switch {
	case r == nil || r.table.client == nil:
		return Record{}, invalid("Runner", "nil", "make one with New")
	case id == "":
		return Record{}, invalid("id", "empty", "give a record's id")
	}
	it, err := r.table.getItem(ctx, &meter{}, id, true)
	switch {
	case err != nil:
		return Record{}, &StateError{Err: fmt.Errorf("%w: read, table %s: %w", ErrUnavailable, r.table.name, err), ID: id}
	case len(it) == 0:
		return Record{}, &StateError{Err: ErrNotFound, ID: id}
	}
	rec, out, err := r.record(it)
	if err != nil || !rec.finished() || rec.body.encoding.none {
		return out, err
	}
	c := &call{r: r, id: id}
	if out.Outcome, err = c.bytes(ctx, rec); err != nil {
		return out, c.stateError(err, rec)
	}
	return out, nil
}

// RecordIDs returns the ids that the request's record may have: one, or with Config.Secrets one under each. Only Operation,
// Scope and Key count.
func (r *Runner) RecordIDs(req Request) ([]string, error) {
	req, err := r.fill(req)
	if err != nil {
		return nil, err
	}
	return r.ids(&req), nil
}

// record is an item for its reader, without the outcome.
func (r *Runner) record(it item) (*record, Record, error) {
	id := ""
	if v, ok := it[r.table.schema.PartitionKey].(*types.AttributeValueMemberS); ok {
		id = v.Value
	}
	rec, err := readRecord(it, r.table.schema)
	if err != nil {
		return nil, Record{ID: id}, &StateError{Err: err, ID: id}
	}
	operation := id
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		operation = id[:i]
	}
	out := Record{
		ID: id, Operation: operation, Ref: rec.ref, Status: string(rec.status), Attempt: rec.number, Token: rec.token,
		Started: rec.started, LeaseEnd: rec.leaseEnd, Completed: rec.completed, Encoding: rec.body.encoding.String(), Expires: time.Unix(rec.expires, 0).UTC(), Prior: rec.prior, Steps: rec.stepNames(),
	}
	if out.Prior != nil {
		out.Prior.Steps = slices.Clone(out.Steps)
	}
	return rec, out, nil
}

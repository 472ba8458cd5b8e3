package idempotency

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is a key whose outcome is unknown, as [Runner.Unknowns] finds it: for a person, or a program that asks the other
// side what has happened.
type Record struct {
	ID        string // operation, "#", hash; never the raw key
	Operation string
	Ref       string // Request.Ref, by which the business object is found
	Status    string // "UNKNOWN", or "INPROGRESS" with a lease that is over
	Attempt   int64  // the number of the attempt that ended without telling
	Token     string // its token, which guards [Runner.Resolve]
	Started   time.Time
	LeaseEnd  time.Time
	Expires   time.Time // the end of the window: the next request after it runs
	Prior     *Prior    // the unknown before it, which the attempt had taken over
	Steps     []string  // names of the steps that are recorded, sorted
}

// DownstreamKey is the [Attempt.DownstreamKey] that the record's attempts have used.
func (rec Record) DownstreamKey(name string) string { return downstreamKey(rec.ID, name) }

// DownstreamUUID is the [Attempt.DownstreamUUID] that the record's attempts have used.
func (rec Record) DownstreamUUID(name string) string { return downstreamUUID(rec.ID, name) }

// scanSegments is how many parts of the table are read at once.
const scanSegments = 4

// Unknowns finds the keys that wait for somebody: those with an unknown outcome, and those whose attempt's lease is over
// without any. It reads the whole table, 4 segments at a time, for half a read unit each 4 KB of all records: meant for
// a schedule or a person, not for a request. The order is the table's.
//
// An error comes with a Record that has at most the ID: a record that cannot be understood ([ErrBadRecord]), after which the
// others follow, or a part of the table that cannot be read ([ErrUnavailable]), whose rest is then missing. The reads have
// ended when the loop has.
//
// A record can change after it was read; [Runner.Resolve] notices. A transaction that crashed before its commit is among them,
// though the next request would run it by itself.
func (r *Runner) Unknowns(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if r == nil || r.table.client == nil {
			yield(Record{}, invalid("Runner", "nil", "make one with New"))
			return
		}
		caller := ctx
		ctx, cancel := context.WithCancel(ctx)
		pages := make(chan page)
		var segments sync.WaitGroup
		for segment := range int32(scanSegments) {
			segments.Go(func() { r.scan(ctx, segment, pages) })
		}
		go func() { segments.Wait(); close(pages) }()
		defer func() {
			cancel()
			for range pages { // until all have ended
			}
		}()
		told := false
		for p := range pages {
			if told = told || p.err != nil; p.err != nil && !yield(Record{}, p.err) {
				return
			}
			for _, it := range p.items {
				if rec, err := r.record(it); !yield(rec, err) {
					return
				}
			}
		}
		if cause := context.Cause(caller); cause != nil && !told {
			yield(Record{}, fmt.Errorf("%w: scan, table %s: %w", ErrUnavailable, r.table.name, cause))
		}
	}
}

// page is a part of what a segment has found, or why it has ended.
type page struct {
	items []item
	err   error
}

// unknownFilter is what takes a record over, read: resolved records and what is none are left out by the table.
const unknownFilter = "#expiry >= :expired AND (#status = :unknown OR (#status = :inprogress AND #in_progress_expiration < :now))"

func (r *Runner) scan(ctx context.Context, segment int32, pages chan<- page) {
	t := &r.table
	now := r.wallNow()
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.name), Segment: aws.Int32(segment), TotalSegments: aws.Int32(scanSegments),
		FilterExpression: aws.String(unknownFilter), ExpressionAttributeNames: newExpression(t.schema, unknownFilter, "").names,
		ExpressionAttributeValues: item{
			":expired": numberValue(expiredBefore(now)), ":now": timeValue(now),
			":unknown": textValue(string(unknown)), ":inprogress": textValue(string(inProgress)),
		},
	}
	if sk := t.schema.SortKey; sk != "" { // items of other sort keys are somebody else's
		in.FilterExpression = aws.String("#sk = :sk AND " + unknownFilter)
		in.ExpressionAttributeNames["#sk"] = sk
		in.ExpressionAttributeValues[":sk"] = textValue(t.schema.SortKeyValue)
	}
	for {
		p := page{}
		callCtx, done := limitCall(ctx)
		out, err := t.client.Scan(callCtx, in)
		done()
		if err != nil {
			p.err = fmt.Errorf("%w: scan, table %s: %w", ErrUnavailable, t.name, err)
		} else {
			p.items, in.ExclusiveStartKey = out.Items, out.LastEvaluatedKey
		}
		select {
		case pages <- p:
		case <-ctx.Done():
			if p.err == nil {
				return // the loop has ended, or the caller's context has, which is told at the end
			}
			pages <- p
		}
		if p.err != nil || len(in.ExclusiveStartKey) == 0 {
			return
		}
	}
}

// record is an item for its reader.
func (r *Runner) record(it item) (Record, error) {
	id := ""
	if v, ok := it[r.table.schema.PartitionKey].(*types.AttributeValueMemberS); ok {
		id = v.Value
	}
	rec, err := readRecord(it, r.table.schema)
	if err != nil {
		return Record{ID: id}, &StateError{Err: err, ID: id}
	}
	operation := id
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		operation = id[:i]
	}
	out := Record{
		ID: id, Operation: operation, Ref: rec.ref, Status: string(rec.status), Attempt: rec.number, Token: rec.token,
		Started: rec.started, LeaseEnd: rec.leaseEnd, Expires: time.Unix(rec.expires, 0).UTC(), Prior: rec.prior, Steps: rec.stepNames(),
	}
	if out.Prior != nil {
		out.Prior.Steps = slices.Clone(out.Steps)
	}
	return out, nil
}

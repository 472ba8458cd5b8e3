package idempotency

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

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
	return r.records(ctx, unknownFilter)
}

// Unfinished is Unknowns with the keys in progress besides: all that have no outcome yet and were not released.
func (r *Runner) Unfinished(ctx context.Context) iter.Seq2[Record, error] {
	return r.records(ctx, unfinishedFilter)
}

func (r *Runner) records(ctx context.Context, filter string) iter.Seq2[Record, error] {
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
			segments.Go(func() { r.scan(ctx, filter, segment, pages) })
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
				if _, rec, err := r.record(it); !yield(rec, err) {
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

// unknownFilter is what takes a record over, read: resolved records and what is none are left out by the table, such as those
// of Powertools for AWS Lambda, whose attributes have the same names.
const unknownFilter = "attribute_exists(#schema) AND #expiry >= :expired AND (#status = :unknown OR (#status = :inprogress AND #in_progress_expiration < :now))"

// unfinishedFilter leaves out what the next request replaces: a window that is over.
const unfinishedFilter = "attribute_exists(#schema) AND #expiry >= :expired AND (#status = :unknown OR #status = :inprogress)"

func (r *Runner) scan(ctx context.Context, filter string, segment int32, pages chan<- page) {
	t := &r.table
	now := r.wallNow()
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.name), Segment: aws.Int32(segment), TotalSegments: aws.Int32(scanSegments),
		FilterExpression: aws.String(filter), ExpressionAttributeNames: newExpression(t.schema, filter, "").names,
		ExpressionAttributeValues: item{
			":expired": numberValue(expiredBefore(now)),
			":unknown": textValue(string(unknown)), ":inprogress": textValue(string(inProgress)),
		},
	}
	if strings.Contains(filter, ":now") {
		in.ExpressionAttributeValues[":now"] = timeValue(now)
	}
	if sk := t.schema.SortKey; sk != "" { // items of other sort keys are somebody else's
		in.FilterExpression = aws.String("#sk = :sk AND " + filter)
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

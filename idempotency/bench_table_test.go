package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// BenchmarkGrowth is a first run, its replay and the record's removal, in a table of more and more records: what a request
// costs must not depend on how many others there were.
func BenchmarkGrowth(b *testing.B) {
	s := newBench(b)
	there := 0
	for _, records := range []int{100, 1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			s.fill(b, item{"status": text("COMPLETED"), "expiration": number(4102444800)}, there, records)
			there = max(there, records)
			runtime.GC() // of what filling has left
			b.ReportAllocs()
			for b.Loop() {
				must(b, first(s, 0))
				must(b, replay(s, 0))
				_, err := s.client.DeleteItem(s.ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: item{"id": text(benchID)}})
				must(b, err)
				s.db.ResetCalls()
			}
		})
	}
}

// BenchmarkUnknowns is recovery's scan of a table of which one record in a hundred is unknown.
func BenchmarkUnknowns(b *testing.B) {
	const records, unknowns = 10_000, 100
	s := newBench(b)
	must(b, first(s, 0))
	_, err := idempotency.Do(s.ctx, s.runner, benchRequest(1), func(context.Context) (benchReceipt, error) {
		return benchReceipt{}, idempotency.Unknown(errRanAgain)
	})
	if !errors.Is(err, errRanAgain) {
		b.Fatal(err)
	}
	s.fill(b, s.record(b, 0), 2, records-unknowns+1)
	s.fill(b, s.record(b, 1), records-unknowns+1, records)
	b.ReportAllocs()
	n, units := 0, 0.0
	for b.Loop() {
		n++
		found := 0
		for _, err := range s.runner.Unknowns(s.ctx) {
			must(b, err)
			found++
		}
		if found != unknowns {
			b.Fatalf("found %d", found)
		}
		for _, c := range s.db.Calls("Scan") {
			units += c.ReadUnits
		}
		s.db.ResetCalls()
	}
	b.ReportMetric(records*float64(n)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(units/float64(n), "read-units/op")
}

// record of the n-th request, as it is in the table.
func (s *bench) record(tb testing.TB, n int) item {
	tb.Helper()
	req := benchRequest(n)
	out, err := s.client.GetItem(s.ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(req)})
	must(tb, err)
	return out.Item
}

// fill puts copies of an item into the table, numbered like from to to-1.
func (s *bench) fill(tb testing.TB, like item, from, to int) {
	tb.Helper()
	const most = 25 // of a BatchWriteItem
	puts := make([]types.WriteRequest, 0, most)
	for n := from; n < to; n++ {
		it := maps.Clone(like)
		it["id"] = text(handID(n))
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		if len(puts) == most || n+1 == to {
			_, err := s.client.BatchWriteItem(s.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.table: puts}})
			must(tb, err)
			puts = puts[:0]
			s.db.ResetCalls()
		}
	}
}

package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

// pairs are held to send the same by a test, so that what is compared stays comparable.
var pairs = map[string]pair{
	"First":      {ours: first, hand: firstByHand, careful: firstCarefully},
	"Replay":     {before: atFirst, ours: replay, hand: replayByHand, careful: replayCarefully},
	"ReadFirst":  {before: atFirst, ours: replayByReading, hand: readByHand},
	"Claimed":    {ours: claimed, hand: claimedByHand},
	"SingleShot": {ours: singleShot, hand: singleShotByHand},
}

// BenchmarkFirst is a first run: two calls.
func BenchmarkFirst(b *testing.B) { pairs["First"].run(b) }

// BenchmarkReplay is the answer to a retry, out of the record that a failed condition returns: one call.
func BenchmarkReplay(b *testing.B) { pairs["Replay"].run(b) }

// BenchmarkReadFirst is the same by Request.ReadFirst: one read.
func BenchmarkReadFirst(b *testing.B) { pairs["ReadFirst"].run(b) }

// BenchmarkClaimed is a transaction with one staged write, behind a claim: two calls.
func BenchmarkClaimed(b *testing.B) { pairs["Claimed"].run(b) }

// BenchmarkSingleShot is the same in one call.
func BenchmarkSingleShot(b *testing.B) { pairs["SingleShot"].run(b) }

// benchInput is an order of a KB, as a client sends it.
var benchInput = func() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"customer":{"id":"cus_8c1f4c1e6f0d","name":"Zoë Example","email":"zoe@example.com"},"currency":"EUR","lines":[`)
	for i := range 12 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"A-%05d","description":"a thing","quantity":%d,"price":"%d.95"}`, i, 1+i%7, i%1000)
	}
	b.WriteString(`],"note":"leave it at the door"}`)
	return json.RawMessage(b.String())
}()

// benchReceipt is the answer, half a KB of JSON.
type benchReceipt struct {
	ID       string      `json:"id"`
	Status   string      `json:"status"`
	Currency string      `json:"currency"`
	Amount   int64       `json:"amount"`
	Captured bool        `json:"captured"`
	Created  int64       `json:"created"`
	Lines    []benchLine `json:"lines"`
}

type benchLine struct {
	SKU    string `json:"sku"`
	Amount int64  `json:"amount"`
	Tax    int64  `json:"tax"`
}

var benchAnswer = func() benchReceipt {
	r := benchReceipt{ID: "pay_3M5Jx2eZvKYlo2C", Status: "succeeded", Currency: "EUR", Amount: 129950, Captured: true, Created: 1700000000}
	for i := range 9 {
		r.Lines = append(r.Lines, benchLine{fmt.Sprintf("A-%05d", i), int64(1095 + i), 208})
	}
	return r
}()

func benchRequest(n int) idempotency.Request {
	return idempotency.Request{Operation: "pay", Scope: "alice", Key: strconv.Itoa(n), Input: benchInput}
}

var (
	errRanAgain    = errors.New("the handler runs, and should not")
	errWrongAnswer = errors.New("not the answer")
)

func first(s *bench, n int) error {
	_, err := idempotency.Do(s.ctx, s.runner, benchRequest(n), func(context.Context) (benchReceipt, error) { return benchAnswer, nil })
	return err
}

// atFirst leaves an outcome to be replayed, always of the same key.
func atFirst(s *bench, _ int) error { return first(s, 0) }

func replay(s *bench, _ int) error { return replayed(s, benchRequest(0)) }

func replayByReading(s *bench, _ int) error {
	req := benchRequest(0)
	req.ReadFirst = true
	return replayed(s, req)
}

func replayed(s *bench, req idempotency.Request) error {
	res, err := idempotency.Do(s.ctx, s.runner, req, func(context.Context) (benchReceipt, error) { return benchReceipt{}, errRanAgain })
	if err == nil && res.Value.Amount != benchAnswer.Amount {
		return errWrongAnswer
	}
	return err
}

// benchID is that of the record that atFirst leaves.
var benchID = idempotency.RecordID(nil, "pay", "alice", "0")

// BenchmarkCached is the same out of the process's own memory: no call.
func BenchmarkCached(b *testing.B) {
	s := newBench(b)
	r, err := idempotency.New(s.client, idempotency.Config{Table: s.table, Cache: 100})
	must(b, err)
	s.runner = r
	must(b, first(s, 0))
	s.db.ResetCalls()
	b.ReportAllocs()
	for b.Loop() {
		must(b, replay(s, 0))
	}
	if calls := s.db.Calls(""); len(calls) > 0 {
		b.Errorf("%d calls", len(calls))
	}
}

package idempotency_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// What the tests of body items share: answers of an exact size, and a look at the items beside a record.

const (
	block   = 384 << 10 // bytes of an answer in one item
	longest = 20 * block
)

func (l *link) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return through(l, "BatchGetItem", in, func() (*dynamodb.BatchGetItemOutput, error) { return l.Client.BatchGetItem(ctx, in, o...) })
}

func (l *link) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return through(l, "BatchWriteItem", in, func() (*dynamodb.BatchWriteItemOutput, error) { return l.Client.BatchWriteItem(ctx, in, o...) })
}

// sized is a Codec that makes whatever is stored exactly so many bytes long: a long body without a long answer.
type sized int

func long(bytes int) option { return func(s *settings) { s.Codec = sized(bytes) } }

// filling differs from block to block, so that items which change places are noticed.
var filling = sync.OnceValue(func() []byte {
	b := make([]byte, longest+1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
})

func (n sized) Seal(_ context.Context, _ string, data []byte) ([]byte, error) {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	if len(b) > int(n) {
		return nil, errors.New("the answer is longer than its body")
	}
	return append(b, filling()[len(b):n]...), nil
}

func (n sized) Open(_ context.Context, _ string, b []byte) ([]byte, error) {
	if size := binary.BigEndian.Uint32(b); len(b) == int(n) && int(size) <= len(b)-4 {
		return b[4 : 4+size], nil
	}
	return nil, errors.New("this body is another one")
}

// pointer is what a record says of its body's items.
type pointer struct {
	name         string
	count, bytes int64
	digest       []byte
}

// pointerIn reads the attribute body, or the value that an update sets it to.
func pointerIn(v types.AttributeValue) (p pointer, ok bool) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return p, false
	}
	it := item(m.Value)
	digest, _ := it["sha256"].(*types.AttributeValueMemberB)
	if digest == nil || len(it) != 4 {
		return p, false
	}
	return pointer{it.text("name"), it.number("items"), it.number("bytes"), digest.Value}, true
}

// ids are those of the items of a record.
func (p pointer) ids(record string) (ids []string) {
	for i := range p.count {
		ids = append(ids, fmt.Sprintf("%s#%s#%d", record, p.name, i))
	}
	return ids
}

func (f *fixture) keyOf(id string) item {
	s := f.schema
	if s.PartitionKey == "" {
		return item{"id": text(id)}
	}
	return item{s.PartitionKey: text(id), s.SortKey: text(s.SortKeyValue)}
}

// bodyItems are the ids of all items of the table that are no records.
func (f *fixture) bodyItems(tb testing.TB) (found []string) {
	tb.Helper()
	pk := cmp.Or(f.schema.PartitionKey, "id")
	in := &dynamodb.ScanInput{
		TableName: &f.table, ProjectionExpression: aws.String("#pk"), FilterExpression: aws.String("kind = :body"),
		ExpressionAttributeNames: map[string]string{"#pk": pk}, ExpressionAttributeValues: item{":body": text("body")},
	}
	for {
		out, err := f.plain.Scan(tb.Context(), in)
		if err != nil {
			tb.Fatal(err)
		}
		for _, it := range out.Items {
			found = append(found, item(it).text(pk))
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return found
		}
	}
}

// wantBeside says that the record points to so many items (H20, rule 25), which are there, are no records, live longer than
// it, fit into DynamoDB, and are what was written. Of a very long answer it reads the last item, since a replay compares the rest.
func (f *fixture) wantBeside(tb testing.TB, id string, count int64) pointer {
	tb.Helper()
	rec := f.at(tb, f.keyOf(id))
	expiry := cmp.Or(f.schema.Expiry, "expiration")
	p, ok := pointerIn(rec["body"])
	if !ok || p.count != count || rec.has("data") || rec.text("encoding") == "none" || rec.text("status") != "COMPLETED" && rec.text("status") != "FAILED" {
		tb.Fatalf("the record is %v, want an outcome in %d items", rec, count)
	}
	var data []byte
	ids := p.ids(id)
	whole := p.bytes < 2*block
	if !whole {
		if n := len(f.bodyItems(tb)); int64(n) != count {
			tb.Errorf("%d items, want %d", n, count)
		}
		ids = ids[count-1:]
	}
	for _, id := range ids {
		it := f.at(tb, f.keyOf(id))
		b, _ := it["data"].(*types.AttributeValueMemberB)
		if b == nil {
			tb.Fatalf("item %s is %v", id, it)
		}
		data = append(data, b.Value...)
		if it.text("kind") != "body" || it.has("status") || len(it) != len(f.keyOf(id))+3 {
			tb.Errorf("item %s has the attributes %v", id, slices.Sorted(maps.Keys(it)))
		}
		if after := it.number(expiry) - rec.number(expiry); after != 25*3600 {
			tb.Errorf("item %s expires %s after the record, want 25h", id, time.Duration(after)*time.Second)
		}
		if n := bytesOf(it); n > 400<<10 {
			tb.Errorf("item %s has %d bytes", id, n)
		}
	}
	if digest := sha256.Sum256(data); whole && (p.bytes != int64(len(data)) || !bytes.Equal(p.digest, digest[:])) {
		tb.Errorf("the items have %d bytes with SHA-256 %x, the record says %d with %x", len(data), digest, p.bytes, p.digest)
	}
	return p
}

// bytesOf is an item's size as DynamoDB limits it: names, texts and bytes, and of a number less than its digits.
func bytesOf(it item) (n int) {
	for name, v := range it {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)
		}
	}
	return n
}

// looksAhead makes the worker's every write that points to items look whether these are there (H20): no reader may ever follow
// a pointer into nothing.
func (w *worker) looksAhead(tb testing.TB) *worker {
	tb.Helper()
	check := func(id string, v types.AttributeValue) {
		p, ok := pointerIn(v)
		if !ok {
			return
		}
		for _, id := range p.ids(id) {
			if w.at(tb, w.keyOf(id)) == nil {
				tb.Errorf("a write points to item %s, which is not there", id)
			}
		}
	}
	w.sent = func(in any) {
		switch in := in.(type) {
		case *dynamodb.PutItemInput:
			check(item(in.Item).text("id"), in.Item["body"])
		case *dynamodb.UpdateItemInput:
			check(item(in.Key).text("id"), in.ExpressionAttributeValues[":body"])
		case *dynamodb.TransactWriteItemsInput:
			for _, a := range in.TransactItems {
				if a.Put != nil {
					check(item(a.Put.Item).text("id"), a.Put.Item["body"])
				}
				if a.Update != nil {
					check(item(a.Update.Key).text("id"), a.Update.ExpressionAttributeValues[":body"])
				}
			}
		}
	}
	return w
}

// ofBody says of a call whether it writes body items: what is about records has a condition.
func ofBody(c localtest.Call) bool {
	return c.Condition == "" && (c.Operation == "PutItem" || c.Operation == "BatchWriteItem")
}

// wantNoBody says that the request is told that it is done, and nothing runs.
func (w *worker) wantNoBody(tb testing.TB, req idempotency.Request) {
	tb.Helper()
	runs := int(w.runs.Load())
	res, err := w.do(localtest.Invocation(tb, 3*time.Second), req, returns("again"))
	if wantErr(tb, err, idempotency.ErrNoBody); !res.Replayed || res.CompletedAt.IsZero() {
		tb.Errorf("got %+v", res)
	}
	w.wantRuns(tb, runs)
}

// lastErr is what the last event tells.
func (f *fixture) lastErr(tb testing.TB, kind idempotency.Kind) error {
	tb.Helper()
	last := f.seen()[len(f.seen())-1]
	if last.Kind != kind {
		tb.Errorf("the last event is %s, want %s", last.Kind, kind)
	}
	return last.Err
}

// wantCause says that an error names what is behind it.
func wantCause(tb testing.TB, err error, words string) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		tb.Errorf("error %v, want one with %q", err, words)
	}
}

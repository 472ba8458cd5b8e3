package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H20, rule 25: where answers of what size are kept, and that they come back byte for byte.

// manyBytes repeat themselves, too far apart for compression to find it, since making noise takes longer than most tests.
var manyBytes = sync.OnceValue(func() string { return strings.Repeat(noise(128<<10), 48) })

func TestBody_Layout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		value func() string
		items int64
	}{
		{"half a KB", func() string { return manyBytes()[:512] }, 0},
		{"2 KB", func() string { return manyBytes()[:2<<10] }, 1},
		{"10 KB", func() string { return manyBytes()[:10<<10] }, 1},
		{"100 KB", func() string { return manyBytes()[:100<<10] }, 1},
		{"1 MB", func() string { return manyBytes()[:1<<20] }, 3},
		{"6 MB", manyBytes, 14}, // Lambda's own limit
		{"1 MB of which 1 KB is left", func() string { return strings.Repeat("x", 1<<20) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, value := newFixture(t), request("k"), tt.value()
				w := f.worker(t)
				if res, err := w.do(soon(t), req, returns(value)); err != nil || res.Value != value {
					t.Fatalf("the first caller got %d bytes, %v", len(res.Value), err)
				}
				if tt.items == 0 {
					if it := f.wantStatus(t, req, "COMPLETED"); !it.has("data") || it.has("body") {
						t.Errorf("the record is %v", it)
					}
				} else {
					f.wantBeside(t, id(req), tt.items)
				}
				if n := len(f.bodyItems(t)); n != int(tt.items) {
					t.Errorf("%d items, want %d", n, tt.items)
				}
				f.quiet()
				if res, err := f.worker(t).do(soon(t), req, returns("again")); err != nil || res.Value != value || !res.Replayed {
					t.Errorf("replayed %d bytes, %v", len(res.Value), err)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// The bounds, of what is stored: in the record, in one item, in several, and nowhere.
func TestBody_Bounds(t *testing.T) {
	t.Parallel()
	const most = 392 << 10 // of Config.Inline
	for _, tt := range []struct {
		bytes, inline int
		items         int64 // -1: not stored
		write         string
	}{
		{idempotency.DefaultInline, 0, 0, ""},
		{idempotency.DefaultInline + 1, 0, 1, "PutItem"},
		{block, 0, 1, "PutItem"},
		{block + 1, 0, 2, "BatchWriteItem"},
		{longest + 1, 0, -1, ""},
		{200, 100, 1, "PutItem"},
		{100, 100, 0, ""},
		{most, most, 0, ""},
		{most + 1, most, 2, "BatchWriteItem"},
	} {
		t.Run(fmt.Sprintf("%d of %d", tt.bytes, tt.inline), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, long(tt.bytes), func(s *settings) { s.Inline = tt.inline })
				res, err := w.do(soon(t), req, returns("answer"))
				wantAnswer(t, res, err, "answer", false)
				if tt.write == "" {
					f.wantCalls(t, "PutItem", "UpdateItem")
				} else {
					f.wantCalls(t, "PutItem", tt.write, "UpdateItem")
				}
				err = f.lastErr(t, idempotency.KindCompleted)
				switch it := f.wantStatus(t, req, "COMPLETED"); {
				case tt.items < 0:
					if it.text("encoding") != "none" || it.has("data") || it.has("body") {
						t.Errorf("the record is %v", it)
					}
					wantCause(t, err, "7.5 MiB")
					w.wantNoBody(t, req)
					return
				case err != nil:
					t.Errorf("the event tells of %v", err)
				case tt.items == 0 && (!it.has("data") || it.has("body")):
					t.Error("the answer is not in the record")
				case tt.items > 0:
					f.wantBeside(t, id(req), tt.items)
				}
				res, err = w.do(soon(t), req, returns("again"))
				wantAnswer(t, res, err, "answer", true)
				f.wantRuns(t, 1)
			})
		})
	}
}

// The items live a day longer than the record, whatever decides how long that is, and bear the table's own names.
func TestBody_ExpiryAndNames(t *testing.T) {
	t.Parallel()
	single := idempotency.Schema{PartitionKey: "pk", SortKey: "sk", SortKeyValue: "IDEMPOTENCY", Expiry: "ttl"}
	for name, tt := range map[string]struct {
		schema    idempotency.Schema
		retention time.Duration
		h         handler
		status    string
	}{
		"default":     {idempotency.Schema{}, 0, returns("answer"), "COMPLETED"},
		"14 days":     {idempotency.Schema{}, 14 * day, returns("answer"), "COMPLETED"},
		"a second":    {idempotency.Schema{}, time.Second, returns("answer"), "COMPLETED"},
		"a failure":   {idempotency.Schema{}, 0, fails(idempotency.Terminal(errPlain)), "FAILED"},
		"other names": {single, 0, returns("answer"), "COMPLETED"},
	} {
		for _, size := range []int{4 << 10, block + 1} {
			if size > block && name != "other names" {
				continue
			}
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					if tt.schema != f.schema {
						f.schema, f.table = tt.schema, f.db.CreateTable(t, idempotency.Table("single", tt.schema))
					}
					req.Retention = tt.retention
					w := f.worker(t, long(size))
					pass(300 * time.Millisecond)
					_, _ = w.do(soon(t), req, func(ctx context.Context) (string, error) {
						pass(time.Second) // the window counts from the end
						return tt.h(ctx)
					})
					f.wantBeside(t, id(req), int64(1+size/block))
					if got := f.at(t, f.keyOf(id(req))).text("status"); got != tt.status {
						t.Errorf("the record's status is %q, want %q", got, tt.status)
					}
					res, err := w.do(soon(t), req, returns("again"))
					if tt.status == "FAILED" {
						wantCause(t, err, errPlain.Error())
						return
					}
					wantAnswer(t, res, err, "answer", true)
				})
			})
		}
	}
}

// H20 (f): nothing takes a body's item for a record, and no client can choose a key that meets one.
func TestBody_NoRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, open := newFixture(t), request("k"), request("unknown")
		f.make(t, "unknown", open)
		w, small := f.worker(t, long(4<<10)), f.worker(t)
		w.must(soon(t), t, req, returns("answer"))
		name := f.wantBeside(t, id(req), 1).ids(id(req))[0]
		before := f.at(t, f.keyOf(name))
		for _, search := range []iter.Seq2[idempotency.Record, error]{w.runner.Unknowns(t.Context()), w.runner.Unfinished(t.Context())} {
			for found, err := range search {
				if err != nil || found.ID != id(open) {
					t.Errorf("found %+v, %v", found, err)
				}
			}
		}
		rec, err := w.runner.Record(t.Context(), id(req))
		if err != nil || string(rec.Outcome) != `"answer"` || rec.Encoding != "sealed" {
			t.Errorf("the record is %+v, %v", rec, err)
		}
		_, err = w.runner.Record(t.Context(), name)
		wantErr(t, err, idempotency.ErrBadRecord)

		rest, index := strings.TrimPrefix(name, id(req)), strings.LastIndex(name, "#")
		for _, meets := range []idempotency.Request{
			{Operation: req.Operation, Key: name},
			{Operation: req.Operation, Key: req.Key + rest},
			{Operation: id(req), Key: rest},
			{Operation: name[:index], Key: name[index+1:]},
			{Operation: name, Key: "0"},
		} {
			meets.Scope, meets.Input = req.Scope, idempotency.AnyInput
			res, err := small.do(soon(t), meets, returns("another"))
			wantAnswer(t, res, err, "another", false)
		}
		if !reflect.DeepEqual(f.at(t, f.keyOf(name)), before) {
			t.Error("the item was changed")
		}
		res, err := w.do(soon(t), req, returns("again"))
		wantAnswer(t, res, err, "answer", true)
	})
}

// C34: what a handler keeps of its answer, or a caller does with what it got, changes neither the items nor a later replay.
func TestBody_Aliased(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 10 << 10} {
		t.Run(fmt.Sprint("[]byte ", size), func(t *testing.T) {
			t.Parallel()
			aliased(t, []byte(manyBytes()[:size]))
		})
		t.Run(fmt.Sprint("json.RawMessage ", size), func(t *testing.T) {
			t.Parallel()
			aliased(t, json.RawMessage(`"`+manyBytes()[:size]+`"`))
		})
	}
}

func aliased[T ~[]byte](t *testing.T, mine T) {
	t.Helper()
	for name, option := range map[string]option{"": func(*settings) {}, "cached": func(s *settings) { s.Cache = 10 }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := string(mine)
				kept := append(T(nil), mine...)
				w := newFixture(t).worker(t, option)
				ask := func() {
					res, err := idempotency.Do(localtest.Invocation(t, time.Minute), w.runner, request("k"), func(context.Context) (T, error) {
						w.runs.Add(1)
						return kept, nil
					})
					if err != nil || string(res.Value) != want {
						t.Errorf("got %d other bytes, %v", len(res.Value), err)
					}
					clear(res.Value)
				}
				ask()
				clear(kept)
				var twins sync.WaitGroup
				for range 4 { // at once: the race detector sees what they share
					twins.Go(ask)
				}
				twins.Wait()
				ask()
				w.wantRuns(t, 1)
			})
		})
	}
}

// The longest body is written, in one batch: what is sent is looked at here, and TestResults_Size stores one nearly as long.
func TestBody_Longest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, long(longest))
		var sent []int
		w.sent = func(in any) {
			if batch, ok := in.(*dynamodb.BatchWriteItemInput); ok {
				for _, write := range batch.RequestItems[f.table] {
					sent = append(sent, len(write.PutRequest.Item["data"].(*types.AttributeValueMemberB).Value))
				}
			}
		}
		w.before = func(operation string) error {
			if operation == "BatchWriteItem" {
				return &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}
			}
			return nil
		}
		w.must(soon(t), t, req, returns("answer"))
		if want := slices.Repeat([]int{block}, 20); !slices.Equal(sent, want) {
			t.Errorf("sent items of %v bytes, want %v", sent, want)
		}
	})
}

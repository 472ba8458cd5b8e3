package idempotency_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H20, rule 25: what goes wrong while a body's items are read. Whatever it is, the work is done and no handler runs.

// stored records an answer beside its record and returns the ids of its items.
func (f *fixture) stored(t *testing.T, req idempotency.Request, bytes int) (ids []string) {
	t.Helper()
	f.worker(t, long(bytes)).must(soon(t), t, req, returns("answer"))
	p, ok := pointerIn(f.record(t, req)["body"])
	if !ok {
		t.Fatalf("the record is %v", f.record(t, req))
	}
	f.quiet()
	return p.ids(id(req))
}

// behind is a client whose eventually consistent reads do not find some items yet.
type behind struct {
	idempotency.Client
	unseen []string
}

func (b *behind) hides(consistent *bool, it item) bool {
	return !aws.ToBool(consistent) && slices.Contains(b.unseen, it.text("id"))
}

func (b *behind) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := b.Client.GetItem(ctx, in, o...)
	if err == nil && b.hides(in.ConsistentRead, out.Item) {
		out.Item = nil
	}
	return out, err
}

func (b *behind) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := b.Client.BatchGetItem(ctx, in, o...)
	if err == nil {
		for table, items := range out.Responses {
			out.Responses[table] = slices.DeleteFunc(items, func(it map[string]types.AttributeValue) bool {
				return b.hides(in.RequestItems[table].ConsistentRead, it)
			})
		}
	}
	return out, err
}

// H20 (d): what was written a moment ago and is not to be seen yet is asked for once more, strongly consistent: it alone.
func TestBodyRead_NotSeenYet(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	// 4 KB and a little are 2 blocks of 4 KB to read, 384 KB and a little are 97; half a unit each, or a whole one.
	for name, tt := range map[string]struct {
		bytes  int
		unseen []int
		calls  []string
		again  [][]int // what each read asks for
		units  float64
	}{
		"one":       {4 << 10, []int{0}, []string{"PutItem", "GetItem", "GetItem"}, nil, 1 + 2},
		"one, seen": {4 << 10, nil, []string{"PutItem", "GetItem"}, nil, 1},
		"the last": {
			block + 1,
			[]int{1},
			[]string{"PutItem", "BatchGetItem", "BatchGetItem"},
			[][]int{{0, 1}, {1}},
			48.5 + 0.5 + 1,
		},
		"the first": {
			block + 1,
			[]int{0},
			[]string{"PutItem", "BatchGetItem", "BatchGetItem"},
			[][]int{{0, 1}, {0}},
			48.5 + 0.5 + 97,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				ids := f.stored(t, req, tt.bytes)
				w := f.worker(t, long(tt.bytes))
				late := &behind{Client: w.Client}
				for _, i := range tt.unseen {
					late.unseen = append(late.unseen, ids[i])
				}
				w.Client = late
				var asked [][]int
				w.sent = func(in any) {
					if batch, ok := in.(*dynamodb.BatchGetItemInput); ok {
						keys := batch.RequestItems[f.table]
						if aws.ToBool(keys.ConsistentRead) != (len(asked) > 0) {
							t.Errorf("read %d is consistent: %t", len(asked), len(asked) == 0)
						}
						var indices []int
						for _, k := range keys.Keys {
							indices = append(indices, slices.Index(ids, item(k).text("id")))
						}
						asked = append(asked, indices)
					}
				}
				res, err := w.do(soon(t), req, returns("again"))
				wantAnswer(t, res, err, "answer", true)
				f.wantCalls(t, tt.calls...)
				if fmt.Sprint(asked) != fmt.Sprint(tt.again) {
					t.Errorf("asked for %v, want %v", asked, tt.again)
				}
				write, read := unitsOf(f.db.Calls(""))
				if e := f.seen()[0]; read != tt.units || e.ReadUnits != read || e.WriteUnits != write {
					t.Errorf("billed %v read units, want %v; the event is %+v", read, tt.units, e)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// What is lost for good is told as done without an outcome, with its cause; what is there and is not what was written is a
// record that is not understood. The record stays.
func TestBodyRead_LostOrDamaged(t *testing.T) {
	t.Parallel()
	change := func(f func([]byte) []byte) func(item) item {
		return func(it item) item {
			it = maps.Clone(it)
			it["data"] = &types.AttributeValueMemberB{Value: f(slices.Clone(it["data"].(*types.AttributeValueMemberB).Value))}
			return it
		}
	}
	for name, tt := range map[string]struct {
		harm func(item) item // nil: it is gone
		want error
		says string
	}{
		"gone":      {nil, idempotency.ErrNoBody, "items are lost"},
		"a bit":     {change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), idempotency.ErrBadRecord, "not what was written"},
		"cut":       {change(func(b []byte) []byte { return b[1:] }), idempotency.ErrBadRecord, "not what was written"},
		"longer":    {change(func(b []byte) []byte { return append(b, 0) }), idempotency.ErrBadRecord, "not what was written"},
		"empty":     {change(func([]byte) []byte { return []byte{} }), idempotency.ErrBadRecord, "not what was written"},
		"text":      {func(it item) item { return with(it, "data", text("x")) }, idempotency.ErrBadRecord, "not what was written"},
		"no data":   {func(it item) item { return with(it, "data", nil) }, idempotency.ErrBadRecord, "not what was written"},
		"another's": {change(func(b []byte) []byte { return filling()[longest-len(b) : longest] }), idempotency.ErrBadRecord, "not what was written"},
	} {
		for size, bytes := range sizes {
			for i := range (bytes + block - 1) / block {
				if size == "several" && (name != "gone" || i != 1) && (name != "a bit" || i != 0) {
					continue // these two show that each item is looked at
				}
				t.Run(fmt.Sprintf("%s/%s, item %d", name, size, i), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f, req := newFixture(t), request("k")
						harmed := f.stored(t, req, bytes)[i]
						if tt.harm == nil {
							f.delete(t, harmed)
						} else {
							f.put(t, tt.harm(f.at(t, f.keyOf(harmed))))
						}
						f.wantNotReplayed(t, req, bytes, tt.want, tt.says)
					})
				})
			}
		}
	}
}

// with is the item with another attribute in the place of one, or without it.
func with(it item, name string, v types.AttributeValue) item {
	it = maps.Clone(it)
	if it[name] = v; v == nil {
		delete(it, name)
	}
	return it
}

// The record's own words about its items are as good as the items: a wrong one is noticed.
func TestBodyRead_WrongPointer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change item // of the attribute body
		want   error
		says   string
	}{
		"another name":  {item{"name": text("OTHER")}, idempotency.ErrNoBody, "1 of 1 are not there"},
		"an item more":  {item{"items": number(2)}, idempotency.ErrNoBody, "1 of 2 are not there"},
		"another size":  {item{"bytes": number(block)}, idempotency.ErrBadRecord, "not what was written"},
		"another hash":  {item{"sha256": &types.AttributeValueMemberB{Value: make([]byte, 32)}}, idempotency.ErrBadRecord, "not what was written"},
		"too many":      {item{"items": number(21)}, idempotency.ErrBadRecord, "reads up to 20"},
		"no item":       {item{"items": number(0)}, idempotency.ErrBadRecord, "0 items"},
		"a short hash":  {item{"sha256": &types.AttributeValueMemberB{Value: make([]byte, 31)}}, idempotency.ErrBadRecord, "sha256"},
		"count as text": {item{"items": text("1")}, idempotency.ErrBadRecord, "items"},
		"no name":       {item{"name": nil}, idempotency.ErrBadRecord, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.stored(t, req, 4<<10)
				body := maps.Clone(f.record(t, req)["body"].(*types.AttributeValueMemberM).Value)
				maps.Copy(body, tt.change)
				maps.DeleteFunc(body, func(_ string, v types.AttributeValue) bool { return v == nil })
				f.edit(t, req, item{"body": &types.AttributeValueMemberM{Value: body}})
				f.wantNotReplayed(t, req, 4<<10, tt.want, tt.says)
			})
		})
	}
	t.Run("no map", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, req := newFixture(t), request("k")
			f.stored(t, req, 4<<10)
			f.edit(t, req, item{"body": text("items")})
			f.wantNotReplayed(t, req, 4<<10, idempotency.ErrBadRecord, "must be a map")
		})
	})
}

// wantNotReplayed says that on every way to the answer the caller gets the error, and the record stays.
func (f *fixture) wantNotReplayed(t *testing.T, req idempotency.Request, bytes int, want error, says string) {
	t.Helper()
	before := f.record(t, req)
	w := f.worker(t, rerun, long(bytes))
	for name, ask := range map[string]func() (idempotency.Result[string], error){
		"Do":     func() (idempotency.Result[string], error) { return w.do(soon(t), req, returns("again")) },
		"Lookup": func() (idempotency.Result[string], error) { return idempotency.Lookup[string](soon(t), w.runner, req) },
		"Record": func() (res idempotency.Result[string], err error) {
			rec, err := w.runner.Record(soon(t), id(req))
			if rec.Outcome != nil {
				t.Errorf("Record returns the outcome %q", rec.Outcome)
			}
			return res, err
		},
	} {
		f.quiet()
		res, err := ask()
		wantErr(t, err, want)
		wantCause(t, err, says)
		if res.Value != "" {
			t.Errorf("%s: got %q", name, res.Value)
		}
		if name == "Record" {
			continue
		}
		wantErr(t, f.lastErr(t, idempotency.KindStoreFailure), want) // somebody has to see to it
	}
	f.wantRuns(t, 0)
	f.wantUntouched(t, req, before)
}

func (f *fixture) delete(t *testing.T, id string) {
	t.Helper()
	if _, err := f.plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: f.keyOf(id)}); err != nil {
		t.Fatal(err)
	}
}

// A read that goes wrong once is made again; one that has no answer, or is refused, leaves the caller with a retry, which gets
// the answer once the table can be read.
func TestBodyRead_Faults(t *testing.T) {
	t.Parallel()
	kinds := map[string][]localtest.FaultKind{
		"one":     append([]localtest.FaultKind{localtest.AccessDenied, localtest.Unavailable}, faultKinds...),
		"several": {localtest.Throttled, localtest.Unprocessed},
	}
	for size, bytes := range sizes {
		operation := map[string]string{"one": "GetItem", "several": "BatchGetItem"}[size]
		for _, kind := range kinds[size] {
			for _, times := range []int{1, forever} {
				t.Run(fmt.Sprintf("%s/%s, %d times", size, kind, times), func(t *testing.T) {
					t.Parallel()
					if kind == localtest.Unprocessed {
						localtest.OnlyEmbedded(t, "Unprocessed")
					}
					synctest.Test(t, func(t *testing.T) {
						f, req := newFixture(t), request("k")
						f.stored(t, req, bytes)
						before := f.record(t, req)
						w := f.worker(t, withoutRetries, long(bytes))
						f.quiet()
						f.inject(operation, kind, times)
						res, err := w.do(soon(t), req, returns("again"))
						f.db.ClearFaults()
						if times == forever || kind == localtest.AccessDenied {
							wantErr(t, err, idempotency.ErrUnavailable)
							wantErr(t, f.lastErr(t, idempotency.KindStoreFailure), idempotency.ErrUnavailable)
							res, err = w.do(soon(t), req, returns("again"))
						}
						wantAnswer(t, res, err, "answer", true)
						f.wantRuns(t, 0)
						f.wantUntouched(t, req, before)
					})
				})
			}
		}
	}
}

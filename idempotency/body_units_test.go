package idempotency_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// What long answers cost, in calls and units as billed, and that the events tell the same. An item of 384 KB has 385 write units
// with its other attributes, and 48.5 read units where it need not be up to date.
func TestBodyUnits(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	type bill struct {
		calls       []string
		write, read float64
	}
	for _, tt := range []struct {
		name                 string
		bytes                int
		first, replay        bill
		firstRead, replyRead bill // with Request.ReadFirst, which looks in half a unit
	}{
		{
			"10 KB", 10 << 10,
			bill{[]string{"PutItem", "PutItem", "UpdateItem"}, 1 + 11 + 1, 0},
			bill{[]string{"PutItem", "GetItem"}, 1, 1.5},
			bill{[]string{"GetItem", "PutItem", "PutItem", "UpdateItem"}, 1 + 11 + 1, 0.5},
			bill{[]string{"GetItem", "GetItem"}, 0, 0.5 + 1.5},
		},
		{
			"1 MB", 1 << 20,
			bill{[]string{"PutItem", "BatchWriteItem", "UpdateItem"}, 1 + 385 + 385 + 257 + 1, 0},
			bill{[]string{"PutItem", "BatchGetItem"}, 1, 48.5 + 48.5 + 32.5},
			bill{}, // as above
			bill{[]string{"GetItem", "BatchGetItem"}, 0, 0.5 + 48.5 + 48.5 + 32.5},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, long(tt.bytes))
				ask := func(what string, req idempotency.Request, want bill, replayed bool) {
					if want.calls == nil {
						return
					}
					f.quiet()
					res, err := w.do(soon(t), req, returns("answer"))
					wantAnswer(t, res, err, "answer", replayed)
					f.wantCalls(t, want.calls...)
					f.wantToldBill(t)
					if write, read := unitsOf(f.db.Calls("")); write != want.write || read != want.read {
						t.Errorf("%s: billed %v write and %v read units, want %v and %v", what, write, read, want.write, want.read)
					}
				}
				ask("first run", request("k"), tt.first, false)
				ask("replay", request("k"), tt.replay, true)
				ask("replay by a read", readingFirst(request("k")), tt.replyRead, true)
				ask("first run after a read", readingFirst(request("l")), tt.firstRead, false)
			})
		})
	}
}

// Whatever the size, the events tell of all that is billed: of nothing beside the record, of one item, of many.
func TestBodyUnits_ToldOfEachSize(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	for name, value := range map[string]string{"half a KB": manyBytes()[:512], "100 KB": manyBytes()[:100<<10], "6 MB": manyBytes()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t)
				for _, replayed := range []bool{false, true} {
					f.quiet()
					res, err := w.do(soon(t), request("k"), returns(value))
					wantAnswer(t, res, err, value, replayed)
					f.wantToldBill(t)
				}
			})
		})
	}
}

// wantToldBill says that the events tell of the units that were billed since the last quiet.
func (f *fixture) wantToldBill(tb testing.TB) {
	tb.Helper()
	var write, read float64
	for _, e := range f.seen() {
		write, read = write+e.WriteUnits, read+e.ReadUnits
	}
	if w, r := unitsOf(f.db.Calls("")); write != w || read != r {
		tb.Errorf("events tell of %v write and %v read units, billed were %v and %v", write, read, w, r)
	}
}

// The resolution of an unknown tells of its items too.
func TestBodyUnits_Resolve(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.make(t, "unknown", req)
		found := f.onlyUnknown(t)
		f.quiet()
		if err := f.worker(t, long(10<<10)).runner.Resolve(t.Context(), found, idempotency.Completed("by hand")); err != nil {
			t.Fatal(err)
		}
		f.wantCalls(t, "PutItem", "UpdateItem")
		if e := f.seen()[0]; e.WriteUnits != 11+1 || e.ReadUnits != 0 {
			t.Errorf("the event is %+v, want 12 write units", e)
		}
	})
}

// What is done in parts is billed in parts, and told as a whole.
func TestBodyUnits_Unprocessed(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill, Unprocessed")
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.inject("BatchWriteItem", localtest.Unprocessed, 1)
		f.inject("BatchGetItem", localtest.Unprocessed, 1)
		w := f.worker(t, long(block+1))
		w.must(localtest.Invocation(t, 3*time.Second), t, request("k"), returns("answer"))
		res, err := w.do(soon(t), request("k"), returns("again"))
		wantAnswer(t, res, err, "answer", true)
		f.wantCalls(t, "PutItem", "BatchWriteItem", "BatchWriteItem", "UpdateItem", "PutItem", "BatchGetItem", "BatchGetItem")
		f.wantToldBill(t)
		if write, read := unitsOf(f.db.Calls("")); write != 1+385+1+1+1 || read != 48.5+0.5 {
			t.Errorf("billed %v write and %v read units", write, read)
		}
	})
}

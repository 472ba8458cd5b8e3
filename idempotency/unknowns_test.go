package idempotency_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// found reads all that Unknowns finds; it must find no errors.
func (w *worker) unknowns(ctx context.Context, tb testing.TB) map[string]idempotency.Record {
	tb.Helper()
	found := map[string]idempotency.Record{}
	for rec, err := range w.runner.Unknowns(ctx) {
		if err != nil {
			tb.Errorf("%+v: %v", rec, err)
		}
		if _, twice := found[rec.ID]; twice {
			tb.Errorf("%s was found twice", rec.ID)
		}
		found[rec.ID] = rec
	}
	return found
}

func id(req idempotency.Request) string { return key(req).text("id") }

// copies puts n copies of an item under other ids, each with a filling of so many bytes.
func (f *fixture) copies(tb testing.TB, it item, n, filling int) {
	tb.Helper()
	var writes []types.WriteRequest
	flush := func() {
		if len(writes) == 0 {
			return
		}
		if _, err := f.plain.BatchWriteItem(tb.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{f.table: writes}}); err != nil {
			tb.Fatal(err)
		}
		writes = nil
	}
	for i := range n {
		it := maps.Clone(it)
		it["id"], it["filling"] = text(fmt.Sprintf("charge#%d", i)), text(strings.Repeat("x", filling))
		if writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}); len(writes) == 25 {
			flush()
		}
	}
	flush()
}

// Those that wait for somebody are found, and no others.
func TestUnknowns_Finds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over := request("window over")
		f.make(t, "unknown", over)
		f.make(t, "crashed", request("crashed, window over"))
		pass(2 * day)
		for _, found := range founds {
			found.make(t, f, request(found.name))
		}
		f.copies(t, item{"status": text("OPEN"), "expiration": number(time.Now().Add(day).Unix())}, 3, 1) // somebody else's
		f.edit(t, request("body"), item{"body": text("of an outcome"), "expiration": number(time.Now().Add(day).Unix())})
		seen := f.worker(t).unknowns(t.Context(), t)
		if got, want := slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values([]string{id(request("crashed")), id(request("unknown"))})); !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
	})
}

// The lease's end is looked at by the table.
func TestUnknowns_Lease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.worker(t).crash(localtest.Invocation(t, time.Second), req)
		end := time.UnixMilli(f.record(t, req).number("in_progress_expiration"))
		pass(time.Until(end))
		if seen := f.worker(t).unknowns(t.Context(), t); len(seen) != 0 {
			t.Errorf("found %v at the end of the lease", seen)
		}
		pass(time.Millisecond)
		if seen := f.worker(t).unknowns(t.Context(), t); len(seen) != 1 {
			t.Errorf("found %v after the lease", seen)
		}
	})
}

// A Record says what there is to know, and its downstream keys are those that the attempts have used.
func TestUnknowns_Record(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"charge", "a#b", "#", "POST /pay#x"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				req.Operation, req.Ref = operation, "order 17"
				var keys []string
				start := time.Now()
				for _, h := range []handler{fails(idempotency.Unknown(errPlain)), charging(s, fails(idempotency.Unknown(errPlain)))} {
					_, _ = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
						a := idempotency.AttemptFrom(ctx)
						keys = append(keys, a.DownstreamKey("card"), a.DownstreamUUID("card"))
						return h(ctx)
					})
					pass(time.Minute)
				}
				it, rec := f.record(t, req), f.onlyUnknown(t)
				second := milli(start.Add(time.Minute))
				want := idempotency.Record{
					ID: id(req), Operation: operation, Ref: "order 17", Status: "UNKNOWN", Attempt: 2, Token: it.text("attempt"),
					Started: second, LeaseEnd: second.Add(3 * time.Second), Expires: time.Unix(it.number("expiration"), 0).UTC(),
					Prior: &idempotency.Prior{Number: 1, Started: milli(start), LeaseEnd: milli(start.Add(3 * time.Second)), Steps: []string{"charge"}},
					Steps: []string{"charge"},
				}
				if !reflect.DeepEqual(rec, want) {
					t.Errorf("got  %+v\nwant %+v", rec, want)
				}
				if got := []string{rec.DownstreamKey("card"), rec.DownstreamUUID("card")}; !slices.Equal(got, keys[:2]) || !slices.Equal(got, keys[2:]) {
					t.Errorf("downstream keys %q, want %q", got, keys)
				}
			})
		})
	}
}

// manyUnknowns are tables of unknowns, each in many pages: of so many records with so much filling.
var manyUnknowns = []struct {
	name              string
	n, filling, bytes int // bytes of all
}{
	{"many", 10_000, 1 << 9, 6 << 20},
	{"large", 30, 300 << 10, 17 << 19},
}

// fillUnknowns makes them.
func (f *fixture) fillUnknowns(t *testing.T, n, filling int) {
	t.Helper()
	f.make(t, "unknown", request("k"))
	f.copies(t, f.record(t, request("k")), n, filling)
	f.quiet()
}

// All pages of all segments are read.
func TestUnknowns_Many(t *testing.T) {
	t.Parallel()
	for _, tt := range manyUnknowns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.fillUnknowns(t, tt.n, tt.filling)
				if seen := f.worker(t).unknowns(t.Context(), t); len(seen) != tt.n+1 {
					t.Errorf("found %d, want %d", len(seen), tt.n+1)
				}
				if pages := len(f.db.Calls("Scan")); pages < 8 {
					t.Errorf("read %d pages, want at least 8, for the test's sake", pages)
				}
			})
		})
	}
}

// A scan costs half a unit each 4 KB of what is there.
func TestUnknowns_Units(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	for _, tt := range manyUnknowns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.fillUnknowns(t, tt.n, tt.filling)
				f.worker(t).unknowns(t.Context(), t)
				units, least := 0.0, float64(tt.bytes)/8192
				for _, c := range f.db.Calls("Scan") {
					units += c.ReadUnits
				}
				if units < least || units > least*1.3 {
					t.Errorf("%.1f read units, want about %.1f", units, least)
				}
			})
		})
	}
}

// The loop can be left early, and by a panic: no goroutine stays behind, in the bubble or out of it.
func TestUnknowns_LeftEarly(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"break": nil, "panic": func() { panic("enough") }, "Goexit": runtime.Goexit} {
		for _, after := range []int{1, 40} {
			t.Run(fmt.Sprintf("%s after %d", name, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left at its end
					f := newFixture(t)
					f.make(t, "unknown", request("k"))
					f.copies(t, f.record(t, request("k")), 60, 100<<10)
					seen, done := 0, make(chan struct{})
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						for _, err := range f.worker(t).runner.Unknowns(context.Background()) {
							if seen++; err != nil || seen < after {
								continue
							}
							if leave != nil {
								leave()
							}
							break
						}
					}()
					<-done
					if seen != after {
						t.Errorf("saw %d, want %d", seen, after)
					}
					calls := len(f.db.Calls("Scan"))
					pass(time.Minute)
					if now := len(f.db.Calls("Scan")); now != calls {
						t.Errorf("%d reads after the loop", now-calls)
					}
				})
			})
		}
	}
}

// A walk can be made again, and begins anew.
func TestUnknowns_Twice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.make(t, "unknown", request("k"))
		walk := f.worker(t).runner.Unknowns(t.Context())
		for range 2 {
			n := 0
			for _, err := range walk {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 1 {
				t.Errorf("found %d", n)
			}
			pass(time.Second)
		}
		f.resolveOnly(t, idempotency.NotDone())
		for rec, err := range walk {
			t.Errorf("found %+v, error %v", rec, err)
		}
	})
}

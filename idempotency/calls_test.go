package idempotency_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// path is a way through the protocol, and what it costs.
type path struct {
	name   string
	found  func(*testing.T, *fixture, idempotency.Request)
	ask    func(idempotency.Request) idempotency.Request
	policy option
	h      handler
	calls  []string
	err    error
	status string // of the record afterwards
	kinds  []idempotency.Kind
}

func nothing(*testing.T, *fixture, idempotency.Request)     {}
func unchanged(req idempotency.Request) idempotency.Request { return req }
func refuse(*settings)                                      {}

var paths = []path{
	{
		"first run", nothing, unchanged, refuse, returns("ok"),
		[]string{"PutItem", "UpdateItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindCompleted},
	},
	{
		"released", nothing, unchanged, refuse, fails(errPlain),
		[]string{"PutItem", "UpdateItem"},
		errPlain, "RELEASED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindReleased},
	},
	{
		"terminal", nothing, unchanged, refuse, fails(idempotency.Terminal(errPlain)),
		[]string{"PutItem", "UpdateItem"},
		errPlain, "FAILED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindFailed},
	},
	{
		"unknown", nothing, unchanged, refuse, fails(idempotency.Unknown(errPlain)),
		[]string{"PutItem", "UpdateItem"},
		errPlain, "UNKNOWN",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindUnknown},
	},
	{
		"re-acquire", founds[3].make, unchanged, refuse, returns("ok"),
		[]string{"PutItem", "UpdateItem", "UpdateItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindCompleted},
	},
	{
		"take over", founds[2].make, unchanged, rerun, returns("ok"),
		[]string{"PutItem", "UpdateItem", "UpdateItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindTakenOver, idempotency.KindCompleted},
	},
	{
		"take over a crash", crashed, unchanged, rerun, returns("ok"),
		[]string{"PutItem", "UpdateItem", "UpdateItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindTakenOver, idempotency.KindCompleted},
	},
	{"take over, released", crashed, unchanged, rerun, fails(errPlain), // H1
		[]string{"PutItem", "UpdateItem", "UpdateItem"}, errPlain, "UNKNOWN", []idempotency.Kind{idempotency.KindTakenOver, idempotency.KindUnknown}},
	{
		"replay", founds[4].make, unchanged, refuse, returns("again"),
		[]string{"PutItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"replayed failure", founds[5].make, unchanged, refuse, returns("again"),
		[]string{"PutItem"},
		nil, "FAILED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"in progress", founds[0].make, unchanged, refuse, returns("again"),
		[]string{"PutItem"},
		idempotency.ErrInProgress, "INPROGRESS",
		[]idempotency.Kind{idempotency.KindInProgress},
	},
	{
		"mismatch", founds[4].make, other, refuse, returns("again"),
		[]string{"PutItem"},
		idempotency.ErrMismatch, "COMPLETED",
		[]idempotency.Kind{idempotency.KindMismatch},
	},
	{
		"unknown refused", founds[2].make, unchanged, refuse, returns("again"),
		[]string{"PutItem"},
		idempotency.ErrOutcomeUnknown, "UNKNOWN",
		[]idempotency.Kind{idempotency.KindUnknown},
	},
	{
		"over an expired record", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			founds[4].make(t, f, req)
			pass(48 * time.Hour)
		}, unchanged, refuse, returns("ok"),
		[]string{"PutItem", "UpdateItem"},
		nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindExpired, idempotency.KindCompleted},
	},
}

// Calls per path, and the events that tell of them, each with what its calls consumed.
func TestCalls_PerPath(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				req.Ref = "order 17"
				p.found(t, f, req)
				f.quiet()
				began := time.Now()
				_, err := f.worker(t, p.policy).do(localtest.Invocation(t, 3*time.Second), p.ask(req), func(ctx context.Context) (string, error) {
					pass(time.Second)
					return p.h(ctx)
				})
				if p.err != nil {
					wantErr(t, err, p.err)
				}
				f.wantCalls(t, p.calls...)
				f.wantKinds(t, p.kinds...)

				// What the events say was consumed is what was billed, failed conditions included.
				var billed, told float64
				for _, c := range f.db.Calls("") {
					if c.Condition == "" { // I2, H22, rule 28: every transition is one conditional write
						t.Errorf("%s has no condition", c.Operation)
					}
					billed += c.WriteUnits
				}
				id := key(req).text("id")
				for i, e := range f.seen() {
					told += e.WriteUnits
					if e.Operation != "charge" || e.ID != id || e.Ref != "order 17" || e.ReadUnits != 0 {
						t.Errorf("event %+v, want that of record %s", e, id)
					}
					want := time.Duration(0)
					if i == 1 {
						want = time.Since(began) // the run
					}
					if e.Duration != want {
						t.Errorf("%s took %s, want %s", e.Kind, e.Duration, want)
					}
				}
				if billed != told {
					t.Errorf("events tell of %v units, billed were %v", told, billed)
				}
				f.wantStatus(t, req, p.status)
			})
		})
	}
}

func unitsOf(calls []localtest.Call) (write, read float64) {
	for _, c := range calls {
		write, read = write+c.WriteUnits, read+c.ReadUnits
	}
	return write, read
}

// A failed condition is billed by the size of the item that is there: a replay of 10 KB in the record would cost 11 units.
// Beside it it costs one, and a read of what is not compressed away.
func TestCalls_Units(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		units := func() (n float64) {
			n, _ = unitsOf(f.db.Calls(""))
			f.db.ResetCalls()
			return n
		}
		small, large := request("small"), request("large")
		w.must(localtest.Invocation(t, time.Second), t, small, returns(strings.Repeat("x", 200)))
		if n := units(); n != 2 {
			t.Errorf("a small first run costs %v units, want 2", n)
		}
		w.must(localtest.Invocation(t, time.Second), t, small, returns(""))
		if n := units(); n != 1 {
			t.Errorf("its replay costs %v units, want 1", n)
		}
		w.must(localtest.Invocation(t, time.Second), t, large, returns(noise(10<<10)))
		if n := units(); n != 1+9+1 {
			t.Errorf("a large first run costs %v units, want 11", n)
		}
		w.must(localtest.Invocation(t, time.Second), t, large, returns(""))
		if write, read := unitsOf(f.db.Calls("")); write != 1 || read != 1.5 {
			t.Errorf("its replay costs %v write and %v read units, want 1 and 1.5", write, read)
		}
		f.db.ResetCalls()
		w.must(localtest.Invocation(t, time.Second), t, readingFirst(large), returns(""))
		if write, read := unitsOf(f.db.Calls("")); write != 0 || read != 2 {
			t.Errorf("its replay by a read costs %v write and %v read units, want 0 and 2", write, read)
		}
	})
}

// Without an observer nobody asks DynamoDB for the units.
func TestCalls_WithoutObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, func(s *settings) { s.Observe = nil })
		res, err := w.do(localtest.Invocation(t, time.Second), request("k"), returns("ok"))
		wantAnswer(t, res, err, "ok", false)
		_, err = w.do(localtest.Invocation(t, time.Second), other(request("k")), returns("ok"))
		wantErr(t, err, idempotency.ErrMismatch)
	})
}

// Only the IAM actions that the documentation lists are needed.
func TestCalls_Actions(t *testing.T) {
	t.Parallel()
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				p.found(t, f, request("k"))
				f.quiet()
				_, _ = f.worker(t, p.policy).do(localtest.Invocation(t, 3*time.Second), p.ask(request("k")), p.h)
				for _, c := range f.db.Calls("") {
					for _, action := range c.Actions {
						if action != "dynamodb:GetItem" && action != "dynamodb:PutItem" && action != "dynamodb:UpdateItem" {
							t.Errorf("%s needs %s", c.Operation, action)
						}
					}
				}
			})
		})
	}
}

// A schema of a single-table design: every transition uses its names.
func TestCalls_OtherSchema(t *testing.T) {
	t.Parallel()
	schema := idempotency.Schema{PartitionKey: "pk", SortKey: "sk", SortKeyValue: "IDEMPOTENCY", Expiry: "ttl"}
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.schema = schema
				f.table = f.db.CreateTable(t, idempotency.Table("single", schema))
				req := request("k")
				p.found(t, f, req)
				f.quiet()
				_, err := f.worker(t, p.policy).do(localtest.Invocation(t, 3*time.Second), p.ask(req), p.h)
				if p.err != nil {
					wantErr(t, err, p.err)
				}
				f.wantCalls(t, p.calls...)
				it := f.at(t, item{"pk": key(req)["id"], "sk": text("IDEMPOTENCY")})
				if it.text("status") != p.status || !it.has("ttl") || it.has("id") || it.has("expiration") {
					t.Errorf("record %v, want status %s", it, p.status)
				}
			})
		})
	}
}

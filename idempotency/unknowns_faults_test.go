package idempotency_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A table that cannot be read is told, and not taken for one without unknowns; also where nothing answers and the caller has
// set no deadline.
func TestUnknowns_TableFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{
		localtest.AccessDenied, localtest.Throttled, localtest.ServerError, localtest.RequestLost, localtest.TruncatedReply, localtest.Hang,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.make(t, "unknown", request("k"))
				f.inject("Scan", kind, forever)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // or a walk that hangs would hang the test
				defer cancel()
				wantUnread(t, f.worker(t), ctx, 0)
				if ctx.Err() != nil {
					t.Error("the walk has hung until its caller's context ended")
				}
			})
		})
	}
}

// One part cannot be read: the others are.
func TestUnknowns_PartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.make(t, "unknown", request("k"))
		f.copies(t, f.record(t, request("k")), 100, 1)
		f.db.Inject(localtest.Fault{Operation: "Scan", Nth: 2, Kind: localtest.AccessDenied})
		records, failures := 0, 0
		for _, err := range f.worker(t, withoutRetries).runner.Unknowns(t.Context()) {
			if err == nil {
				records++
				continue
			}
			failures++
			wantErr(t, err, idempotency.ErrUnavailable)
			if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "AccessDeniedException" {
				t.Errorf("error %v, want its cause", err)
			}
		}
		if failures != 1 || records < 50 || records > 95 {
			t.Errorf("%d records and %d errors", records, failures)
		}
	})
}

// C36: a record that cannot be understood comes as an error with its id; the others follow.
func TestUnknowns_Damaged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.make(t, "unknown", request("k"))
		it := f.record(t, request("k"))
		f.copies(t, it, 40, 1)
		damage := map[string]item{"no token": {"attempt": nil}, "schema": {"schema": number(2)}, "steps": {"steps": text("x")}, "number": {"attempt_no": text("one")}}
		for name, change := range damage {
			damaged := maps.Clone(it)
			maps.Copy(damaged, key(request(name)))
			f.edit(t, request(name), damaged)
			f.edit(t, request(name), change)
		}
		bad, good := map[string]bool{}, 0
		for rec, err := range f.worker(t).runner.Unknowns(t.Context()) {
			if err == nil {
				good++
				continue
			}
			wantErr(t, err, idempotency.ErrBadRecord)
			if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.ID != rec.ID || rec.Token != "" {
				t.Errorf("%+v comes with %v", rec, err)
			}
			bad[rec.ID] = true
		}
		for name := range damage {
			if !bad[id(request(name))] {
				t.Errorf("%s was not told of", name)
			}
		}
		if good != 41 || len(bad) != len(damage) {
			t.Errorf("%d records and %d errors, want 41 and %d", good, len(bad), len(damage))
		}
	})
}

// A table of the user's own names, shared with items of other sort keys: those are not the library's, whatever is in them.
func TestUnknowns_SortKey(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]func(item){
		"nothing foreign": nil,
		"a like item":     func(item) {},
		"an order":        func(it item) { delete(it, "attempt"); delete(it, "schema") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.schema = idempotency.Schema{PartitionKey: "pk", SortKey: "sk", SortKeyValue: "idempotency", Expiry: "ttl"}
				f.table = f.db.CreateTable(t, idempotency.Table("shared", f.schema))
				req, w := request("k"), f.worker(t)
				_, _ = w.do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
				own := item{"pk": text(id(req)), "sk": text("idempotency")}
				if foreign != nil {
					it := f.at(t, own)
					it["sk"] = text("order")
					foreign(it)
					f.put(t, it)
				}
				rec := f.onlyUnknown(t)
				if rec.ID != id(req) {
					t.Errorf("found %+v", rec)
				}
				if err := w.runner.Resolve(t.Context(), rec, idempotency.Completed("by hand")); err != nil {
					t.Fatal(err)
				}
				if it := f.at(t, own); it.text("status") != "COMPLETED" || !it.has("ttl") {
					t.Errorf("the record is %v", it)
				}
				res, err := w.do(localtest.Invocation(t, time.Second), req, returns("again"))
				wantAnswer(t, res, err, "by hand", true)
			})
		})
	}
}

// A Runner that New has not made is refused as everywhere.
func TestUnknowns_NoRunner(t *testing.T) {
	t.Parallel()
	for _, r := range []*idempotency.Runner{nil, {}} {
		errs := 0
		for rec, err := range r.Unknowns(t.Context()) {
			if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
				t.Errorf("%+v, error %v", rec, err)
			}
			errs++
		}
		if errs != 1 {
			t.Errorf("%d errors", errs)
		}
	}
}

// wantUnread says that a walk ends with errors of a table that cannot be read, and never silently.
func wantUnread(t *testing.T, w *worker, ctx context.Context, records int, causes ...error) { //nolint:revive // as in do
	t.Helper()
	n, errs := 0, []error{}
	for rec, err := range w.runner.Unknowns(ctx) {
		if err == nil {
			n++
			continue
		}
		errs = append(errs, err)
		wantErr(t, err, append(causes, idempotency.ErrUnavailable)...)
		if !reflect.DeepEqual(rec, idempotency.Record{}) {
			t.Errorf("%+v comes with %v", rec, err)
		}
	}
	if len(errs) == 0 || n != records {
		t.Errorf("%d records, errors %v; want %d and an error", n, errs, records)
	}
}

var errStop = errors.New("the operator has gone home")

// A context that ends before or while the table is read is told, with its cause; also if every part of the table is just then
// waiting for the loop, and none has a read that could fail.
func TestUnknowns_ContextEnds(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(stop func()){
		"before":                    nil,
		"while parts are read":      func(stop func()) { stop(); synctest.Wait() },
		"while parts wait for loop": func(stop func()) { synctest.Wait(); stop(); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.make(t, "unknown", request("k"))
				f.copies(t, f.record(t, request("k")), 60, 100<<10)
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				if when == nil {
					stop(errStop)
					wantUnread(t, f.worker(t), ctx, 0)
					return
				}
				n, told := 0, 0
				for _, err := range f.worker(t).runner.Unknowns(ctx) {
					if err != nil {
						wantErr(t, err, idempotency.ErrUnavailable)
						told++
						continue
					}
					if n++; n == 1 {
						when(func() { stop(errStop) })
					}
				}
				if told == 0 || n >= 60 {
					t.Errorf("%d records and %d errors", n, told)
				}
			})
		})
	}
}

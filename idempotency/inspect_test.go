package idempotency_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A record is read whatever its status, and after its window, too.
func TestRecord_EachStatus(t *testing.T) {
	t.Parallel()
	for _, found := range founds {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				req.Ref = "order 17"
				found.make(t, f, req)
				pass(10 * day)
				it := f.record(t, req)
				want := idempotency.Record{
					ID: id(req), Operation: "charge", Ref: it.text("ref"), Status: it.text("status"), Attempt: it.number("attempt_no"),
					Token: it.text("attempt"), Started: time.UnixMilli(it.number("started")).UTC(), Expires: time.Unix(it.number("expiration"), 0).UTC(),
				}
				if it.has("in_progress_expiration") {
					want.LeaseEnd = time.UnixMilli(it.number("in_progress_expiration")).UTC()
				}
				if it.has("completed") {
					want.Completed, want.Outcome = time.UnixMilli(it.number("completed")).UTC(), []byte(it.text("data"))
				}
				f.db.ResetCalls()
				got, err := f.worker(t).runner.Record(t.Context(), id(req))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
				}
				f.wantCalls(t, "GetItem")
				if unknown := found.name == "unknown" || found.name == "crashed" || found.name == "in progress"; got.Unknown(time.Now()) != unknown {
					t.Errorf("Unknown is %v", !unknown)
				}
			})
		})
	}
}

func TestRecord_Mistakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		r := f.worker(t).runner
		_, err := r.Record(t.Context(), "charge#nobody")
		wantErr(t, err, idempotency.ErrNotFound)
		f.make(t, "completed", request("k"))
		f.edit(t, request("k"), item{"schema": number(2)})
		rec, err := r.Record(t.Context(), id(request("k")))
		wantErr(t, err, idempotency.ErrBadRecord)
		if rec.ID != id(request("k")) {
			t.Errorf("the record that cannot be understood has id %q", rec.ID)
		}
		f.inject("GetItem", localtest.AccessDenied, -1)
		_, err = r.Record(t.Context(), id(request("k")))
		wantErr(t, err, idempotency.ErrUnavailable)
		for name, call := range map[string]func() error{
			"id": func() error { _, err := r.Record(t.Context(), ""); return err },
			"Runner": func() error {
				_, err := (*idempotency.Runner)(nil).Record(t.Context(), "x")
				return err
			},
			"Request.Key": func() error {
				_, err := r.RecordIDs(idempotency.Request{Operation: "charge", Scope: "s"})
				return err
			},
		} {
			if field, ok := errors.AsType[*idempotency.FieldError](call()); !ok || field.Field != name {
				t.Errorf("without %s: %v", name, field)
			}
		}
	})
}

// RecordIDs are those that Do writes and asks for, the one to write first.
func TestRecordIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	req := idempotency.Request{Operation: "charge", Scope: "s", Key: "k"}
	for name, secrets := range map[string][][]byte{"none": nil, "two": {[]byte("0123456789abcdef"), []byte("fedcba9876543210")}} {
		r := f.worker(t, func(s *settings) { s.Secrets = secrets }).runner
		got, err := r.RecordIDs(req)
		want := []string{idempotency.RecordID(nil, "charge", "s", "k")}
		if secrets != nil {
			want = []string{idempotency.RecordID(secrets[0], "charge", "s", "k"), idempotency.RecordID(secrets[1], "charge", "s", "k")}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// Unfinished is what has no outcome: in progress and unknown.
func TestUnfinished_Finds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.make(t, "crashed", request("window over"))
		pass(2 * day)
		for _, found := range founds {
			found.make(t, f, request(found.name))
		}
		open := map[string]string{}
		for rec, err := range f.worker(t).runner.Unfinished(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			open[rec.ID] = rec.Status
		}
		want := map[string]string{id(request("in progress")): "INPROGRESS", id(request("crashed")): "INPROGRESS", id(request("unknown")): "UNKNOWN"}
		if !maps.Equal(open, want) {
			t.Errorf("found %v, want %v", open, want)
		}
	})
}

// A table of Powertools for AWS Lambda serves both: their records have the same attributes, and are none of ours.
func TestUnfinished_PowertoolsRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		now := time.Now()
		// As they write them: a function's name and a hash; the lease in milliseconds, the window in seconds.
		for _, status := range []string{"INPROGRESS", "COMPLETED"} {
			f.put(t, item{
				"id": text("payments.handler#2f3ee0e0b8a0c0b4c6e6c8f2b0f8b7a1" + status), "status": text(status), "expiration": number(now.Add(time.Hour).Unix()),
				"in_progress_expiration": number(now.Add(-time.Minute).UnixMilli()), "data": text(`{"ok":true}`), "validation": text("0cc175b9c0f1b6a831c399e269772661"),
			})
		}
		w, req := f.worker(t), request("k")
		w.must(localtest.Invocation(t, time.Minute), t, req, returns("first"))
		res, err := w.do(localtest.Invocation(t, time.Minute), req, returns("second"))
		wantAnswer(t, res, err, "first", true)
		for rec, err := range w.runner.Unfinished(t.Context()) {
			t.Errorf("found %+v, %v", rec, err)
		}
		for rec, err := range w.runner.Unknowns(t.Context()) {
			t.Errorf("found %+v, %v", rec, err)
		}
	})
}

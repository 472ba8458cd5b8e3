package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// retry is the client's next request: its answer, and whether the handler ran.
func (f *fixture) retry(t *testing.T, key string) (value string, ran bool, err error) {
	t.Helper()
	res, err := idempotency.Do(t.Context(), f.runner(t), request(key), func(context.Context) (string, error) {
		ran = true
		return "ran again", nil
	})
	return res.Value, ran, err
}

func TestResolve_Completed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("\n \"<ch_2>\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, tc := range map[string]struct {
		flags []string
		want  string
	}{
		"1": {[]string{"-value", `"ch_1"`}, "ch_1"},
		"2": {[]string{"-value-file", file}, "<ch_2>"},
		"3": {[]string{"-value", "null"}, ""},
	} {
		id := f.unknown(t, key)
		res := f.run(t.Context(), t, append([]string{"resolve", id, "-as", "completed", "-yes"}, tc.flags...)...)
		res.want(t, exitOK, "resolved as completed", "status        COMPLETED")
		if value, ran, err := f.retry(t, key); value != tc.want || ran || err != nil {
			t.Errorf("retry = %q, ran %v, %v, want %q", value, ran, err, tc.want)
		}
		// Again: it says so, and changes nothing.
		before := f.record(t, id)
		again := f.run(t.Context(), t, append([]string{"resolve", id, "-as", "completed", "-yes"}, tc.flags...)...)
		again.want(t, exitOK, "the record says so already")
		if after := f.record(t, id); after.Token != before.Token || !after.Completed.Equal(before.Completed) {
			t.Errorf("record %+v, was %+v", after, before)
		}
	}
}

func TestResolve_Failed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	args := []string{"resolve", "-as", "failed", "-error-type", "CardDeclined", "-error-message", "card declined", id, "-yes", "-json"}
	res := f.run(t.Context(), t, args...)
	res.want(t, exitOK, "resolved as failed")
	if doc := res.document(t); doc.Status != statusFailed || doc.Completed == nil || doc.Unknown {
		t.Errorf("document %+v", doc)
	}
	_, ran, err := f.retry(t, "1")
	if failure, ok := errors.AsType[*idempotency.Failure](err); !ok || ran || failure.Type != "CardDeclined" || failure.Message != "card declined" {
		t.Errorf("retry = %v, ran %v", err, ran)
	}
	f.run(t.Context(), t, args...).want(t, exitOK, "the record says so already")
	args[6] = "expired"
	f.run(t.Context(), t, args...).want(t, exitRefused, "has an outcome")
}

func TestResolve_NotDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes").want(t, exitOK, "resolved as not-done", "RELEASED: the next request runs")
	f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes").want(t, exitOK, "the record says so already")
	f.run(t.Context(), t, "resolve", id, "-as", "completed", "-value", "1", "-yes").want(t, exitRefused, "nothing is unknown")
	if value, ran, err := f.retry(t, "1"); value != "ran again" || !ran || err != nil {
		t.Errorf("retry = %q, ran %v, %v", value, ran, err)
	}
}

// The value that the flags make is what a reconciler records.
func TestResolve_HTTPAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	args := []string{
		"resolve", id, "-as", "completed", "-yes", "-http-status", "201", "-http-body", `{"id":"ch_1","note":"<b>"}`,
		"-http-header", "content-type: application/json", "-http-header", "Link: <a>; rel=next", "-http-header", "Link:<b>", "-http-header", "Set-Cookie: a=b",
	}
	f.run(t.Context(), t, args...).want(t, exitOK)
	byHand := f.unknown(t, "2")
	header := http.Header{"Content-Type": {"application/json"}, "Link": {"<a>; rel=next", "<b>"}}
	answer := lambda.HTTPAnswer(http.StatusCreated, header, []byte(`{"id":"ch_1","note":"<b>"}`))
	if err := f.runner(t).Resolve(t.Context(), f.record(t, byHand), idempotency.Completed(answer)); err != nil {
		t.Fatal(err)
	}
	if got, want := f.record(t, id).Outcome, f.record(t, byHand).Outcome; string(got) != string(want) || !json.Valid(got) {
		t.Errorf("recorded %s, want %s", got, want)
	}
	f.run(t.Context(), t, args...).want(t, exitOK, "the record says so already")
}

func TestResolve_Asks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	for _, answer := range []string{"", "n\n", "\n", "completed\n", "yo\n"} {
		f.stdin = answer
		res := f.run(t.Context(), t, "resolve", id, "-as", "completed", "-value", `"ch_1"`)
		res.want(t, exitRefused, "nothing was written", `as completed, with the value "ch_1"? [y/N]`, "ref           order 1")
		if rec := f.record(t, id); rec.Status != "UNKNOWN" {
			t.Fatalf("after the answer %q the record is %s", answer, rec.Status)
		}
		if res.out != "" {
			t.Errorf("stdout %q, want the result alone", res.out)
		}
	}
	f.stdin = "Yes\n"
	f.run(t.Context(), t, "resolve", id, "-as", "completed", "-value", `"ch_1"`).want(t, exitOK, "resolved as completed")
}

func TestResolve_Retention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.now = noon
	for key, flags := range map[string][]string{
		"1": {"-as", "completed", "-value", "1", "-retention", "72h"},
		"2": {"-as", "not-done", "-unknown-retention", "72h"},
	} {
		id := f.unknown(t, key)
		f.run(t.Context(), t, append([]string{"resolve", id, "-yes"}, flags...)...).want(t, exitOK, "window until  2026-11-05 12:00:00Z (in 3d)")
	}
	f.run(t.Context(), t, "resolve", "pay#1", "-as", "not-done", "-yes", "-retention", "1us").want(t, exitUsage, "Config.Retention is 1µs")
}

func TestResolve_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	args := func(id string) []string {
		return []string{"resolve", id, "-as", "completed", "-value", `"mine"`, "-yes"}
	}

	done := f.completed(t, "1", "ch_1")
	f.run(t.Context(), t, args(done)...).want(t, exitRefused, "the record has an outcome", "never changed")
	if value, _, _ := f.retry(t, "1"); value != "ch_1" {
		t.Errorf("the outcome is %q", value)
	}
	f.inHandler(t, "2", 0, func(live string) {
		before := f.record(t, live)
		f.run(t.Context(), t, args(live)...).want(t, exitRefused, "attempt 1 may still be running: its lease ends in")
		if after := f.record(t, live); after.Token != before.Token || after.Status != statusInProgress {
			t.Errorf("record %+v, was %+v", after, before)
		}
	})
	f.inHandler(t, "3", time.Hour, func(over string) {
		f.run(t.Context(), t, args(over)...).want(t, exitOK, "resolved as completed")
	})
	f.run(t.Context(), t, args("pay#nothing")...).want(t, exitMissing)

	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte(`"`+strings.Repeat("x", 8<<20)+`"`), 0o600); err != nil {
		t.Fatal(err)
	}
	unknown := f.unknown(t, "4")
	f.run(t.Context(), t, "resolve", unknown, "-as", "completed", "-value-file", long, "-yes").want(t, exitRefused, "cannot be recorded", "over 7.5 MiB")
}

// Another attempt owns the record, or has ended, between the look and the write.
func TestResolve_AnotherAttemptMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler handler
		status  string
	}{
		"unknown again": {endsUnknown, "UNKNOWN"},
		"completed":     {returns("ch_2"), statusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.unknown(t, "1")
			other := f.runner(t, func(c *idempotency.Config) { c.OnUnknown = idempotency.Rerun })
			f.db.Inject(localtest.Fault{Operation: "UpdateItem", Before: func() {
				_, _ = idempotency.Do(context.WithoutCancel(t.Context()), other, request("1"), tc.handler)
			}})
			res := f.run(t.Context(), t, "resolve", id, "-as", "completed", "-value", `"mine"`, "-yes", "-json")
			res.want(t, exitRefused, "nothing was written: somebody was faster")
			if doc := res.document(t); doc.Status != tc.status || doc.Attempt != 2 {
				t.Errorf("document %+v", doc)
			}
		})
	}
}

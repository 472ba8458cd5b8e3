package localtest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

// send puts v as a request that arrives late; after zero it waits for Flush.
func (f fixture) send(v string, after time.Duration) {
	f.t.Helper()
	f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate, Delay: after})
	_, err := f.Client(once).PutItem(f.t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{"id": text("k"), "v": text(v)}})
	if err == nil {
		f.t.Error("a late request was answered")
	}
}

// value is the v of the item that send writes.
func (f fixture) value() string {
	f.t.Helper()
	out, err := f.client.GetItem(f.t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributes{"id": text("k")}})
	if err != nil {
		f.t.Fatal(err)
	}
	if out.Item == nil {
		return ""
	}
	return textOf(f.t, out.Item, "v")
}

// The last one to arrive is what stays.
func TestFlush_InTheOrderOfSending(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, after := range []time.Duration{10 * time.Hour, time.Hour, 0} {
		f.send(fmt.Sprint("sent ", i), after)
	}
	if n := f.Flush(); n != 3 || f.value() != "sent 2" {
		t.Errorf("%d requests, %q stays, want 3, sent 2", n, f.value())
	}
}

func TestFlush_AfterWhatWasDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := time.Unix(1_700_000_000, 0)
	f.SetClock(func() time.Time { return now })
	f.send("not due", 10*time.Hour)
	f.send("due later", 2*time.Hour)
	f.send("due first", time.Hour)
	now = now.Add(3 * time.Hour)
	if n := f.Flush(); n != 3 || f.value() != "not due" {
		t.Errorf("%d requests, %q stays, want 3, not due", n, f.value())
	}
	f.send("due later", 2*time.Hour)
	f.send("due first", time.Hour)
	now = now.Add(3 * time.Hour)
	if got := f.value(); got != "due later" {
		t.Errorf("%q stays, want due later", got)
	}
}

// Of many readers at once, one brings the late requests in; the others must not pass it.
func TestAppliedLate_NobodyMissesWhatIsDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	begun := time.Unix(1_700_000_000, 0)
	for round := range 30 {
		f.SetClock(func() time.Time { return begun })
		want := ""
		for i := range 50 {
			want = fmt.Sprint("round ", round, " write ", i)
			f.send(want, time.Second)
		}
		f.SetClock(func() time.Time { return begun.Add(time.Second) })
		var readers sync.WaitGroup
		for range 16 {
			readers.Go(func() {
				if got := f.value(); got != want {
					t.Errorf("read %q, want %q", got, want)
				}
			})
		}
		readers.Wait()
	}
}

// What becomes due while a call waits is there when the call is applied.
func TestAppliedLate_DueWhileACallWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := time.Unix(1_700_000_000, 0)
	f.SetClock(func() time.Time { return now })
	f.send("late", time.Minute)
	f.Inject(localtest.Fault{Operation: "GetItem", Before: func() { now = now.Add(time.Minute) }})
	if got := f.value(); got != "late" {
		t.Errorf("read %q, want late", got)
	}
}

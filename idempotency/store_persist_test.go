package idempotency

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// persisting sends an acquire through a client whose writes fail with the errors, one after the other, and whose reads get it.
func persisting(t *testing.T, read item, writes ...error) (calls int, err error) {
	t.Helper()
	client := &unitClient{}
	client.answer = func(in any) (item, error) {
		if _, ok := in.(*dynamodb.GetItemInput); ok {
			return read, nil
		}
		err := writes[0]
		writes = writes[1:]
		return nil, err
	}
	r, err := New(client, Config{Table: "records"})
	if err != nil {
		t.Fatal(err)
	}
	r.table.jitter = func(time.Duration) time.Duration { return 0 }
	_, err = r.table.persist(t.Context(), &meter{}, r.table.acquire(claim{id: "op#1", token: "mine", now: time.Now()}), len(writes))
	return len(client.calls), err
}

// C36: a write without an answer meets a record that is not understood: it is not sent again.
func TestPersist_MeetsABadRecord(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	calls, err := persisting(t, item{"id": textValue("op#1"), attrStatus: textValue("NEWER")}, lost, lost, lost)
	if !errors.Is(err, ErrBadRecord) || calls != 2 {
		t.Errorf("got %v after %d calls, want the bad record after the write and its read", err, calls)
	}
}

// C15: of several tries without success, the table's own words are told, whatever came after them.
func TestPersist_TellsTheTablesWords(t *testing.T) {
	t.Parallel()
	lost, throttled, failing := errors.New("connection reset"), &types.ProvisionedThroughputExceededException{}, &types.InternalServerError{}
	for name, tt := range map[string]struct {
		writes []error
		want   error
	}{
		"words first":  {[]error{throttled, lost, lost}, throttled},
		"words last":   {[]error{lost, lost, throttled}, throttled},
		"words twice":  {[]error{throttled, failing, lost}, throttled},
		"never a word": {[]error{lost, errCutOff}, errCutOff},
	} {
		if _, err := persisting(t, nil, tt.writes...); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

var errCutOff = errors.New("cut off")

// I7, rule 9: whether a write that got no answer is still needed.
func TestWrite_Pending(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 0)
	r := unitRunner(t, Config{})
	found := func(token string, s status, lease, expires time.Duration) *record {
		return &record{token: token, status: s, leaseEnd: now.Add(lease), expires: now.Add(expires).Unix()}
	}
	seen := found("seen", unknown, -time.Minute, time.Hour)
	cl := claim{id: "op#1", token: "mine", now: now, leaseEnd: now.Add(time.Minute), retention: time.Hour}
	own := &ownership{attempt: Attempt{Token: "mine", id: "op#1"}}
	acquire, over, end := r.table.acquire(cl), r.table.takeOver(cl, seen), r.table.leave(own, released, now.Add(time.Hour))
	for _, row := range []struct {
		name               string
		rec                *record
		acquire, over, end bool
	}{
		{"none", nil, true, false, false},
		{"as seen", seen, false, true, false},
		{"as seen, crashed", found("seen", inProgress, -time.Minute, time.Hour), false, true, false},
		{"as seen, alive", found("seen", inProgress, time.Minute, time.Hour), false, false, false},
		{"as seen, finished", found("seen", completed, -time.Minute, time.Hour), false, false, false},
		{"as seen, failed", found("seen", failed, -time.Minute, time.Hour), false, false, false},
		{"another's", found("other", unknown, -time.Minute, time.Hour), false, false, false},
		{"expired", found("other", completed, -2*time.Hour, -time.Hour), true, false, false},
		{"mine", found("mine", inProgress, time.Minute, time.Hour), false, false, true},
		{"mine, ended", found("mine", released, time.Minute, time.Hour), false, false, false},
	} {
		for name, got := range map[string][2]bool{
			"acquire":   {acquire.pending(row.rec), row.acquire},
			"take over": {over.pending(row.rec), row.over},
			"end":       {end.pending(row.rec), row.end},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %s pending %t, want %t", row.name, name, got[0], got[1])
			}
		}
	}
}

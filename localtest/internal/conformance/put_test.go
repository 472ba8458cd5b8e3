package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// now is the time in the lock protocol's rows, in seconds.
const now = 1000

// acquire takes a record that is not there, or whose window is over and that nobody works on.
func acquire() expressions {
	return expressions{
		condition: "attribute_not_exists(#id) OR (#expiry < :now AND NOT (#status = :running AND #lease >= :now_ms))",
		names:     map[string]string{"#id": "id", "#expiry": "expiration", "#status": "status", "#lease": "lease"},
		values:    item{":now": now, ":now_ms": now * 1000, ":running": "INPROGRESS"},
	}
}

func TestPut_Lock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name   string
		before item
		wins   bool
	}{
		{"absent", nil, true},
		{"window-open", item{"status": "COMPLETED", "expiration": now + 1}, false},
		{"window-ends-now", item{"status": "COMPLETED", "expiration": now}, false},
		{"window-over", item{"status": "COMPLETED", "expiration": now - 1}, true},
		{"numbers-are-no-texts", item{"status": "COMPLETED", "expiration": 9}, true},
		{"lease-live", item{"status": "INPROGRESS", "expiration": now - 1, "lease": now*1000 + 1}, false},
		{"lease-ends-now", item{"status": "INPROGRESS", "expiration": now - 1, "lease": now * 1000}, false},
		{"lease-over", item{"status": "INPROGRESS", "expiration": now - 1, "lease": now*1000 - 1}, true},
		{"lease-over-window-open", item{"status": "INPROGRESS", "expiration": now + 1, "lease": now*1000 - 1}, false},
		{"no-lease", item{"status": "INPROGRESS", "expiration": now - 1}, true},
		{"no-expiration", item{"status": "COMPLETED"}, false},
		{"expiration-is-text", item{"status": "COMPLETED", "expiration": "1"}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			want := with(key, item{"owner": "new"})
			if row.before != nil {
				f.put(with(key, row.before))
			}
			err := f.putIf(want, acquire())
			if row.wins {
				wantCode(t, err, "")
			} else {
				want = with(key, row.before)
				wantCode(t, err, conditionFailed)
			}
			f.wantStored(key, want)
		})
	}
}

// Clients tell this failure from others by its type, and people by its message.
func TestConditionFailed_Error(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	err := f.putIf(item{"id": "k"}, expressions{condition: "attribute_exists(id)"})
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok || failed.ErrorMessage() != "The conditional request failed" {
		t.Errorf("failed with %v", err)
	}
}

// The loser learns from the failure alone who has won.
func TestConditionFailed_OldItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := item{"id": "k", "owner": "old", "n": 1, "l": list{"a", item{"b": nil}}}
	f.put(old)
	mine := expressions{condition: "#owner = :me", names: map[string]string{"#owner": "owner"}, values: item{":me": "new"}}
	update := mine
	update.update = "REMOVE n"
	key := item{"id": "k"}
	calls := map[string]func(f fixture) error{
		"put":    func(f fixture) error { return f.putIf(item{"id": "k"}, mine) },
		"update": func(f fixture) error { _, err := f.updateIf(key, update); return err },
		"delete": func(f fixture) error { return f.deleteIf(key, mine) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](call(f))
			if !ok {
				t.Fatal("the condition did not fail")
			}
			wantItem(t, "old item", failed.Item, old)
			f.wantStored(key, old)
		})
	}
}

func TestConditionFailed_NoItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k"})
	rows := []struct {
		name, id, condition string
		ask                 types.ReturnValuesOnConditionCheckFailure
	}{
		{"nothing-there", "absent", "attribute_exists(id)", allOld},
		{"not-asked", "k", "attribute_not_exists(id)", ""},
		{"asked-for-none", "k", "attribute_not_exists(id)", types.ReturnValuesOnConditionCheckFailureNone},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName:                           &f.table,
				Item:                                attributesOf(item{"id": row.id}),
				ConditionExpression:                 &row.condition,
				ReturnValuesOnConditionCheckFailure: row.ask,
			})
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok || len(failed.Item) > 0 {
				t.Errorf("failed with %+v, %v", failed, err)
			}
		})
	}
}

func TestPut_ReplacesTheWholeItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k", "a": 1, "b": 2}, item{"id": "k", "c": 3})
	f.wantStored(item{"id": "k"}, item{"id": "k", "c": 3})
}

// A token that only its owner knows fences off whoever is late.
func TestUpdate_Owner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	running := item{"id": "k", "status": "INPROGRESS", "token": "mine", "lease": 5}
	complete := func(token string) expressions {
		return expressions{
			update:    "SET #s = :done, #data = :data REMOVE lease",
			condition: "#t = :token AND #s = :running",
			names:     map[string]string{"#s": "status", "#data": "data", "#t": "token"},
			values:    item{":done": "COMPLETED", ":data": "{}", ":token": token, ":running": "INPROGRESS"},
		}
	}
	key := item{"id": "k"}
	_, err := f.updateIf(key, complete("mine"))
	wantCode(t, err, conditionFailed)
	f.wantStored(key, nil) // an update whose condition fails makes no item

	f.put(running)
	_, err = f.updateIf(key, complete("another"))
	wantCode(t, err, conditionFailed)
	f.wantStored(key, running)

	done := item{"id": "k", "status": "COMPLETED", "token": "mine", "data": "{}"}
	got, err := f.updateIf(key, complete("mine"))
	wantCode(t, err, "")
	wantItem(t, "returned", got, done)
	_, err = f.updateIf(key, complete("mine"))
	wantCode(t, err, conditionFailed)
	f.wantStored(key, done)
}

func TestPut_NoItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{}})
	wantCode(t, err, invalid)
	_, err = f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(item{"other": 1}), ConditionExpression: aws.String("attribute_exists(id)")})
	wantCode(t, err, invalid)
}

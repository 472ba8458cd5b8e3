package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const cancelled = "TransactionCanceledException"

// The actions of a transaction on the fixture's table; each asks for the old item.

func (f fixture) putAction(i item, e expressions) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &f.table, Item: attributesOf(i), ReturnValuesOnConditionCheckFailure: allOld,
		ConditionExpression: optional(e.condition), ExpressionAttributeNames: e.names, ExpressionAttributeValues: attributesOf(e.values),
	}}
}

func (f fixture) updateAction(key item, e expressions) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &f.table, Key: attributesOf(key), UpdateExpression: optional(e.update), ReturnValuesOnConditionCheckFailure: allOld,
		ConditionExpression: optional(e.condition), ExpressionAttributeNames: e.names, ExpressionAttributeValues: attributesOf(e.values),
	}}
}

func (f fixture) deleteAction(key item, e expressions) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &f.table, Key: attributesOf(key), ReturnValuesOnConditionCheckFailure: allOld,
		ConditionExpression: optional(e.condition), ExpressionAttributeNames: e.names, ExpressionAttributeValues: attributesOf(e.values),
	}}
}

func (f fixture) checkAction(key item, e expressions) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &f.table, Key: attributesOf(key), ReturnValuesOnConditionCheckFailure: allOld,
		ConditionExpression: optional(e.condition), ExpressionAttributeNames: e.names, ExpressionAttributeValues: attributesOf(e.values),
	}}
}

// addAction adds one to the item's counter, and makes the item if need be.
func (f fixture) addAction(id string) types.TransactWriteItem {
	return f.updateAction(item{"id": id}, expressions{update: "ADD n :one", values: item{":one": 1}})
}

func (f fixture) transact(actions ...types.TransactWriteItem) error {
	_, err := f.client.TransactWriteItems(f.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	return err
}

// reasons are the codes of a cancelled transaction's actions and their old items.
func reasons(t *testing.T, err error) []string {
	t.Helper()
	failed, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Fatalf("got %v, want %s", err, cancelled)
	}
	list := make([]string, len(failed.CancellationReasons))
	for i, r := range failed.CancellationReasons {
		list[i] = aws.ToString(r.Code)
		if r.Item != nil {
			list[i] += " " + show(r.Item)
		}
	}
	return list
}

func wantReasons(t *testing.T, err error, want ...string) {
	t.Helper()
	if got := reasons(t, err); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
}

const failedReason = "ConditionalCheckFailed"

func TestTransact_Commits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := f
	second.table = f.db.CreateTable(t, tableOf("id", "sk"))
	f.put(item{"id": "updated", "n": 1}, item{"id": "checked", "ok": true}, item{"id": "deleted"})
	err := f.transact(
		f.putAction(item{"id": "put", "s": "x"}, expressions{condition: "attribute_not_exists(id)"}),
		f.updateAction(item{"id": "updated"}, expressions{update: "SET n = n + :one", condition: "n = :one", values: item{":one": 1}}),
		f.checkAction(item{"id": "checked"}, expressions{condition: "ok = :yes", values: item{":yes": true}}),
		f.deleteAction(item{"id": "deleted"}, expressions{condition: "attribute_exists(id)"}),
		second.putAction(item{"id": "put", "sk": "s"}, expressions{}), // the same id, but another table
	)
	wantCode(t, err, "")
	f.wantStored(item{"id": "put"}, item{"id": "put", "s": "x"})
	f.wantStored(item{"id": "updated"}, item{"id": "updated", "n": 2})
	f.wantStored(item{"id": "checked"}, item{"id": "checked", "ok": true})
	f.wantStored(item{"id": "deleted"}, nil)
	second.wantStored(item{"id": "put", "sk": "s"}, item{"id": "put", "sk": "s"})
}

// One action that cannot be cancels all, whichever place it has.
func TestTransact_Cancels(t *testing.T) {
	t.Parallel()
	for place := range 4 {
		t.Run(fmt.Sprintf("place-%d", place), func(t *testing.T) {
			f := newFixture(t)
			f.put(item{"id": "updated", "n": 1}, item{"id": "deleted"})
			actions := []types.TransactWriteItem{
				f.putAction(item{"id": "put"}, expressions{}),
				f.addAction("updated"),
				f.deleteAction(item{"id": "deleted"}, expressions{}),
			}
			bad := f.checkAction(item{"id": "absent"}, expressions{condition: "attribute_exists(id)"})
			actions = append(actions[:place], append([]types.TransactWriteItem{bad}, actions[place:]...)...)
			want := []string{"None", "None", "None", "None"}
			want[place] = failedReason
			wantReasons(t, f.transact(actions...), want...)
			f.wantStored(item{"id": "put"}, nil)
			f.wantStored(item{"id": "updated"}, item{"id": "updated", "n": 1})
			f.wantStored(item{"id": "deleted"}, item{"id": "deleted"})
		})
	}
}

// Every action tells its reason, and its old item if it was asked to.
func TestTransact_OldItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k", "v": "old"})
	e := expressions{condition: "v = :v", values: item{":v": "new"}}
	update := e
	update.update = "SET v = :v"
	key := item{"id": "k"}
	for name, action := range map[string]types.TransactWriteItem{
		"put": f.putAction(key, e), "update": f.updateAction(key, update), "delete": f.deleteAction(key, e), "check": f.checkAction(key, e),
	} {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			wantReasons(t, f.transact(f.putAction(item{"id": "other"}, expressions{}), action), "None", `ConditionalCheckFailed {id:"k" v:"old"}`)
			f.wantStored(key, item{"id": "k", "v": "old"})
		})
	}
	t.Run("nothing-there", func(t *testing.T) {
		absent := f.checkAction(item{"id": "absent"}, expressions{condition: "attribute_exists(id)"})
		wantReasons(t, f.on(t).transact(absent), failedReason)
	})
	t.Run("not-asked", func(t *testing.T) {
		action := f.putAction(key, e)
		action.Put.ReturnValuesOnConditionCheckFailure = ""
		wantReasons(t, f.on(t).transact(action), failedReason)
	})
	t.Run("several", func(t *testing.T) {
		absent := f.deleteAction(item{"id": "absent"}, expressions{condition: "attribute_exists(id)"})
		wantReasons(t, f.on(t).transact(absent, f.checkAction(key, e)), failedReason, `ConditionalCheckFailed {id:"k" v:"old"}`)
	})
}

// What only the item shows to be wrong is a reason of its own.
func TestTransact_ValidationError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(sized("large", 300<<10), item{"id": "text", "n": "x"})
	long := strings.Repeat("x", 200<<10)
	for name, action := range map[string]types.TransactWriteItem{
		"too-large":     f.updateAction(item{"id": "large"}, expressions{update: "SET more = :v", values: item{":v": long}}),
		"add-to-text":   f.addAction("text"),
		"absent-path":   f.updateAction(item{"id": "k"}, expressions{update: "SET a1.b1 = :v", values: item{":v": 1}}),
		"absent-value":  f.updateAction(item{"id": "k"}, expressions{update: "SET a1 = b1"}),
		"missing-key":   f.putAction(item{"n": 1}, expressions{}),
		"key-type":      f.putAction(item{"id": 1}, expressions{}),
		"key-too-much":  f.deleteAction(item{"id": "k", "n": 1}, expressions{}),
		"key-too-short": f.checkAction(item{"n": 1}, expressions{condition: "attribute_exists(id)"}),
	} {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			wantReasons(t, f.transact(f.putAction(item{"id": "other"}, expressions{}), action), "None", "ValidationError")
			f.wantStored(item{"id": "other"}, nil)
		})
	}
}

// A key that does not fit its table is the only reason: no other action is looked into, and no condition asked.
func TestTransact_KeyAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fails := f.checkAction(item{"id": "absent"}, expressions{condition: "attribute_exists(id)"})
	number := func(n int) types.TransactWriteItem { return f.putAction(item{"id": n}, expressions{}) }
	for name, row := range map[string]struct {
		actions []types.TransactWriteItem
		want    []string
	}{
		"first":  {[]types.TransactWriteItem{number(7), number(8), fails}, []string{"ValidationError", "None", "None"}},
		"middle": {[]types.TransactWriteItem{fails, number(7), number(8)}, []string{"None", "ValidationError", "None"}},
	} {
		t.Run(name, func(t *testing.T) { wantReasons(t, f.on(t).transact(row.actions...), row.want...) })
	}
}

// An update that only removes leaves no item behind where there was none.
func TestTransact_RemoveFromNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remove := func(id, condition string) types.TransactWriteItem {
		return f.updateAction(item{"id": id}, expressions{update: "REMOVE a1, b1.c1", condition: condition})
	}
	wantCode(t, f.transact(remove("a", ""), remove("b", "attribute_not_exists(id)"), f.addAction("c")), "")
	wantReasons(t, f.transact(remove("a", "attribute_exists(id)")), failedReason)
	for _, id := range []string{"a", "b"} {
		f.wantStored(item{"id": id}, nil)
	}
	f.wantStored(item{"id": "c"}, item{"id": "c", "n": 1})
}

// What is wrong with the request itself is refused as a whole.
func TestInvalid_Transact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := item{"id": "k"}
	exists := expressions{condition: "attribute_exists(id)"}
	update := expressions{update: "REMOVE a1"}
	both := f.putAction(key, expressions{})
	both.Delete = f.deleteAction(key, expressions{}).Delete
	rows := []struct {
		name    string
		actions []types.TransactWriteItem
	}{
		{"none", []types.TransactWriteItem{}},
		{"empty-action", []types.TransactWriteItem{{}}},
		{"two-in-one", []types.TransactWriteItem{both}},
		{"put-and-update", []types.TransactWriteItem{f.putAction(key, expressions{}), f.updateAction(key, update)}},
		{"update-and-update", []types.TransactWriteItem{f.updateAction(key, update), f.updateAction(key, update)}},
		{"delete-and-put", []types.TransactWriteItem{f.deleteAction(key, expressions{}), f.putAction(key, expressions{})}},
		{"check-and-put", []types.TransactWriteItem{f.checkAction(key, exists), f.putAction(key, expressions{})}},
		{"reserved-word", []types.TransactWriteItem{f.updateAction(key, expressions{update: "REMOVE status"})}},
		{"unused-value", []types.TransactWriteItem{f.updateAction(key, expressions{update: "REMOVE a1", values: item{":v": 1}})}},
		{"undefined-value", []types.TransactWriteItem{f.putAction(key, expressions{condition: "a1 = :v"})}},
		{"update-key", []types.TransactWriteItem{f.updateAction(key, expressions{update: "REMOVE id"})}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := f.on(t)
			err := f.transact(row.actions...)
			if row.name == "update-key" && code(err) == cancelled { // the table has to be asked for its key
				wantReasons(t, err, "ValidationError")
				return
			}
			wantCode(t, err, invalid)
			f.wantStored(key, nil)
		})
	}
}

func TestTransact_Most(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	actions := make([]types.TransactWriteItem, 101)
	gets := make([]types.TransactGetItem, 101)
	for i := range actions {
		key := item{"id": fmt.Sprint(i)}
		actions[i] = f.putAction(key, expressions{})
		gets[i] = types.TransactGetItem{Get: &types.Get{TableName: &f.table, Key: attributesOf(key)}}
	}
	wantCode(t, f.transact(actions...), invalid)
	wantCode(t, f.transact(actions[:100]...), "")
	_, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
	wantCode(t, err, invalid)
	out, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets[:100]})
	wantCode(t, err, "")
	if err == nil && (len(out.Responses) != 100 || show(out.Responses[99].Item) != `{id:"99"}`) {
		t.Errorf("%d responses", len(out.Responses))
	}
}

// All items together have at most 4 MB.
func TestTransact_Size(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	actions := make([]types.TransactWriteItem, 11)
	for i := range actions {
		actions[i] = f.putAction(sized(fmt.Sprintf("k%02d", i), 390_000), expressions{})
	}
	wantCode(t, f.transact(actions...), invalid)
	f.wantStored(item{"id": "k00"}, nil)
}

func TestTransactGet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "a", "n": 1, "m": item{"x": 1, "y": 2}}, item{"id": "b", "n": 2}, item{"id": "c"})
	get := func(id string, projection *string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: &f.table, Key: attributesOf(item{"id": id}), ProjectionExpression: projection}}
	}
	out, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		get("b", nil), get("absent", nil), get("a", aws.String("m.y")), get("c", aws.String("absent")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []attributes
	for _, r := range out.Responses {
		got = append(got, r.Item)
	}
	want := []attributes{attributesOf(item{"id": "b", "n": 2}), nil, attributesOf(item{"m": item{"y": 2}}), nil}
	if showAll(got) != showAll(want) || got[3] != nil {
		t.Errorf("got %s\nwant %s", showAll(got), showAll(want))
	}
	for name, gets := range map[string][]types.TransactGetItem{
		"none": {}, "same-key-twice": {get("a", nil), get("a", nil)}, "reserved-word": {get("a", aws.String("status"))},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
			wantCode(t, err, invalid)
		})
	}
}

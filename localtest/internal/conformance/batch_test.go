package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func putRequest(i item) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: attributesOf(i)}}
}

func deleteRequest(key item) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: attributesOf(key)}}
}

// puts are n requests for different items.
func puts(n int) []types.WriteRequest {
	list := make([]types.WriteRequest, n)
	for i := range list {
		list[i] = putRequest(item{"id": fmt.Sprintf("k%d", i)})
	}
	return list
}

func (f fixture) batchWrite(requests ...types.WriteRequest) error {
	f.Helper()
	out, err := f.client.BatchWriteItem(f.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{f.table: requests}})
	if err == nil && len(out.UnprocessedItems) > 0 {
		f.Errorf("unprocessed: %v", out.UnprocessedItems)
	}
	return err
}

func TestBatchWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "replaced", "old": 1}, item{"id": "deleted"}, item{"id": "left"})
	wantCode(t, f.batchWrite(
		putRequest(item{"id": "replaced", "n": 1}), deleteRequest(item{"id": "deleted"}), deleteRequest(item{"id": "absent"}), putRequest(item{"id": "put"}),
	), "")
	f.wantStored(item{"id": "replaced"}, item{"id": "replaced", "n": 1})
	f.wantStored(item{"id": "deleted"}, nil)
	f.wantStored(item{"id": "put"}, item{"id": "put"})
	f.wantStored(item{"id": "left"}, item{"id": "left"})
}

func TestBatchWrite_TwoTables(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := f
	second.table = f.db.CreateTable(t, tableOf("id"))
	_, err := f.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
		f.table: {putRequest(item{"id": "k", "n": 1})}, second.table: {putRequest(item{"id": "k", "n": 2})},
	}})
	wantCode(t, err, "")
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": 1})
	second.wantStored(item{"id": "k"}, item{"id": "k", "n": 2})
}

func TestBatchWrite_Most(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantCode(t, f.batchWrite(puts(25)...), "")
	out, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table, Select: types.SelectCount})
	if err != nil || out.Count != 25 {
		t.Errorf("%+v, %v", out, err)
	}
}

// A batch is refused whole.
func TestInvalid_BatchWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := putRequest(item{"id": "first"})
	rows := []struct {
		name     string
		requests []types.WriteRequest
	}{
		{"none", []types.WriteRequest{}},
		{"26", puts(26)},
		{"same-item-twice", []types.WriteRequest{first, putRequest(item{"id": "k"}), putRequest(item{"id": "k", "n": 1})}},
		{"put-and-delete", []types.WriteRequest{first, putRequest(item{"id": "k"}), deleteRequest(item{"id": "k"})}},
		{"neither", []types.WriteRequest{first, {}}},
		{"no-key", []types.WriteRequest{first, putRequest(item{"n": 1})}},
		{"empty-key", []types.WriteRequest{first, putRequest(item{"id": ""})}},
		{"other-key-type", []types.WriteRequest{first, deleteRequest(item{"id": 1})}},
		{"too-large", []types.WriteRequest{first, putRequest(sized("k", 400<<10+1))}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := f.on(t)
			wantCode(t, f.batchWrite(row.requests...), invalid)
			f.wantStored(item{"id": "first"}, nil)
		})
	}
}

func (f fixture) batchGet(keys types.KeysAndAttributes) ([]attributes, error) {
	f.Helper()
	out, err := f.client.BatchGetItem(f.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{f.table: keys}})
	if err != nil {
		return nil, err
	}
	if len(out.UnprocessedKeys) > 0 {
		f.Errorf("unprocessed: %v", out.UnprocessedKeys)
	}
	return out.Responses[f.table], nil
}

// keys are n keys; items of them are those that [puts] puts.
func keys(n int) []attributes {
	list := make([]attributes, n)
	for i := range list {
		list[i] = attributesOf(item{"id": fmt.Sprintf("k%d", i)})
	}
	return list
}

func TestBatchGet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k0", "n": 0, "s": "x"}, item{"id": "k2", "n": 2})
	sorted := func(t *testing.T, k types.KeysAndAttributes) string {
		t.Helper()
		got, err := f.on(t).batchGet(k)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b attributes) int { return strings.Compare(show(a), show(b)) })
		return showAll(got)
	}
	t.Run("absent-left-out", func(t *testing.T) {
		got := sorted(t, types.KeysAndAttributes{Keys: keys(4), ConsistentRead: aws.Bool(true)})
		if want := "{id:\"k0\" n:0 s:\"x\"}\n{id:\"k2\" n:2}"; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
	t.Run("projection", func(t *testing.T) {
		got := sorted(t, types.KeysAndAttributes{Keys: keys(4), ProjectionExpression: aws.String("#n"), ExpressionAttributeNames: map[string]string{"#n": "n"}})
		if want := "{n:0}\n{n:2}"; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
	t.Run("nothing-there", func(t *testing.T) {
		if got := sorted(t, types.KeysAndAttributes{Keys: []attributes{attributesOf(item{"id": "absent"})}}); got != "" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("100", func(t *testing.T) {
		_, err := f.on(t).batchGet(types.KeysAndAttributes{Keys: keys(100)})
		wantCode(t, err, "")
	})
}

func TestInvalid_BatchGet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := attributesOf(item{"id": "k"})
	rows := []struct {
		name string
		k    types.KeysAndAttributes
	}{
		{"none", types.KeysAndAttributes{Keys: []attributes{}}},
		{"101", types.KeysAndAttributes{Keys: keys(101)}},
		{"same-key-twice", types.KeysAndAttributes{Keys: []attributes{key, key}}},
		{"other-attribute", types.KeysAndAttributes{Keys: []attributes{attributesOf(item{"id": "k", "n": 1})}}},
		{"reserved-word", types.KeysAndAttributes{Keys: []attributes{key}, ProjectionExpression: aws.String("status")}},
		{"unused-name", types.KeysAndAttributes{Keys: []attributes{key}, ProjectionExpression: aws.String("n"), ExpressionAttributeNames: map[string]string{"#a": "a"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := f.on(t).batchGet(row.k)
			wantCode(t, err, invalid)
		})
	}
}

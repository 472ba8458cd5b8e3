package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// units is -1 of capacity that was not reported.
func units(c *types.ConsumedCapacity) float64 {
	if c == nil || c.CapacityUnits == nil {
		return -1
	}
	return *c.CapacityUnits
}

// wantUnits checks what was reported of one table.
func wantUnits(t *testing.T, what string, list []types.ConsumedCapacity, want float64) {
	t.Helper()
	if len(list) != 1 || units(&list[0]) != want {
		var got []float64
		for i := range list {
			got = append(got, units(&list[i]))
		}
		t.Errorf("%s: %v units, want %v", what, got, want)
	}
}

const total = types.ReturnConsumedCapacityTotal

// Writes cost a unit for each KB of the larger item, the one before or the one after; reads one for each 4 KB, or half
// of it where the answer may be stale.
func TestCapacity_Item(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	put := func(i item) (*types.ConsumedCapacity, error) {
		out, err := f.client.PutItem(f.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(i), ReturnConsumedCapacity: total})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}
	update := func(id, expression string, values item) (*types.ConsumedCapacity, error) {
		out, err := f.client.UpdateItem(f.Context(), &dynamodb.UpdateItemInput{
			TableName: &f.table, Key: attributesOf(item{"id": id}), ReturnConsumedCapacity: total,
			UpdateExpression: &expression, ExpressionAttributeValues: attributesOf(values),
		})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}
	remove := func(id string) (*types.ConsumedCapacity, error) {
		out, err := f.client.DeleteItem(f.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: attributesOf(item{"id": id}), ReturnConsumedCapacity: total})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}
	get := func(id string, consistent bool, projection *string) (*types.ConsumedCapacity, error) {
		out, err := f.client.GetItem(f.Context(), &dynamodb.GetItemInput{
			TableName: &f.table, Key: attributesOf(item{"id": id}), ConsistentRead: &consistent, ProjectionExpression: projection, ReturnConsumedCapacity: total,
		})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}
	f.put(sized("4096", 4096), sized("4097", 4097))
	rows := []struct {
		name   string
		before item
		call   func() (*types.ConsumedCapacity, error)
		want   float64
	}{
		{"put-small", nil, func() (*types.ConsumedCapacity, error) { return put(item{"id": "a"}) }, 1},
		{"put-1024", nil, func() (*types.ConsumedCapacity, error) { return put(sized("b", 1024)) }, 1},
		{"put-1025", nil, func() (*types.ConsumedCapacity, error) { return put(sized("c", 1025)) }, 2},
		{"put-over-larger", sized("d", 3000), func() (*types.ConsumedCapacity, error) { return put(item{"id": "d"}) }, 3},
		{"put-over-smaller", item{"id": "e"}, func() (*types.ConsumedCapacity, error) { return put(sized("e", 3000)) }, 3},
		{"update-absent", nil, func() (*types.ConsumedCapacity, error) { return update("f", "SET n = :v", item{":v": 1}) }, 1},
		{"update-removes-nothing", nil, func() (*types.ConsumedCapacity, error) { return update("removes", "REMOVE n", nil) }, 1},
		{"update-of-large", sized("g", 3000), func() (*types.ConsumedCapacity, error) { return update("g", "SET n = :v", item{":v": 1}) }, 3},
		{"update-shrinks", sized("h", 3000), func() (*types.ConsumedCapacity, error) { return update("h", "REMOVE filler", nil) }, 3},
		{"update-grows", sized("i", 1024), func() (*types.ConsumedCapacity, error) { return update("i", "SET n = :v", item{":v": 1}) }, 2},
		{"delete", sized("j", 3000), func() (*types.ConsumedCapacity, error) { return remove("j") }, 3},
		{"delete-absent", nil, func() (*types.ConsumedCapacity, error) { return remove("absent") }, 1},
		{"get-4096", nil, func() (*types.ConsumedCapacity, error) { return get("4096", true, nil) }, 1},
		{"get-4097", nil, func() (*types.ConsumedCapacity, error) { return get("4097", true, nil) }, 2},
		{"get-projected", nil, func() (*types.ConsumedCapacity, error) { return get("4097", true, aws.String("id")) }, 2},
		{"get-absent", nil, func() (*types.ConsumedCapacity, error) { return get("absent", true, nil) }, 1},
		{"get-stale-4096", nil, func() (*types.ConsumedCapacity, error) { return get("4096", false, nil) }, 0.5},
		{"get-stale-4097", nil, func() (*types.ConsumedCapacity, error) { return get("4097", false, nil) }, 1},
		{"get-stale-absent", nil, func() (*types.ConsumedCapacity, error) { return get("absent", false, nil) }, 0.5},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.before != nil {
				f.on(t).put(row.before)
			}
			c, err := row.call()
			if err != nil || units(c) != row.want {
				t.Errorf("%v units, want %v: %v", units(c), row.want, err)
			}
			if c != nil && aws.ToString(c.TableName) != f.table {
				t.Errorf("table %q", aws.ToString(c.TableName))
			}
		})
	}
}

func TestCapacity_NotAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, ask := range map[string]types.ReturnConsumedCapacity{"default": "", "none": types.ReturnConsumedCapacityNone} {
		t.Run(name, func(t *testing.T) {
			put, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(item{"id": "k"}), ReturnConsumedCapacity: ask})
			if err != nil || put.ConsumedCapacity != nil {
				t.Errorf("put: %+v, %v", put, err)
			}
			get, err := f.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributesOf(item{"id": "k"}), ReturnConsumedCapacity: ask})
			if err != nil || get.ConsumedCapacity != nil {
				t.Errorf("get: %+v, %v", get, err)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(item{"id": "k"}), ReturnConsumedCapacity: "ALL"})
		wantCode(t, err, invalid)
	})
}

// A page costs by the sum of what it went over, the filter's leavings included.
func TestCapacity_Pages(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, tableOf("id", "sk"))
	for i := range 4 { // 8 KB together, twice as much as would be read item by item
		f.put(with(sized("p", 2048-len("sk")-1), item{"sk": fmt.Sprint(i)}))
	}
	query := func(t *testing.T, change func(in *dynamodb.QueryInput)) float64 {
		t.Helper()
		in := &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attributesOf(item{":p": "p"}),
			ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: total,
		}
		change(in)
		out, err := f.client.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return units(out.ConsumedCapacity)
	}
	for name, row := range map[string]struct {
		change func(in *dynamodb.QueryInput)
		want   float64
	}{
		"consistent": {func(*dynamodb.QueryInput) {}, 2},
		"stale":      {func(in *dynamodb.QueryInput) { in.ConsistentRead = nil }, 1},
		"count":      {func(in *dynamodb.QueryInput) { in.Select = types.SelectCount }, 2},
		"filtered":   {func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("attribute_exists(absent)") }, 2},
		"limited":    {func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(2) }, 1},
		"nothing": {func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeValues = attributesOf(item{":p": "absent"})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := query(t, row.change); got != row.want {
				t.Errorf("%v units, want %v", got, row.want)
			}
		})
	}
	t.Run("scan", func(t *testing.T) {
		out, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: total})
		if err != nil {
			t.Fatal(err)
		}
		if got := units(out.ConsumedCapacity); got != 2 {
			t.Errorf("%v units, want 2", got)
		}
	})
}

// Batches cost what their items would cost one by one.
func TestCapacity_Batch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	write, err := f.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{ReturnConsumedCapacity: total, RequestItems: map[string][]types.WriteRequest{
		f.table: {putRequest(item{"id": "a"}), putRequest(sized("b", 1025)), deleteRequest(item{"id": "absent"})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantUnits(t, "write", write.ConsumedCapacity, 4)
	read, err := f.client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: total, RequestItems: map[string]types.KeysAndAttributes{
		f.table: {Keys: []attributes{attributesOf(item{"id": "a"}), attributesOf(item{"id": "b"}), attributesOf(item{"id": "absent"})}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantUnits(t, "read", read.ConsumedCapacity, 1.5)
}

// Transactions cost twice as much, and a repeated one costs reads.
func TestCapacity_Transaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "checked"}, sized("deleted", 1500))
	token := token(t)
	write := func() *types.ConsumedCapacity {
		t.Helper()
		out, err := f.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			ReturnConsumedCapacity: total, ClientRequestToken: &token,
			TransactItems: []types.TransactWriteItem{
				f.putAction(sized("put", 1025), expressions{}),
				f.addAction("updated"),
				f.deleteAction(item{"id": "deleted"}, expressions{}),
				f.checkAction(item{"id": "checked"}, expressions{condition: "attribute_exists(id)"}),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.ConsumedCapacity) != 1 {
			t.Fatalf("write: capacity of %d tables", len(out.ConsumedCapacity))
		}
		return &out.ConsumedCapacity[0]
	}
	if c := write(); units(c) != 12 || aws.ToFloat64(c.WriteCapacityUnits) != 12 {
		t.Errorf("write: %v units, %v for writes, want 12", units(c), aws.ToFloat64(c.WriteCapacityUnits))
	}
	if c := write(); units(c) != 8 || aws.ToFloat64(c.ReadCapacityUnits) != 8 || c.WriteCapacityUnits != nil {
		t.Errorf("repeated: %v units, %v for reads, want 8", units(c), aws.ToFloat64(c.ReadCapacityUnits))
	}
	out, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: total, TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: &f.table, Key: attributesOf(item{"id": "put"})}}, {Get: &types.Get{TableName: &f.table, Key: attributesOf(item{"id": "absent"})}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantUnits(t, "read", out.ConsumedCapacity, 4)
}

// A refused write is billed by the item that is there, which only the log of calls tells.
func TestCapacity_FailedCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	localtest.OnlyEmbedded(t, "the bill of a refused write")
	f.put(sized("k", 3000))
	fails := expressions{condition: "attribute_exists(absent)"}
	for name, row := range map[string]struct {
		call func() error
		want float64
	}{
		"put":         {func() error { return f.putIf(item{"id": "k"}, fails) }, 3},
		"delete":      {func() error { return f.deleteIf(item{"id": "k"}, fails) }, 3},
		"absent":      {func() error { return f.putIf(sized("absent", 3000), fails) }, 1},
		"transaction": {func() error { return f.transact(f.putAction(item{"id": "k"}, fails)) }, 6},
	} {
		f.db.ResetCalls()
		if err := row.call(); err == nil {
			t.Errorf("%s: the condition did not fail", name)
		}
		if calls := f.db.Calls(""); len(calls) != 1 || calls[0].WriteUnits != row.want || calls[0].ReadUnits != 0 {
			t.Errorf("%s: %+v, want %v write units", name, calls, row.want)
		}
	}
}

// With INDEXES the table's own share is told apart.
func TestCapacity_Table(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	out, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &f.table, Item: attributesOf(sized("k", 1025)), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := out.ConsumedCapacity
	if units(c) != 2 || c.Table == nil || aws.ToFloat64(c.Table.CapacityUnits) != 2 {
		t.Errorf("%v units in all, want 2 and these the table's", units(c))
	}
}

package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestTable_Describe(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, tableOf("id", "sk"))
	out, err := f.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &f.table})
	if err != nil {
		t.Fatal(err)
	}
	table := out.Table
	if aws.ToString(table.TableName) != f.table || table.TableStatus != types.TableStatusActive || aws.ToString(table.TableArn) == "" {
		t.Errorf("name %q, status %s, ARN %q", aws.ToString(table.TableName), table.TableStatus, aws.ToString(table.TableArn))
	}
	if table.BillingModeSummary == nil || table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("billing mode %+v", table.BillingModeSummary)
	}
	if table.CreationDateTime == nil || time.Since(*table.CreationDateTime).Abs() > time.Hour {
		t.Errorf("created %v", table.CreationDateTime)
	}
	var keys []string
	for _, k := range table.KeySchema {
		keys = append(keys, *k.AttributeName+" "+string(k.KeyType))
	}
	if want := []string{"id HASH", "sk RANGE"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	if len(table.AttributeDefinitions) != 2 {
		t.Errorf("attributes %+v", table.AttributeDefinitions)
	}
}

// Pages of one name each lead past every table.
func TestTable_List(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second := f.db.CreateTable(t, tableOf("id"))
	var names []string
	pages := dynamodb.NewListTablesPaginator(f.client, &dynamodb.ListTablesInput{Limit: aws.Int32(1)}, func(o *dynamodb.ListTablesPaginatorOptions) {
		o.StopOnDuplicateToken = true
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.TableNames) > 1 {
			t.Fatalf("a page of %q", page.TableNames)
		}
		names = append(names, page.TableNames...)
	}
	for _, name := range []string{f.table, second} {
		if n := len(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s != name })); n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
}

// The same name cannot be given twice; what is gone is not found; and the SDK's waiters see both.
func TestTable_CreateAndDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	in := tableOf("id")
	in.TableName = aws.String(f.table + ".again")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	describe := &dynamodb.DescribeTableInput{TableName: in.TableName}

	if _, err := f.client.CreateTable(ctx, in); err != nil {
		t.Fatal(err)
	}
	exists := dynamodb.NewTableExistsWaiter(f.client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := exists.Wait(ctx, describe, time.Minute); err != nil {
		t.Fatal(err)
	}
	_, err := f.client.CreateTable(ctx, in)
	wantCode(t, err, "ResourceInUseException")

	out, err := f.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName})
	if err != nil {
		t.Fatal(err)
	}
	if out.TableDescription.TableStatus != types.TableStatusDeleting {
		t.Errorf("status %s, want DELETING", out.TableDescription.TableStatus)
	}
	gone := dynamodb.NewTableNotExistsWaiter(f.client, func(o *dynamodb.TableNotExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := gone.Wait(ctx, describe, time.Minute); err != nil {
		t.Fatal(err)
	}
	_, err = f.client.DescribeTable(ctx, describe)
	wantCode(t, err, notFound)
}

func TestTable_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name   string
		change func(in *dynamodb.CreateTableInput)
	}{
		{"name-short", func(in *dynamodb.CreateTableInput) { in.TableName = aws.String("ab") }},
		{"name-character", func(in *dynamodb.CreateTableInput) { in.TableName = aws.String("a/b/c") }},
		{"no-keys", func(in *dynamodb.CreateTableInput) { in.KeySchema = []types.KeySchemaElement{} }},
		{"no-partition-key", func(in *dynamodb.CreateTableInput) { in.KeySchema = in.KeySchema[1:] }},
		{"sort-key-first", func(in *dynamodb.CreateTableInput) { slices.Reverse(in.KeySchema) }},
		{"two-partition-keys", func(in *dynamodb.CreateTableInput) { in.KeySchema[1].KeyType = types.KeyTypeHash }},
		{"key-undefined", func(in *dynamodb.CreateTableInput) { in.AttributeDefinitions = in.AttributeDefinitions[:1] }},
		{"definition-unused", func(in *dynamodb.CreateTableInput) { in.KeySchema = in.KeySchema[:1] }},
		{"same-key-twice", func(in *dynamodb.CreateTableInput) {
			in.KeySchema[1].AttributeName = in.KeySchema[0].AttributeName
			in.AttributeDefinitions = in.AttributeDefinitions[:1]
		}},
		{"key-type", func(in *dynamodb.CreateTableInput) { in.AttributeDefinitions[0].AttributeType = "BOOL" }},
		{"no-throughput", func(in *dynamodb.CreateTableInput) { in.BillingMode = types.BillingModeProvisioned }},
		{"throughput-on-demand", func(in *dynamodb.CreateTableInput) {
			in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := tableOf("id", "sk")
			in.TableName = aws.String(f.table + "." + row.name)
			row.change(in)
			_, err := f.client.CreateTable(t.Context(), in)
			wantCode(t, err, invalid)
			if err == nil {
				_, _ = f.client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: in.TableName})
			}
		})
	}
}

func TestTable_Unknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	name, key, ctx := aws.String(f.table+".unknown"), attributesOf(item{"id": "k"}), t.Context()
	calls := map[string]func() error{
		"describe": func() error {
			_, err := f.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
			return err
		},
		"delete-table": func() error {
			_, err := f.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: name})
			return err
		},
		"put": func() error {
			_, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: key})
			return err
		},
		"get": func() error {
			_, err := f.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key})
			return err
		},
		"update": func() error {
			_, err := f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: name, Key: key})
			return err
		},
		"delete": func() error {
			_, err := f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: key})
			return err
		},
		"query": func() error {
			_, err := f.client.Query(ctx, &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("id = :k"), ExpressionAttributeValues: attributesOf(item{":k": "k"})})
			return err
		},
		"scan": func() error {
			_, err := f.client.Scan(ctx, &dynamodb.ScanInput{TableName: name})
			return err
		},
		"batch-get": func() error {
			_, err := f.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*name: {Keys: []attributes{key}}}})
			return err
		},
		"batch-write": func() error {
			_, err := f.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {{PutRequest: &types.PutRequest{Item: key}}}}})
			return err
		},
		"transact-get": func() error {
			_, err := f.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: key}}}})
			return err
		},
		"transact-write": func() error {
			_, err := f.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: name, Item: key}}}})
			return err
		},
		"update-ttl": func() error {
			_, err := f.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: name, TimeToLiveSpecification: ttl("expiration", true)})
			return err
		},
		"describe-ttl": func() error {
			_, err := f.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: name})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { wantCode(t, call(), notFound) })
	}
}

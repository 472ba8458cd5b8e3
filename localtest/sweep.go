package localtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// Sweep deletes the items whose time to live has passed more than late ago by the database's clock, in every table
// that has it on, and returns how many these were. 0 deletes all that have expired. DynamoDB itself typically takes
// some days for it and serves the items meanwhile, as this database does until Sweep is called; what expired more
// than five years ago it never deletes. It panics if late is negative: what has not expired never goes.
func (db *DB) Sweep(late time.Duration) int {
	if late < 0 {
		panic(fmt.Sprintf("localtest: sweep: late is %v, must not be negative", late))
	}
	db.applyDue()
	now := db.now()
	by := now.Add(-late)
	if db.real == nil {
		return db.engine.Sweep(by)
	}
	swept := 0
	for table, attribute := range db.engine.TimeToLive() {
		n, err := sweepTable(db.setup(), table, attribute, by, now)
		if err != nil {
			db.tb.Errorf("localtest: sweep table %s: %v", table, err)
		}
		swept += n
	}
	return swept
}

// sweepTable does the work of time to live on a real table.
func sweepTable(client *dynamodb.Client, table, attribute string, by, now time.Time) (swept int, err error) {
	ctx := context.Background()
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return 0, err
	}
	consistent := true
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: &consistent})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return swept, err
		}
		for _, item := range page.Items {
			seen, ok := item[attribute].(*types.AttributeValueMemberN)
			if !ok || !dynamo.Expired(seen.Value, by, now) {
				continue
			}
			key := map[string]types.AttributeValue{}
			for _, k := range described.Table.KeySchema {
				key[*k.AttributeName] = item[*k.AttributeName]
			}
			deleted, err := deleteIf(ctx, client, table, key, attribute, seen)
			if err != nil {
				return swept, fmt.Errorf("delete %v: %w", key, err)
			}
			swept += deleted
		}
	}
	return swept, nil
}

// deleteIf deletes the item unless a write has changed the attribute since it was seen: that write wins.
func deleteIf(ctx context.Context, client *dynamodb.Client, table string, key map[string]types.AttributeValue, attribute string, seen types.AttributeValue) (int, error) {
	condition := "#a = :seen"
	_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &table,
		Key:                       key,
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":seen": seen},
	})
	if _, changed := errors.AsType[*types.ConditionalCheckFailedException](err); changed {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

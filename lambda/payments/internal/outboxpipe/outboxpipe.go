// Package outboxpipe stands in for the table's stream and the EventBridge Pipe behind it, for the demo and for tests: it writes
// the ledger's rows as the queue gets them.
package outboxpipe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Prefix is what the ids of the rows that the pipe lets through begin with.
const Prefix = "outbox#"

// Messages returns the bodies of the messages for the rows that are in the outbox, in the table's order.
func Messages(ctx context.Context, client *dynamodb.Client, table string) (bodies []string, err error) {
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		FilterExpression:          aws.String("begins_with(id, :outbox)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":outbox": &types.AttributeValueMemberS{Value: Prefix}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
		for _, row := range page.Items {
			body, err := Record(row)
			if err != nil {
				return nil, err
			}
			bodies = append(bodies, body)
		}
	}
	return bodies, nil
}

// Record is the record of a row's insert in the table's stream. Each time it is another one: as if the row had been published
// again.
func Record(row map[string]types.AttributeValue) (string, error) {
	image, err := attributes(row)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(events.DynamoDBEventRecord{
		AWSRegion: "us-east-1", EventSource: "aws:dynamodb", EventVersion: "1.1",
		EventID: strings.ToLower(rand.Text()), EventName: string(events.DynamoDBOperationTypeInsert),
		EventSourceArn: "arn:aws:dynamodb:us-east-1:000000000000:table/ledger/stream/2026-01-01T00:00:00.000",
		Change: events.DynamoDBStreamRecord{
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Now().Truncate(time.Second)},
			Keys:                        map[string]events.DynamoDBAttributeValue{"id": image["id"]},
			NewImage:                    image,
			SequenceNumber:              fmt.Sprint(time.Now().UnixNano()),
			StreamViewType:              "NEW_IMAGE",
		},
	})
	return string(text), err
}

func attributes(row map[string]types.AttributeValue) (map[string]events.DynamoDBAttributeValue, error) {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, value := range row {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		case *types.AttributeValueMemberM:
			nested, err := attributes(v.Value)
			if err != nil {
				return nil, err
			}
			image[name] = events.NewMapAttribute(nested)
		default:
			return nil, fmt.Errorf("the row's %s is a %T, which the ledger has none of", name, value)
		}
	}
	return image, nil
}

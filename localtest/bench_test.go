package localtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// recordTable is the shape of a table of records.
func recordTable() *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String("records"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}
}

// BenchmarkPutUpdatePair is a claim and its completion: budget 5,000 pairs a second on 2 cores. Most of it is the SDK's
// own work, which BenchmarkSDKAlone shows: on a slower machine, look at the ratio of the two.
func BenchmarkPutUpdatePair(b *testing.B) {
	db := localtest.Start(b)
	pairs(b, db.Client(), db.CreateTable(b, recordTable()))
}

// BenchmarkSDKAlone is the same against a server that does nothing.
func BenchmarkSDKAlone(b *testing.B) {
	client := localtest.Start(b).Client(func(o *dynamodb.Options) { o.HTTPClient = nothing{} })
	pairs(b, client, "records")
}

func pairs(b *testing.B, client *dynamodb.Client, table string) {
	b.Helper()
	var serial atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := pair(b.Context(), client, table, fmt.Sprint("pay#", serial.Add(1))); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// nothing answers {} to everything.
type nothing struct{}

func (nothing) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode:    http.StatusOK,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {"2745614147"}},
		ContentLength: 2,
		Body:          io.NopCloser(strings.NewReader("{}")),
		Request:       r,
	}, nil
}

func pair(ctx context.Context, client *dynamodb.Client, table, id string) error {
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &table,
		Item: map[string]types.AttributeValue{
			"id":                     key["id"],
			"status":                 &types.AttributeValueMemberS{Value: "INPROGRESS"},
			"attempt":                &types.AttributeValueMemberS{Value: "token"},
			"expiration":             &types.AttributeValueMemberN{Value: "1700003600"},
			"in_progress_expiration": &types.AttributeValueMemberN{Value: "1700000060000"},
		},
		ConditionExpression:      aws.String("attribute_not_exists(#id) OR #exp < :now"),
		ExpressionAttributeNames: map[string]string{"#id": "id", "#exp": "expiration"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": &types.AttributeValueMemberN{Value: "1700000000"},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err != nil {
		return err
	}
	_, err = client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &table,
		Key:                      key,
		UpdateExpression:         aws.String("SET #st = :done, #data = :data REMOVE in_progress_expiration"),
		ConditionExpression:      aws.String("attempt = :token AND #st = :running"),
		ExpressionAttributeNames: map[string]string{"#st": "status", "#data": "data"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":done":    &types.AttributeValueMemberS{Value: "COMPLETED"},
			":data":    &types.AttributeValueMemberS{Value: `{"paid":true}`},
			":token":   &types.AttributeValueMemberS{Value: "token"},
			":running": &types.AttributeValueMemberS{Value: "INPROGRESS"},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

// BenchmarkStart is what a test pays for a database and a table of its own.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		db := localtest.Start(b)
		db.CreateTable(b, recordTable())
	}
}

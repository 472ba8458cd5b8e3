package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/localtest"
)

// fixture is a database with one table. Its client tries each call once, so that tests see the first answer.
type fixture struct {
	*testing.T
	db     *localtest.DB
	client *dynamodb.Client
	table  string
}

// newFixture has a table with the partition key id.
func newFixture(t *testing.T) fixture {
	t.Helper()
	return newFixtureOf(t, tableOf("id"))
}

func newFixtureOf(t *testing.T, table *dynamodb.CreateTableInput) fixture {
	t.Helper()
	db := localtest.Start(t)
	client := db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	return fixture{t, db, client, db.CreateTable(t, table)}
}

// on is the same fixture in a subtest.
func (f fixture) on(t *testing.T) fixture {
	f.T = t
	return f
}

// tableOf describes a table that is paid by request, with a partition key and perhaps a sort key of type S.
func tableOf(keys ...string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: aws.String("conformance"), BillingMode: types.BillingModePayPerRequest}
	for i, name := range keys {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
		in.KeySchema = append(in.KeySchema,
			types.KeySchemaElement{AttributeName: &name, KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
	}
	return in
}

// expressions are those of one request; what is empty is not sent.
type expressions struct {
	update, condition string
	names             map[string]string
	values            item
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (f fixture) putIf(i item, e expressions) error {
	_, err := f.client.PutItem(f.Context(), &dynamodb.PutItemInput{
		TableName:                           &f.table,
		Item:                                attributesOf(i),
		ConditionExpression:                 optional(e.condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           attributesOf(e.values),
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	return err
}

// updateIf gives the whole item after the update.
func (f fixture) updateIf(key item, e expressions) (attributes, error) {
	out, err := f.client.UpdateItem(f.Context(), &dynamodb.UpdateItemInput{
		TableName:                           &f.table,
		Key:                                 attributesOf(key),
		UpdateExpression:                    optional(e.update),
		ConditionExpression:                 optional(e.condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           attributesOf(e.values),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func (f fixture) deleteIf(key item, e expressions) error {
	_, err := f.client.DeleteItem(f.Context(), &dynamodb.DeleteItemInput{
		TableName:                           &f.table,
		Key:                                 attributesOf(key),
		ConditionExpression:                 optional(e.condition),
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           attributesOf(e.values),
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	return err
}

// put stores the items.
func (f fixture) put(items ...item) {
	f.Helper()
	for _, i := range items {
		if err := f.putIf(i, expressions{}); err != nil {
			f.Fatalf("put: %v", err)
		}
	}
}

// get is the stored item, nil if there is none.
func (f fixture) get(key item) attributes {
	f.Helper()
	out, err := f.client.GetItem(f.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributesOf(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		f.Fatalf("get: %v", err)
	}
	return out.Item
}

// wantStored checks the stored item with this key; nil means that there is none.
func (f fixture) wantStored(key, want item) {
	f.Helper()
	wantItem(f.T, "stored", f.get(key), want)
}

func wantItem(t *testing.T, what string, got attributes, want item) {
	t.Helper()
	if g, w := show(got), show(attributesOf(want)); g != w {
		t.Errorf("%s %s\nwant %s", what, g, w)
	}
}

const (
	conditionFailed = "ConditionalCheckFailedException"
	invalid         = "ValidationException"
	notFound        = "ResourceNotFoundException"
)

// code is the service's code for the error; "" of success.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return "no answer: " + err.Error()
}

// wantCode checks an error's code; "" means success.
func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if code(err) != want {
		t.Errorf("got %q, want %q: %v", code(err), want, err)
	}
}

// putRaw puts what [value] cannot make.
func (f fixture) putRaw(a attributes) error {
	_, err := f.client.PutItem(f.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: a})
	return err
}

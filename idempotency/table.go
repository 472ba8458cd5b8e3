package idempotency

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of a table whose [Schema] names none.
const (
	DefaultPartitionKey = "id"
	DefaultExpiry       = "expiration"
)

// Schema names the attributes of a table that serves other items too. The zero value is the default: partition
// key "id", no sort key, expiry "expiration", as in the tables that Powertools for AWS Lambda uses.
type Schema struct {
	// PartitionKey (type S) holds the record's id. Defaults to "id".
	PartitionKey string

	// SortKey (type S) is set for a table that has one; every record then has SortKeyValue there.
	// Defaults to none.
	SortKey string

	// SortKeyValue defaults to "idempotency" where SortKey is set.
	SortKeyValue string

	// Expiry (type N, seconds) is the table's time-to-live attribute. Defaults to "expiration".
	Expiry string
}

// Table describes the table for CreateTable: on demand, keyed as s says. Time to live is a setting of its own
// (UpdateTimeToLive) on s.Expiry; without it records are kept, and billed, for ever, and nothing else changes.
func Table(name string, s Schema) *dynamodb.CreateTableInput {
	s = s.withDefaults()
	in := &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
	}
	key := func(name string, kind types.KeyType) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind})
	}
	key(s.PartitionKey, types.KeyTypeHash)
	if s.SortKey != "" {
		key(s.SortKey, types.KeyTypeRange)
	}
	return in
}

func (s Schema) withDefaults() Schema {
	if s.PartitionKey == "" {
		s.PartitionKey = DefaultPartitionKey
	}
	if s.SortKey != "" && s.SortKeyValue == "" {
		s.SortKeyValue = "idempotency"
	}
	if s.Expiry == "" {
		s.Expiry = DefaultExpiry
	}
	return s
}

func (s Schema) validate() error {
	seen := []string{}
	for _, a := range []struct{ field, name string }{
		{"Config.Schema.PartitionKey", s.PartitionKey},
		{"Config.Schema.SortKey", s.SortKey},
		{"Config.Schema.Expiry", s.Expiry},
	} {
		if a.name == "" {
			continue
		}
		if len(a.name) > 255 {
			return invalid(a.field, fmt.Sprintf("%d bytes long", len(a.name)), "an attribute's name has at most 255 bytes")
		}
		if slices.Contains(attributes, a.name) {
			return invalid(a.field, fmt.Sprintf("%q", a.name), "the name is taken by an attribute of the record")
		}
		if slices.Contains(seen, a.name) {
			return invalid(a.field, fmt.Sprintf("%q", a.name), "the same name is given to two attributes")
		}
		seen = append(seen, a.name)
	}
	if s.SortKey == "" && s.SortKeyValue != "" {
		return invalid("Config.Schema.SortKeyValue", fmt.Sprintf("%q", s.SortKeyValue), "goes with a SortKey")
	}
	if len(s.SortKeyValue) > 1024 {
		return invalid("Config.Schema.SortKeyValue", fmt.Sprintf("%d bytes long", len(s.SortKeyValue)), "a sort key has at most 1024 bytes")
	}
	return nil
}

package dynamo

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// table is a table and its items. Guarded by Engine.mu.
type table struct {
	name     string
	id       string
	schema   keySchema
	shape    createTable // as it was asked for
	created  time.Time
	ttl      string // the attribute's name, "" when TTL is off
	contents *contents
}

// tableARN identifies a table, in messages and descriptions.
func tableARN(name string) string { return "arn:aws:dynamodb:us-east-1:000000000000:table/" + name }

// indexARN identifies an index of a table.
func indexARN(table, index string) string { return tableARN(table) + "/index/" + index }

// table is the named table. e.mu is held.
func (e *Engine) table(name string) (*table, error) {
	if t := e.tables[name]; t != nil {
		return t, nil
	}
	return nil, notFound("")
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// bareName is the name of a table that may be named by its ARN.
func bareName(name string) string {
	if _, after, ok := strings.Cut(name, ":table/"); ok && strings.HasPrefix(name, "arn:") {
		return after
	}
	return name
}

// checkTableName checks a table's name and reduces an ARN to it.
func checkTableName(name *string) error {
	*name = bareName(*name)
	switch {
	case *name == "":
		return missing("tableName")
	case len(*name) > 255:
		return violation(*name, "tableName", "Member must have length less than or equal to 255")
	case !tableName.MatchString(*name):
		return violation(*name, "tableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	return nil
}

// description is what DescribeTable and its kin answer.
type description struct {
	TableName                 string
	TableStatus               string
	TableArn                  string
	TableID                   string `json:"TableId"`
	CreationDateTime          float64
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keySchemaElement
	ItemCount                 int
	TableSizeBytes            int
	DeletionProtectionEnabled bool
	ProvisionedThroughput     throughput
	BillingModeSummary        *billingModeSummary `json:",omitempty"`
	LocalSecondaryIndexes     []indexDescription  `json:",omitempty"`
	GlobalSecondaryIndexes    []indexDescription  `json:",omitempty"`
}

type billingModeSummary struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime float64 `json:",omitempty"`
}

func (t *table) describe(status string) *description {
	d := &description{
		TableName:                 t.name,
		TableStatus:               status,
		TableArn:                  tableARN(t.name),
		TableID:                   t.id,
		CreationDateTime:          float64(t.created.UnixMilli()) / 1000,
		AttributeDefinitions:      t.shape.AttributeDefinitions,
		KeySchema:                 t.shape.KeySchema,
		ItemCount:                 t.contents.items,
		TableSizeBytes:            t.contents.bytes,
		DeletionProtectionEnabled: t.shape.DeletionProtectionEnabled,
	}
	for _, x := range t.shape.LocalSecondaryIndexes {
		d.LocalSecondaryIndexes = append(d.LocalSecondaryIndexes, t.describeIndex(x.secondaryIndex))
	}
	for _, x := range t.shape.GlobalSecondaryIndexes {
		of := t.describeIndex(x.secondaryIndex)
		of.IndexStatus, of.ProvisionedThroughput = status, &throughput{}
		if x.ProvisionedThroughput != nil {
			of.ProvisionedThroughput = x.ProvisionedThroughput
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, of)
	}
	if t.shape.onDemand() {
		d.BillingModeSummary = &billingModeSummary{"PAY_PER_REQUEST", d.CreationDateTime}
	} else {
		d.ProvisionedThroughput = *t.shape.ProvisionedThroughput
	}
	return d
}

// newID is a table id in the form of a UUID, different for each table of the engine. e.mu is held.
func (e *Engine) newID() string {
	e.serial++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", e.serial)
}

// onDemand reports whether the table is billed by request; one that does not exist counts as that.
func (e *Engine) onDemand(name string) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.tables[name]
	return t == nil || t.shape.onDemand()
}

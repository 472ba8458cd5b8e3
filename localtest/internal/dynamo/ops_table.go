package dynamo

import (
	"encoding/json"
	"maps"
	"slices"
)

type attributeDefinition struct{ AttributeName, AttributeType string }

type keySchemaElement struct{ AttributeName, KeyType string }

type throughput struct {
	ReadCapacityUnits      int64
	WriteCapacityUnits     int64
	NumberOfDecreasesToday int64
}

type createTable struct {
	TableName                 string
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keySchemaElement
	BillingMode               string
	ProvisionedThroughput     *throughput
	DeletionProtectionEnabled bool

	// Accepted without effect: nothing that a client of the data can see depends on them.
	Tags, SSESpecification, TableClass, OnDemandThroughput, WarmThroughput, ResourcePolicy json.RawMessage

	// GlobalSecondaryIndexes, LocalSecondaryIndexes and StreamSpecification are refused, as unknown members are.
}

func (r *createTable) onDemand() bool { return r.BillingMode == "PAY_PER_REQUEST" }

func (r *createTable) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:CreateTable"}
}

func (r *createTable) check() error {
	if err := checkTableName(&r.TableName); err != nil {
		return err
	}
	switch {
	case len(r.TableName) < 3: // a shorter name elsewhere is one of a table that can't exist
		return violation(r.TableName, "tableName", "Member must have length greater than or equal to 3")
	case r.AttributeDefinitions == nil:
		return missing("attributeDefinitions")
	case r.KeySchema == nil:
		return missing("keySchema")
	case len(r.KeySchema) == 0 || len(r.KeySchema) > 2:
		return violation("", "keySchema", "Member must have length from 1 to 2")
	case r.KeySchema[0].KeyType != "HASH":
		return invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(r.KeySchema) == 2 && r.KeySchema[1].KeyType != "RANGE":
		return invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(r.KeySchema) == 2 && r.KeySchema[0].AttributeName == r.KeySchema[1].AttributeName:
		return invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	for _, d := range r.AttributeDefinitions {
		if err := checkKeyName(d.AttributeName, "attributeDefinitions.1.member.attributeName"); err != nil {
			return err
		}
		if d.AttributeType != "S" && d.AttributeType != "N" && d.AttributeType != "B" {
			return violation(d.AttributeType, "attributeDefinitions.1.member.attributeType", "Member must satisfy enum value set: [B, N, S]")
		}
	}
	for _, k := range r.KeySchema {
		if !slices.ContainsFunc(r.AttributeDefinitions, func(d attributeDefinition) bool { return d.AttributeName == k.AttributeName }) {
			return invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: [%s]", k.AttributeName)
		}
	}
	if len(r.AttributeDefinitions) != len(r.KeySchema) {
		return invalidParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	return r.checkBilling()
}

func (r *createTable) checkBilling() error {
	switch r.BillingMode {
	case "PAY_PER_REQUEST":
		if r.ProvisionedThroughput != nil {
			return invalidParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
	case "", "PROVISIONED":
		p := r.ProvisionedThroughput
		if p == nil {
			return invalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
		if p.ReadCapacityUnits < 1 || p.WriteCapacityUnits < 1 {
			return violation("0", "provisionedThroughput", "Member must have value greater than or equal to 1")
		}
	default:
		return violation(r.BillingMode, "billingMode", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")
	}
	return nil
}

func (r *createTable) schema() keySchema {
	attribute := func(name string) keyAttribute {
		for _, d := range r.AttributeDefinitions {
			if d.AttributeName == name {
				k, _ := kindOf(d.AttributeType) // checked
				return keyAttribute{name, k}
			}
		}
		return keyAttribute{}
	}
	s := keySchema{hash: attribute(r.KeySchema[0].AttributeName)}
	if len(r.KeySchema) == 2 {
		s.sort = attribute(r.KeySchema[1].AttributeName)
	}
	return s
}

type tableDescription struct{ TableDescription *description }

func (r *createTable) run(e *Engine, _ usage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tables[r.TableName] != nil {
		return nil, newError("ResourceInUseException", "Table already exists: %s", r.TableName)
	}
	t := &table{name: r.TableName, id: e.newID(), schema: r.schema(), shape: *r, created: e.now(), contents: newRows()}
	e.tables[t.name] = t
	return tableDescription{t.describe("ACTIVE")}, nil
}

type describeTable struct{ TableName string }

func (r *describeTable) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:DescribeTable"}
}

func (r *describeTable) run(e *Engine, _ usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.tables[r.TableName]
	if t == nil {
		return nil, notFound("Table: " + r.TableName + " not found")
	}
	return struct{ Table *description }{t.describe("ACTIVE")}, nil
}

type deleteTable struct{ TableName string }

func (r *deleteTable) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:DeleteTable"}
}

func (r *deleteTable) run(e *Engine, _ usage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tables[r.TableName]
	if t == nil {
		return nil, notFound("Table: " + r.TableName + " not found")
	}
	if t.shape.DeletionProtectionEnabled {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	delete(e.tables, r.TableName)
	return tableDescription{t.describe("DELETING")}, nil
}

type listTables struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (r *listTables) describe(q *Request) { q.Actions = []string{"dynamodb:ListTables"} }

func (r *listTables) check() error {
	if r.Limit != nil && (*r.Limit < 1 || *r.Limit > 100) {
		return invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value from 1 to 100", *r.Limit)
	}
	return nil
}

func (r *listTables) run(e *Engine, _ usage) (any, error) { //nolint:unparam // one shape for all operations
	e.mu.RLock()
	names := slices.Sorted(maps.Keys(e.tables))
	e.mu.RUnlock()
	from, found := slices.BinarySearch(names, r.ExclusiveStartTableName)
	if found {
		from++
	}
	reply := struct {
		TableNames             []string
		LastEvaluatedTableName string `json:",omitempty"`
	}{TableNames: names[from:]}
	limit := 100
	if r.Limit != nil {
		limit = *r.Limit
	}
	if len(reply.TableNames) > limit {
		reply.TableNames = reply.TableNames[:limit]
		reply.LastEvaluatedTableName = reply.TableNames[limit-1]
	}
	return reply, nil
}

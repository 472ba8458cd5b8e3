package dynamo

import (
	"encoding/json"
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
	LocalSecondaryIndexes     []localIndex
	GlobalSecondaryIndexes    []globalIndex
	BillingMode               string
	ProvisionedThroughput     *throughput
	DeletionProtectionEnabled bool

	// Accepted without effect: nothing that a client of the data can see depends on them.
	Tags, SSESpecification, TableClass, OnDemandThroughput, WarmThroughput, ResourcePolicy json.RawMessage

	StreamSpecification *streamSpecification
}

// streamSpecification may only say what is so: that there is no stream.
type streamSpecification struct {
	StreamEnabled  *bool
	StreamViewType string
}

func (s *streamSpecification) check() error {
	switch {
	case s == nil:
		return nil
	case s.StreamEnabled == nil:
		return missing("streamSpecification.streamEnabled")
	case *s.StreamEnabled:
		return unsupported("StreamSpecification")
	case s.StreamViewType != "":
		return invalidParameter("Table is not stream-enabled. StreamViewType can only be set when StreamEnabled is true")
	}
	return nil
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
	}
	if err := r.StreamSpecification.check(); err != nil {
		return err
	}
	for _, d := range r.AttributeDefinitions {
		if err := checkKeyName(d.AttributeName, "attributeDefinitions.1.member.attributeName"); err != nil {
			return err
		}
		if d.AttributeType != "S" && d.AttributeType != "N" && d.AttributeType != "B" {
			return violation(d.AttributeType, "attributeDefinitions.1.member.attributeType", "Member must satisfy enum value set: [B, N, S]")
		}
	}
	if err := r.checkKeySchema(r.KeySchema, "keySchema"); err != nil {
		return err
	}
	if err := r.checkIndexes(); err != nil {
		return err
	}
	if err := r.checkAllUsed(); err != nil {
		return err
	}
	return r.checkBilling()
}

// checkKeySchema checks the key of the table or an index, which is the request's member of that name.
func (r *createTable) checkKeySchema(s []keySchemaElement, member string) error {
	if len(s) == 0 || len(s) > 2 {
		return violation("", member, "Member must have length from 1 to 2")
	}
	for _, k := range s {
		if k.KeyType != "HASH" && k.KeyType != "RANGE" {
			return violation(k.KeyType, member+".1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]")
		}
	}
	if len(s) > len(r.AttributeDefinitions) {
		return invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	for _, k := range s {
		if !slices.Contains(r.defined(), k.AttributeName) {
			return invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]", join(attributeNames(s)), join(r.defined()))
		}
	}
	switch {
	case len(s) == 2 && s[0].AttributeName == s[1].AttributeName:
		return invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case s[0].KeyType != "HASH":
		return invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(s) == 2 && s[1].KeyType != "RANGE":
		return invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return nil
}

// defined are the names of the attribute definitions.
func (r *createTable) defined() []string {
	names := make([]string, len(r.AttributeDefinitions))
	for i, d := range r.AttributeDefinitions {
		names[i] = d.AttributeName
	}
	return names
}

func attributeNames(s []keySchemaElement) []string {
	names := make([]string, len(s))
	for i, k := range s {
		names[i] = k.AttributeName
	}
	return names
}

// checkAllUsed refuses attribute definitions of which no key makes use. All keys have their definitions.
func (r *createTable) checkAllUsed() error {
	used := attributeNames(r.KeySchema)
	for _, x := range r.indexes() {
		used = append(used, attributeNames(x.KeySchema)...)
	}
	slices.Sort(used)
	used = slices.Compact(used)
	switch {
	case len(used) == len(r.AttributeDefinitions):
		return nil
	case len(r.indexes()) == 0:
		return invalidParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	default:
		return invalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]", join(r.defined()), join(used))
	}
}

func (r *createTable) checkBilling() error {
	switch r.BillingMode {
	case "PAY_PER_REQUEST":
		if r.ProvisionedThroughput != nil {
			return invalidParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
	case "", "PROVISIONED":
		if r.ProvisionedThroughput == nil {
			return invalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
		if err := r.ProvisionedThroughput.check("provisionedThroughput"); err != nil {
			return err
		}
	default:
		return violation(r.BillingMode, "billingMode", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")
	}
	return r.checkIndexBilling()
}

// check checks the throughput, which is the request's member of that name.
func (p *throughput) check(member string) error {
	if p.ReadCapacityUnits < 1 || p.WriteCapacityUnits < 1 {
		return violation("0", member, "Member must have value greater than or equal to 1")
	}
	return nil
}

// schema is the key of the table or an index, once it is checked.
func (r *createTable) schema(elements []keySchemaElement) keySchema {
	attribute := func(name string) keyAttribute {
		d := r.AttributeDefinitions[slices.Index(r.defined(), name)]
		k, _ := kindOf(d.AttributeType) // checked
		return keyAttribute{name, k}
	}
	s := keySchema{hash: attribute(elements[0].AttributeName)}
	if len(elements) == 2 {
		s.sort = attribute(elements[1].AttributeName)
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
	t := &table{
		name:     r.TableName,
		id:       e.newID(),
		schema:   r.schema(r.KeySchema),
		shape:    *r,
		created:  e.now(),
		contents: &contents{newRows(), r.newIndexes()},
	}
	e.tables[t.name] = t
	return tableDescription{t.describe("ACTIVE")}, nil
}

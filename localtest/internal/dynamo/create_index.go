package dynamo

import (
	"encoding/json"
	"slices"
	"strings"
)

// Limits of a table's indexes.
const (
	maxLocalIndexes  = 5
	maxGlobalIndexes = 20
	maxNonKeys       = 20  // of one projection
	maxAllNonKeys    = 100 // of all projections together
)

// secondaryIndex is an index as CreateTable asks for it.
type secondaryIndex struct {
	IndexName  string
	KeySchema  []keySchemaElement
	Projection *projection
}

type localIndex struct{ secondaryIndex }

type globalIndex struct {
	secondaryIndex
	ProvisionedThroughput *throughput

	// Accepted without effect, as those of the table are.
	OnDemandThroughput, WarmThroughput json.RawMessage
}

// projection says which attributes an index shows besides the keys.
type projection struct {
	ProjectionType   string   `json:",omitempty"`
	NonKeyAttributes []string `json:",omitempty"`
}

// indexes are all that the request asks for.
func (r *createTable) indexes() []secondaryIndex {
	var list []secondaryIndex
	for _, x := range r.LocalSecondaryIndexes {
		list = append(list, x.secondaryIndex)
	}
	for _, x := range r.GlobalSecondaryIndexes {
		list = append(list, x.secondaryIndex)
	}
	return list
}

// checkIndexes checks the indexes as far as that goes without the billing mode. The table's key is in order.
func (r *createTable) checkIndexes() error {
	switch {
	case r.LocalSecondaryIndexes != nil && len(r.LocalSecondaryIndexes) == 0:
		return invalidParameter("List of LocalSecondaryIndexes is empty")
	case r.GlobalSecondaryIndexes != nil && len(r.GlobalSecondaryIndexes) == 0:
		return invalidParameter("List of GlobalSecondaryIndexes is empty")
	case r.LocalSecondaryIndexes != nil && len(r.KeySchema) != 2:
		return invalidParameter("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	}
	for _, x := range r.LocalSecondaryIndexes {
		if err := r.checkIndex(x.secondaryIndex, "localSecondaryIndexes"); err != nil {
			return err
		}
		if err := r.checkLocal(x); err != nil {
			return err
		}
	}
	for _, x := range r.GlobalSecondaryIndexes {
		if err := r.checkIndex(x.secondaryIndex, "globalSecondaryIndexes"); err != nil {
			return err
		}
	}
	switch {
	case len(r.LocalSecondaryIndexes) > maxLocalIndexes:
		return invalidParameter("Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocalIndexes)
	case len(r.GlobalSecondaryIndexes) > maxGlobalIndexes:
		return invalidParameter("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobalIndexes)
	}
	return r.checkTogether()
}

// checkIndex checks one index, which is in the request's list of that name.
func (r *createTable) checkIndex(x secondaryIndex, list string) error {
	member := list + ".1.member."
	if err := checkIndexName(x.IndexName, member+"indexName"); err != nil {
		return err
	}
	switch {
	case x.KeySchema == nil:
		return missing(member + "keySchema")
	case x.Projection == nil:
		return missing(member + "projection")
	case list == "globalSecondaryIndexes" && len(x.KeySchema) > 2: // which DynamoDB has
		return unsupported("KeySchema with more than one attribute of a KeyType")
	}
	if err := r.checkKeySchema(x.KeySchema, member+"keySchema"); err != nil {
		return err
	}
	return x.Projection.check(member + "projection.")
}

// checkIndexName checks an index's name, which is the request's member of that name.
func checkIndexName(name, member string) error {
	switch {
	case name == "":
		return missing(member)
	case len(name) < 3:
		return violation(name, member, "Member must have length greater than or equal to 3")
	case len(name) > 255:
		return violation(name, member, "Member must have length less than or equal to 255")
	case !tableName.MatchString(name):
		return violation(name, member, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	return nil
}

func (p *projection) check(member string) error {
	switch p.ProjectionType {
	case "ALL", "KEYS_ONLY", "INCLUDE":
	case "":
		return invalidParameter("Unknown ProjectionType: null")
	default:
		return violation(p.ProjectionType, member+"projectionType", "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]")
	}
	member += "nonKeyAttributes"
	switch {
	case p.NonKeyAttributes != nil && len(p.NonKeyAttributes) == 0:
		return violation("[]", member, "Member must have length greater than or equal to 1")
	case len(p.NonKeyAttributes) > maxNonKeys:
		return violation("["+join(p.NonKeyAttributes)+"]", member, "Member must have length less than or equal to 20")
	case p.ProjectionType == "INCLUDE" && p.NonKeyAttributes == nil:
		return invalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != "INCLUDE" && p.NonKeyAttributes != nil:
		return invalidParameter("ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	}
	for _, name := range p.NonKeyAttributes {
		if err := checkKeyName(name, member+".1.member"); err != nil {
			return err
		}
	}
	return nil
}

// checkLocal checks what only local indexes have to be: another order of the table's partitions.
func (r *createTable) checkLocal(x localIndex) error {
	if len(x.KeySchema) != 2 {
		return invalidParameter("Index KeySchema does not have a range key for index: %s", x.IndexName)
	}
	if of, table := x.KeySchema[0].AttributeName, r.KeySchema[0].AttributeName; of != table {
		return invalidParameter("Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s", x.IndexName, of, table)
	}
	return nil
}

// checkTogether checks what the indexes must not be together.
func (r *createTable) checkTogether() error {
	seen := map[string]bool{}
	nonKeys := 0
	for _, x := range r.indexes() {
		if seen[x.IndexName] {
			return invalidParameter("Duplicate index name: %s", x.IndexName)
		}
		seen[x.IndexName] = true
		nonKeys += len(x.Projection.NonKeyAttributes)
	}
	if nonKeys > maxAllNonKeys {
		return invalidParameter("The number of NonKeyAttributes of all indexes exceeds the per-table limit of %d", maxAllNonKeys)
	}
	return nil
}

// checkIndexBilling: global indexes have a throughput of their own where the table has one.
func (r *createTable) checkIndexBilling() error {
	for _, x := range r.GlobalSecondaryIndexes {
		p := x.ProvisionedThroughput
		switch {
		case r.onDemand() && p != nil:
			return invalidParameter("ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", x.IndexName)
		case r.onDemand():
		case p == nil:
			return invalidParameter("ProvisionedThroughput must be specified for index: %s", x.IndexName)
		default:
			if err := p.check("globalSecondaryIndexes.1.member.provisionedThroughput"); err != nil {
				return err
			}
		}
	}
	return nil
}

// newIndexes are the indexes of a new table, in order of their names. The request is checked.
func (r *createTable) newIndexes() []*index {
	var list []*index
	for i, x := range r.indexes() {
		n := &index{
			name:    x.IndexName,
			local:   i < len(r.LocalSecondaryIndexes),
			schema:  r.schema(x.KeySchema),
			entries: newRows(),
		}
		if x.Projection.ProjectionType != "ALL" {
			n.shows = map[string]bool{}
			for _, name := range slices.Concat(attributeNames(r.KeySchema), attributeNames(x.KeySchema), x.Projection.NonKeyAttributes) {
				n.shows[name] = true
			}
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(x, y *index) int { return strings.Compare(x.name, y.name) })
	return list
}

// indexDescription is an index in a table's description; the pointer and the status are those of a global one.
type indexDescription struct {
	secondaryIndex
	IndexStatus           string      `json:",omitempty"`
	ProvisionedThroughput *throughput `json:",omitempty"`
	IndexArn              string
	ItemCount             int
	IndexSizeBytes        int
}

func (t *table) describeIndex(x secondaryIndex) indexDescription {
	entries := t.contents.index(x.IndexName).entries
	return indexDescription{
		secondaryIndex: x,
		IndexArn:       indexARN(t.name, x.IndexName),
		ItemCount:      entries.items,
		IndexSizeBytes: entries.bytes,
	}
}

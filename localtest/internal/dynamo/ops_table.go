package dynamo

import (
	"maps"
	"slices"
)

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
	names := slices.AppendSeq([]string{}, maps.Keys(e.tables)) // an empty list, not null, where there is none
	e.mu.RUnlock()
	slices.Sort(names)
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

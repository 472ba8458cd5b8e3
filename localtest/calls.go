package localtest

import (
	"slices"
	"strings"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// Call is one request that reached the database, or that a fault kept from reaching it. A retry of the SDK is a call
// of its own.
type Call struct {
	// Operation is the API operation, as "PutItem".
	Operation string
	// Table is the table's name; several, joined by commas, are in the order of the request, and those of a batch, which
	// has none, in the order of the names.
	Table string
	// Index is the name of the index that a Query or Scan reads, "" for the table itself.
	Index string
	// Key is the item's key in a request about one item: the partition key, then, if the table has one, "/" and the
	// sort key.
	Key string
	// Condition and Update are the expressions of a request about one item; Condition is the key condition in a Query.
	Condition, Update string
	// Actions are the IAM actions that the caller needs.
	Actions []string

	// Applied: the database carried the request out, whatever the caller was told. A refused write is not applied.
	Applied bool
	// ReadUnits and WriteUnits are what DynamoDB bills. A write refused by its condition is billed by the size of the
	// item that is there, at least one unit. They are 0 on a real database, which is not asked for them.
	ReadUnits, WriteUnits float64
	// Err is the code of the error that the caller was answered, as "ConditionalCheckFailedException"; the name of the
	// fault, as "ReplyLost", where the caller got no answer; "" after success. It is the same for a caller that has hung
	// up meanwhile. Where a real database did not answer it is what the network said.
	Err string
}

func newCall(r *dynamo.Request) *Call {
	return &Call{
		Operation: r.Operation,
		Table:     strings.Join(r.Tables, ","),
		Index:     r.Index,
		Key:       r.Key,
		Condition: r.Condition,
		Update:    r.Update,
		Actions:   slices.Clone(r.Actions),
	}
}

// copied is c for somebody who may change it.
func (c *Call) copied() Call {
	out := *c
	out.Actions = slices.Clone(c.Actions)
	return out
}

// Calls lists the calls of one operation, "" of all, in the order in which they arrived.
func (db *DB) Calls(operation string) []Call {
	db.applyDue()
	db.mu.Lock()
	defer db.mu.Unlock()
	var list []Call
	for _, c := range db.calls {
		if operation == "" || c.Operation == operation {
			list = append(list, c.copied())
		}
	}
	return list
}

// ResetCalls empties the list.
func (db *DB) ResetCalls() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.calls = nil
}

func (db *DB) log(c *Call) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.calls = append(db.calls, c)
}

// apply carries the request out and notes what came of it. The error says that there was no answer.
func (db *DB) apply(r request, c *Call) (answer, error) {
	a, err := db.carryOut(r)
	db.mu.Lock()
	defer db.mu.Unlock()
	if err != nil {
		c.Err = err.Error()
		return answer{}, err
	}
	c.Applied = a.Code == ""
	c.ReadUnits, c.WriteUnits = a.ReadUnits, a.WriteUnits
	c.Err = a.Code
	return a, nil
}

// told notes what the caller gets where that is not the database's own answer.
func (db *DB) told(c *Call, err string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	c.Err = err
}

// about reports whether the call is about the table, among others.
func (c Call) about(table string) bool {
	return c.Table == table || slices.Contains(strings.Split(c.Table, ","), table)
}

package idempotency

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is one staged write, to be completed by its methods, which return it. Not safe for concurrent use.
type Write struct {
	put    *types.Put
	update *types.Update
	remove *types.Delete
	check  *types.ConditionCheck

	tx        *Tx
	otherwise error
	mistake   error // the first one
}

// If sets the condition under which the transaction commits, such as "balance >= :a".
func (w *Write) If(condition string) *Write {
	w.tx.mustBeOpen()
	p := w.parts()
	switch {
	case p.condition == nil: // the action itself is a mistake
	case *p.condition != nil:
		w.fail(errors.New("has two conditions: join them with AND"))
	case strings.TrimSpace(condition) == "":
		w.fail(errors.New("has an empty condition"))
	default:
		*p.condition = &condition
	}
	return w
}

// Name gives the attribute that a placeholder, such as "#s", of the condition or the update expression stands for.
func (w *Write) Name(placeholder, attribute string) *Write {
	w.tx.mustBeOpen()
	p := w.parts()
	if p.names == nil {
		return w
	}
	if _, twice := (*p.names)[placeholder]; twice {
		w.fail(fmt.Errorf("has the name %s twice", placeholder))
	}
	*p.names = added(*p.names, placeholder, attribute)
	return w
}

// Value gives the value that a placeholder, such as ":a", of the condition or the update expression stands for: a
// types.AttributeValue, or anything that package attributevalue marshals.
func (w *Write) Value(placeholder string, v any) *Write {
	w.tx.mustBeOpen()
	p := w.parts()
	if p.values == nil {
		return w
	}
	if _, twice := (*p.values)[placeholder]; twice {
		w.fail(fmt.Errorf("has the value %s twice", placeholder))
	}
	av, ok := v.(types.AttributeValue)
	if !ok {
		var err error
		if av, err = attributevalue.Marshal(v); err != nil {
			w.fail(fmt.Errorf("has the value %s, a %T, which cannot be marshalled: %w", placeholder, v, err))
			return w
		}
	}
	*p.values = added(*p.values, placeholder, cloneValue(av))
	return w
}

// Else is the handler's error if this write's condition fails at the commit: marked [Terminal] it is recorded and replayed,
// and so are the other marks honoured. Of several writes whose conditions fail, the first one staged decides.
func (w *Write) Else(err error) *Write {
	w.tx.mustBeOpen()
	if err == nil {
		w.fail(errors.New("has Else(nil): an error is required"))
	}
	w.otherwise = err
	return w
}

// WriteError says that a transaction was cancelled or refused: nothing was written. The condition of a staged write without
// [Write.Else] has failed, or the table does not take the transaction, for want of a right or since an expression is wrong.
type WriteError struct {
	Index int    // of the write, in the order of staging, from 0; -1 where the whole was refused
	Kind  string // "Put", "Update", "Delete" or "Check"
	Table string
	Item  map[string]types.AttributeValue `json:"-"` // of a failed condition: the item as it is in the table; nil if there is none
	Err   error                           // of a refusal: the table's answer
}

// Error does not show the item, which may hold what must not be logged.
func (e *WriteError) Error() string {
	if e.Err != nil {
		return "idempotency: nothing was written: the transaction was refused: " + e.Err.Error()
	}
	return fmt.Sprintf("idempotency: nothing was written: the condition of staged write %d (%s %s) failed", e.Index, e.Kind, e.Table)
}

// Unwrap returns the table's answer.
func (e *WriteError) Unwrap() error { return e.Err }

func (w *Write) fail(err error) {
	if w.mistake == nil {
		w.mistake = err
	}
}

// parts are what the four kinds of actions have in common; nil pointers if there is no action.
type parts struct {
	kind       string
	table      *string
	key        item // of a put: the item
	tableName  **string
	condition  **string
	expression **string // of an update
	names      *map[string]string
	values     *map[string]types.AttributeValue
	onFailure  *types.ReturnValuesOnConditionCheckFailure
}

func (w *Write) parts() parts {
	switch {
	case w.put != nil:
		a := w.put
		return parts{"Put", a.TableName, a.Item, &a.TableName, &a.ConditionExpression, nil, &a.ExpressionAttributeNames, &a.ExpressionAttributeValues, &a.ReturnValuesOnConditionCheckFailure}
	case w.update != nil:
		a := w.update
		return parts{"Update", a.TableName, a.Key, &a.TableName, &a.ConditionExpression, &a.UpdateExpression, &a.ExpressionAttributeNames, &a.ExpressionAttributeValues, &a.ReturnValuesOnConditionCheckFailure}
	case w.remove != nil:
		a := w.remove
		return parts{"Delete", a.TableName, a.Key, &a.TableName, &a.ConditionExpression, nil, &a.ExpressionAttributeNames, &a.ExpressionAttributeValues, &a.ReturnValuesOnConditionCheckFailure}
	case w.check != nil:
		a := w.check
		return parts{"Check", a.TableName, a.Key, &a.TableName, &a.ConditionExpression, nil, &a.ExpressionAttributeNames, &a.ExpressionAttributeValues, &a.ReturnValuesOnConditionCheckFailure}
	}
	return parts{}
}

// name is how the write is called in errors.
func (w *Write) name(index int) string {
	p := w.parts()
	return strings.TrimSpace(fmt.Sprintf("Tx's write %d %s %s", index, p.kind, aws.ToString(p.table)))
}

// added is a copy, since the map may be the user's.
func added[V any](m map[string]V, name string, v V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[name] = v
	return m
}

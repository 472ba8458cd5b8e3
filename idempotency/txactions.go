package idempotency

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DynamoDB's limits of a transaction (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html).
// One action is the record's.
const (
	maxStaged     = 100 - 1
	maxStagedSize = 4 << 20
)

// actionsOf are the staged writes as they are sent, or what is wrong with them: asked of the table, a mistake would come back
// as one text about the whole request.
// Beside them go checks of others of the key's records, and the result.
func actionsOf(writes []*Write, checks, result int) ([]types.TransactWriteItem, error) {
	if fit := maxStaged - checks; len(writes) > fit {
		return nil, invalid("Tx", fmt.Sprintf("%d staged writes", len(writes)), fmt.Sprintf("at most %d fit beside the record", fit))
	}
	actions := make([]types.TransactWriteItem, len(writes))
	size := 0
	for i, w := range writes {
		p := w.parts()
		switch {
		case w.mistake != nil:
			return nil, &FieldError{Field: w.name(i), Value: "not right", Rule: w.mistake.Error(), Err: w.mistake}
		case aws.ToString(p.table) == "":
			return nil, invalid(w.name(i), "without a table", "the table's name is required")
		case len(p.key) == 0:
			return nil, invalid(w.name(i), "without attributes", "a put needs its item, any other write its key")
		case w.update != nil && aws.ToString(w.update.UpdateExpression) == "":
			return nil, invalid(w.name(i), "without an update expression", "an update needs one")
		case w.check != nil && aws.ToString(w.check.ConditionExpression) == "":
			return nil, invalid(w.name(i), "without a condition", "a check needs If")
		case w.otherwise != nil && *p.condition == nil:
			return nil, invalid(w.name(i), "without a condition", "Else needs If")
		}
		if name := nilIn(p.key) + nilIn(*p.values); name != "" {
			return nil, invalid(w.name(i), "with a nil value of "+name, "a value is required, which nil, a func and a chan are not")
		}
		for j := range i {
			if sameItem(w, writes[j]) {
				return nil, invalid(w.name(i), "about the item of write "+fmt.Sprint(j), "a transaction has one action for an item")
			}
		}
		size += sizeOf(p.key) + sizeOf(*p.values)
		actions[i] = types.TransactWriteItem{Put: w.put, Update: w.update, Delete: w.remove, ConditionCheck: w.check}
	}
	if size+result > maxStagedSize {
		return nil, invalid("Tx", fmt.Sprintf("%d bytes of staged writes", size), fmt.Sprintf("at most %d fit into a transaction, the result with them", maxStagedSize))
	}
	return actions, nil
}

// sameItem says that two writes are about one item, as far as it shows: a put does not tell which attributes are its key, but
// another action of the same table may.
func sameItem(a, b *Write) bool {
	p, q := a.parts(), b.parts()
	return aws.ToString(p.table) == aws.ToString(q.table) && (partOf(p.key, q.key) || partOf(q.key, p.key))
}

func partOf(part, whole item) bool {
	for name, v := range part {
		if !reflect.DeepEqual(v, whole[name]) {
			return false
		}
	}
	return true
}

// nilIn names an attribute that has no value, or one with such a value in it: the SDK would leave it out, or send what is no
// JSON.
func nilIn(it item) string {
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if hasNil(it[name]) {
			return name
		}
	}
	return ""
}

func hasNil(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, hasNil)
	case *types.AttributeValueMemberM:
		return nilIn(v.Value) != ""
	}
	return v == nil
}

func cloneItem(it item) item {
	if it == nil {
		return nil
	}
	own := make(item, len(it))
	for name, v := range it {
		own[name] = cloneValue(v)
	}
	return own
}

// cloneValue copies a value to its depth: what is staged must not change with what the handler has staged it from.
func cloneValue(v types.AttributeValue) types.AttributeValue {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return nil
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		own := make([][]byte, len(v.Value))
		for i, b := range v.Value {
			own[i] = slices.Clone(b)
		}
		return &types.AttributeValueMemberBS{Value: own}
	case *types.AttributeValueMemberL:
		own := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			own[i] = cloneValue(e)
		}
		return &types.AttributeValueMemberL{Value: own}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: cloneItem(v.Value)}
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	}
	return v
}

package conformance

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// attributes is an item as the SDK has it.
type attributes = map[string]types.AttributeValue

// item is an item as a test writes it down: text is S, int and num are N, []byte is B, nil is NULL.
type item = map[string]any

type list = []any

// num is a number that needs more than an int.
type num string

// The three kinds of sets.
type (
	texts []string
	nums  []string
	bins  [][]byte
)

// value is the SDK's form of v.
func value(v any) types.AttributeValue {
	switch v := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: fmt.Sprint(v)}
	case num:
		return &types.AttributeValueMemberN{Value: string(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case list:
		elements := make([]types.AttributeValue, len(v))
		for i, e := range v {
			elements[i] = value(e)
		}
		return &types.AttributeValueMemberL{Value: elements}
	case item:
		return &types.AttributeValueMemberM{Value: attributesOf(v)}
	case texts:
		return &types.AttributeValueMemberSS{Value: v}
	case nums:
		return &types.AttributeValueMemberNS{Value: v}
	case bins:
		return &types.AttributeValueMemberBS{Value: v}
	}
	panic(fmt.Sprintf("no attribute value is made of a %T", v))
}

// attributesOf is nil of a nil item: the request then lacks the parameter.
func attributesOf(i item) attributes {
	if i == nil {
		return nil
	}
	a := make(attributes, len(i))
	for name, v := range i {
		a[name] = value(v)
	}
	return a
}

// with is i with the changes over it.
func with(i, changes item) item {
	out := maps.Clone(i)
	maps.Copy(out, changes)
	return out
}

// without is i less the named attributes.
func without(i item, names ...string) item {
	out := maps.Clone(i)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// show is a text that equal items share: members are in order of their names, those of sets in order.
func show(a attributes) string {
	parts := make([]string, 0, len(a))
	for _, name := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, name+":"+showValue(a[name]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func showValue(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("%q", v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "0x" + hex.EncodeToString(v.Value)
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		return show(v.Value)
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, showValue(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf("SS%q", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		return fmt.Sprintf("NS%q", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberBS:
		return fmt.Sprintf("BS%x", slices.SortedFunc(slices.Values(v.Value), slices.Compare))
	}
	return fmt.Sprintf("%T", v)
}

// showAll is a text of several items in their order.
func showAll(list []attributes) string {
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = show(a)
	}
	return strings.Join(parts, "\n")
}

// sized is an item of so many bytes with the key id.
func sized(id string, bytes int) item {
	rest := bytes - len("id") - len(id) - len("filler")
	return item{"id": id, "filler": strings.Repeat("x", rest)}
}

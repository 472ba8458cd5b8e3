package idempotency_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is a record as it is in the table.
type item map[string]types.AttributeValue

func (it item) text(name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func (it item) number(name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, _ := strconv.ParseInt(n.Value, 10, 64)
	return v
}

// String is for messages of tests.
func (it item) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		text := fmt.Sprintf("%T", it[name])
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			text = fmt.Sprintf("%.80q", v.Value)
		case *types.AttributeValueMemberN:
			text = v.Value
		case *types.AttributeValueMemberB:
			text = fmt.Sprintf("%d bytes", len(v.Value))
		case *types.AttributeValueMemberBOOL:
			text = strconv.FormatBool(v.Value)
		case *types.AttributeValueMemberM:
			text = item(v.Value).String()
		}
		parts = append(parts, name+": "+text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (it item) has(name string) bool { _, ok := it[name]; return ok }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func steps(names ...string) types.AttributeValue {
	m := map[string]types.AttributeValue{}
	for _, name := range names {
		m[name] = text("null")
	}
	return &types.AttributeValueMemberM{Value: m}
}

package idempotency

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// writeUnits of an item of that size.
func writeUnits(size int) int { return max(1, (size+1<<10-1)>>10) }

// sizeOf is an item's size as DynamoDB documents it
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func sizeOf(it item) int {
	n := 0
	for name, v := range it {
		n += len(name) + sizeOfValue(v)
	}
	return n
}

func sizeOfValue(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += sizeOfNumber(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberL:
		n = 3 + len(v.Value)
		for _, e := range v.Value {
			n += sizeOfValue(e)
		}
	case *types.AttributeValueMemberM:
		n = 3 + len(v.Value) + sizeOf(v.Value)
	}
	return n
}

// sizeOfNumber is a byte for each two digits, zeros at either end left out, and one more: exact for whole numbers, as all of
// a record's are.
func sizeOfNumber(s string) int {
	digits := strings.TrimLeft(s, "-0")
	if !strings.ContainsAny(digits, ".eE") {
		digits = strings.TrimRight(digits, "0")
	}
	return 1 + (len(digits)+1)/2
}

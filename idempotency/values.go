package idempotency

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// constants are values that every write shares, made once for a Runner, since each costs an allocation. Nothing changes them.
type constants struct {
	inProgress, completed, failed, released, unknown types.AttributeValue
	do, tx, one, schema, yes, noSteps                types.AttributeValue
}

func newConstants() constants {
	return constants{
		inProgress: textValue(string(inProgress)), completed: textValue(string(completed)), failed: textValue(string(failed)),
		released: textValue(string(released)), unknown: textValue(string(unknown)),
		do: textValue(formDo), tx: textValue(formTx), one: numberValue(1), schema: numberValue(schemaVersion),
		yes: &types.AttributeValueMemberBOOL{Value: true}, noSteps: &types.AttributeValueMemberM{Value: item{}},
	}
}

func (c *constants) status(s status) types.AttributeValue {
	switch s {
	case inProgress:
		return c.inProgress
	case completed:
		return c.completed
	case failed:
		return c.failed
	case released:
		return c.released
	default:
		return c.unknown
	}
}

func (c *constants) form(form string) types.AttributeValue {
	if form == formTx {
		return c.tx
	}
	return c.do
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func timeValue(t time.Time) types.AttributeValue { return numberValue(t.UnixMilli()) }

// upToSecond rounds up: an expiry must never lie before the moment that it stands for (rule 11).
func upToSecond(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

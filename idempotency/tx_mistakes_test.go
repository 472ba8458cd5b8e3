package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// broken cannot be marshalled.
type broken struct {
	ID string `dynamodbav:"id"`
	V  unmarshalable
}

type unmarshalable struct{}

var errUnmarshalable = errors.New("no value for it")

func (unmarshalable) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errUnmarshalable
}

// stages are the mistakes and limits of a transaction, and what is said of each: TABLE stands for the table's name.
var stages = []struct {
	name  string
	stage func(tx *idempotency.Tx, table string)
	field string
	value string
	rule  string
}{
	{"100 writes", func(tx *idempotency.Tx, table string) {
		for i := range 100 {
			tx.Put(table, payment{fmt.Sprint(i), 1})
		}
	}, "Tx", "100 staged writes", "at most 99 fit beside the record"},
	{"over 4 MB", func(tx *idempotency.Tx, table string) {
		for i := range 11 {
			tx.Put(table, attributes{"id": text(fmt.Sprint(i)), "v": text(strings.Repeat("x", 399_000))})
		}
	}, "Tx", "4389045 bytes of staged writes", "at most 4194304 fit into a transaction, the result with them"},
	{"two updates", func(tx *idempotency.Tx, table string) {
		tx.Update(table, owner, "SET a = :a").Value(":a", 1)
		tx.Update(table, attributes{"id": text("alice")}, "SET b = :b").Value(":b", 1)
	}, "Tx's write 1 Update TABLE", "about the item of write 0", "a transaction has one action for an item"},
	{"put and update", func(tx *idempotency.Tx, table string) {
		tx.Put(table, payment{"p0", 1})
		tx.Put(table, payment{"p1", 1})
		tx.Update(table, map[string]string{"id": "p1"}, "SET b = :b").Value(":b", 1)
	}, "Tx's write 2 Update TABLE", "about the item of write 1", "a transaction has one action for an item"},
	{"delete and put", func(tx *idempotency.Tx, table string) {
		tx.Delete(table, map[string]string{"id": "p1"})
		tx.Put(table, payment{"p1", 1})
	}, "Tx's write 1 Put TABLE", "about the item of write 0", "a transaction has one action for an item"},
	{"check and update", func(tx *idempotency.Tx, table string) {
		tx.Check(table, owner).If("attribute_exists(id)")
		tx.Update(table, owner, "SET a = :a").Value(":a", 1)
	}, "Tx's write 1 Update TABLE", "about the item of write 0", "a transaction has one action for an item"},
	{"equal puts", func(tx *idempotency.Tx, table string) {
		tx.Put(table, payment{"p1", 1})
		tx.Put(table, payment{"p1", 1})
	}, "Tx's write 1 Put TABLE", "about the item of write 0", "a transaction has one action for an item"},
	{
		"check without If", func(tx *idempotency.Tx, table string) { tx.Check(table, owner) },
		"Tx's write 0 Check TABLE", "without a condition", "a check needs If",
	},
	{"check with an empty condition", func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: attributes{"id": text("a")}, ConditionExpression: aws.String("")}})
	}, "Tx's write 0 Check TABLE", "without a condition", "a check needs If"},
	{
		"Else without If", func(tx *idempotency.Tx, table string) { tx.Put(table, payment{"p1", 1}).Else(errFunds) },
		"Tx's write 0 Put TABLE", "without a condition", "Else needs If",
	},
	{"Else of nil", func(tx *idempotency.Tx, table string) {
		tx.Put(table, payment{"p1", 1}).If("attribute_exists(id)").Else(nil)
	}, "Tx's write 0 Put TABLE", "not right", "has Else(nil): an error is required"},
	{"two Ifs", func(tx *idempotency.Tx, table string) {
		tx.Put(table, payment{"p1", 1}).If("attribute_exists(id)").If("amount > id")
	}, "Tx's write 0 Put TABLE", "not right", "has two conditions: join them with AND"},
	{"If beside the action's own", func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: attributes{"id": text("a")}, ConditionExpression: aws.String("attribute_exists(id)")}}).If("a = b")
	}, "Tx's write 0 Delete TABLE", "not right", "has two conditions: join them with AND"},
	{
		"empty If", func(tx *idempotency.Tx, table string) { tx.Delete(table, owner).If(" ") },
		"Tx's write 0 Delete TABLE", "not right", "has an empty condition",
	},
	{"a value twice", func(tx *idempotency.Tx, table string) {
		tx.Update(table, owner, "SET a = :a").Value(":a", 1).Value(":a", 2)
	}, "Tx's write 0 Update TABLE", "not right", "has the value :a twice"},
	{"a name twice", func(tx *idempotency.Tx, table string) {
		tx.Update(table, owner, "REMOVE #a").Name("#a", "a").Name("#a", "b")
	}, "Tx's write 0 Update TABLE", "not right", "has the name #a twice"},
	{
		"no table", func(tx *idempotency.Tx, _ string) { tx.Put("", payment{"p1", 1}) },
		"Tx's write 0 Put", "without a table", "the table's name is required",
	},
	{
		"no update expression", func(tx *idempotency.Tx, table string) { tx.Update(table, owner, "") },
		"Tx's write 0 Update TABLE", "without an update expression", "an update needs one",
	},
	{
		"unmarshalable item", func(tx *idempotency.Tx, table string) { tx.Put(table, broken{ID: "a"}) },
		"Tx's write 0 Put TABLE", "not right", "its item, a idempotency_test.broken, cannot be marshalled: " + errUnmarshalable.Error(),
	},
	{
		"unmarshalable key", func(tx *idempotency.Tx, table string) { tx.Delete(table, broken{ID: "a"}) },
		"Tx's write 0 Delete TABLE", "not right", "its key, a idempotency_test.broken, cannot be marshalled: " + errUnmarshalable.Error(),
	},
	{"unmarshalable value", func(tx *idempotency.Tx, table string) {
		tx.Update(table, owner, "SET a = :a").Value(":a", unmarshalable{})
	}, "Tx's write 0 Update TABLE", "not right", "has the value :a, a idempotency_test.unmarshalable, which cannot be marshalled: " + errUnmarshalable.Error()},
	{"func as a value", func(tx *idempotency.Tx, table string) {
		tx.Update(table, owner, "SET a = :a").Value(":a", func() {})
	}, "Tx's write 0 Update TABLE", "with a nil value of :a", "a value is required, which nil, a func and a chan are not"},
	{
		"nil in an item", func(tx *idempotency.Tx, table string) { tx.Put(table, attributes{"id": text("a"), "v": nil}) },
		"Tx's write 0 Put TABLE", "with a nil value of v", "a value is required, which nil, a func and a chan are not",
	},
	{"typed nil in a list", func(tx *idempotency.Tx, table string) {
		list := []types.AttributeValue{text("a"), (*types.AttributeValueMemberS)(nil)}
		tx.Put(table, attributes{"id": text("a"), "l": &types.AttributeValueMemberM{Value: attributes{"m": &types.AttributeValueMemberL{Value: list}}}})
	}, "Tx's write 0 Put TABLE", "with a nil value of l", "a value is required, which nil, a func and a chan are not"},
	{
		"item that is none", func(tx *idempotency.Tx, table string) { tx.Put(table, 5) },
		"Tx's write 0 Put TABLE", "not right", "its item, a int, has no attributes",
	},
	{
		"nil item", func(tx *idempotency.Tx, table string) { tx.Put(table, nil) },
		"Tx's write 0 Put TABLE", "not right", "its item, a <nil>, has no attributes",
	},
	{
		"empty key", func(tx *idempotency.Tx, table string) { tx.Check(table, attributes{}).If("a = b") },
		"Tx's write 0 Check TABLE", "not right", "its key, a map[string]types.AttributeValue, has no attributes",
	},
	{"an action of none", func(tx *idempotency.Tx, _ string) {
		tx.Add(types.TransactWriteItem{}).If("a = b").Name("#a", "a").Value(":a", 1).Else(errFunds)
	}, "Tx's write 0", "not right", "has 0 of Put, Update, Delete and ConditionCheck, must have one"},
	{"an action of two", func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: &table}, Delete: &types.Delete{TableName: &table}})
	}, "Tx's write 0", "not right", "has 2 of Put, Update, Delete and ConditionCheck, must have one"},
	{"an action without a key", func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{Delete: &types.Delete{TableName: &table}})
	}, "Tx's write 0 Delete TABLE", "without attributes", "a put needs its item, any other write its key"},
	{"an action without an expression", func(tx *idempotency.Tx, table string) {
		tx.Add(types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: attributes{"id": text("a")}}})
	}, "Tx's write 0 Update TABLE", "without an update expression", "an update needs one"},
}

// Every mistake is found before anything is sent, is called by its field, value and rule, and leaves nothing behind.
func TestTxMistakes_EachIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range stages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t)
				l.quiet()
				_, err := w.doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
					tt.stage(tx, l.accounts)
					return "paid", nil
				})
				wrong, ok := errors.AsType[*idempotency.FieldError](err)
				if !ok {
					t.Fatalf("error %v", err)
				}
				if field := strings.ReplaceAll(tt.field, "TABLE", l.accounts); wrong.Field != field || wrong.Value != tt.value || wrong.Rule != tt.rule {
					t.Errorf("%q, want %s is %s: %s", err, field, tt.value, tt.rule)
				}
				if marshal := strings.Contains(tt.name, "unmarshalable"); errors.Is(err, errUnmarshalable) != marshal {
					t.Errorf("the cause is not reached: %v", err)
				}
				l.wantCalls(t, ofTx(req, []string{"PutItem", "UpdateItem"}, []string{"GetItem"})...)
				l.wantStatus(t, req, ofTx(req, "RELEASED", ""))
				l.wantPaid(t, 0)
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)

				tx := idempotency.TxFrom(idempotency.WithAttempt(t.Context(), idempotency.Attempt{}))
				tt.stage(tx, l.accounts)
				if _, bare := tx.Actions(); bare == nil || bare.Error() != wrong.Error() {
					t.Errorf("a test of the bare handler sees %v, want %v", bare, wrong)
				}
			})
		})
	}
}

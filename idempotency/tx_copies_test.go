package idempotency_test

import (
	"context"
	"maps"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

// What is staged is read at once: nothing that the handler changes afterwards changes it.
func TestTxStage_Copies(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		type deep struct {
			ID   string           `dynamodbav:"id"`
			Tags []string         `dynamodbav:"tags"`
			By   map[string]int64 `dynamodbav:"by"`
		}
		res, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			v := &deep{"struct", []string{"a"}, map[string]int64{"a": 1}}
			tx.Put(l.accounts, v)
			v.ID, v.Tags[0], v.By["a"] = "wrong", "wrong", 2

			it := attributes{
				"id": text("item"), "s": text("a"), "n": number(1), "b": &types.AttributeValueMemberB{Value: []byte("a")},
				"bs": &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a")}}, "ss": &types.AttributeValueMemberSS{Value: []string{"a"}},
				"ns": &types.AttributeValueMemberNS{Value: []string{"1"}}, "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a")}},
				"m":    &types.AttributeValueMemberM{Value: attributes{"m": text("a")}},
				"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
			}
			put := &types.Put{TableName: aws.String(l.accounts), Item: maps.Clone(it)}
			put.Item["id"] = text("added")
			tx.Put(l.accounts, it)
			tx.Add(types.TransactWriteItem{Put: put})

			key, values, names := attributes{"id": text("update")}, attributes{":a": text("a")}, map[string]string{"#a": "s"}
			tx.Add(types.TransactWriteItem{Update: &types.Update{
				TableName: &l.accounts, Key: key, UpdateExpression: aws.String("SET #a = :a"),
				ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			}})
			key["id"].(*types.AttributeValueMemberS).Value = "wrong"
			values[":a"].(*types.AttributeValueMemberS).Value = "wrong"
			values[":b"], names["#b"], names["#a"] = text("wrong"), "wrong", "wrong"

			value := &types.AttributeValueMemberS{Value: "a"}
			tx.Update(l.accounts, attributes{"id": text("value")}, "SET s = :a").Value(":a", value)
			value.Value = "wrong"

			it["s"].(*types.AttributeValueMemberS).Value = "wrong"
			it["n"].(*types.AttributeValueMemberN).Value = "2"
			it["b"].(*types.AttributeValueMemberB).Value[0] = 'w'
			it["bs"].(*types.AttributeValueMemberBS).Value[0][0] = 'w'
			it["ss"].(*types.AttributeValueMemberSS).Value[0] = "wrong"
			it["ns"].(*types.AttributeValueMemberNS).Value[0] = "2"
			it["l"].(*types.AttributeValueMemberL).Value[0] = text("wrong")
			it["m"].(*types.AttributeValueMemberM).Value["m"] = text("wrong")
			it["bool"].(*types.AttributeValueMemberBOOL).Value = false
			it["id"] = text("wrong")
			delete(put.Item, "s")
			return "done", nil
		})
		wantAnswer(t, res, err, "done", false)
		want := attributes{
			"s": text("a"), "n": number(1), "b": &types.AttributeValueMemberB{Value: []byte("a")},
			"bs": &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a")}}, "ss": &types.AttributeValueMemberSS{Value: []string{"a"}},
			"ns": &types.AttributeValueMemberNS{Value: []string{"1"}}, "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a")}},
			"m":    &types.AttributeValueMemberM{Value: attributes{"m": text("a")}},
			"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		}
		for _, id := range []string{"item", "added"} {
			want["id"] = text(id)
			if got := attributes(l.get(t, id)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", id, got, want)
			}
		}
		by, _ := l.get(t, "struct")["by"].(*types.AttributeValueMemberM)
		if by == nil || item(by.Value).number("a") != 1 || l.get(t, "wrong") != nil {
			t.Errorf("the struct is %v", l.get(t, "struct"))
		}
		for _, id := range []string{"update", "value"} {
			if got := l.get(t, id); got.text("s") != "a" || len(got) != 2 {
				t.Errorf("%s is %v", id, got)
			}
		}
	})
}

package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// What is wrong with an expression is found before any item is looked at.
func TestInvalid_Update(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := item{":v": 1}
	rows := []struct {
		name, update string
		names        map[string]string
		values       item
	}{
		{"empty", "", nil, nil},
		{"blank", " ", nil, nil},
		{"no-section", "a = :v", nil, one},
		{"unknown-section", "PUT a :v", nil, one},
		{"two-set-sections", "SET a1 = :v SET b1 = :v", nil, one},
		{"double-equals", "SET a1 == :v", nil, one},
		{"comma-at-the-end", "SET a1 = :v,", nil, one},
		{"nothing-to-set", "SET", nil, nil},
		{"three-summands", "SET a1 = a1 + :v + :v", nil, one},
		{"multiplication", "SET a1 = a1 * :v", nil, one},
		{"unknown-function", "SET a1 = twice(:v)", nil, one},
		{"condition-function", "SET a1 = size(a1)", nil, nil},
		{"one-argument", "SET a1 = if_not_exists(a1)", nil, nil},
		{"three-arguments", "SET a1 = list_append(a1, a1, a1)", nil, nil},
		{"if-not-exists-of-constant", "SET a1 = if_not_exists(:v, :v)", nil, one},
		{"append-of-append", "SET a1 = list_append(list_append(:v, :v), :v)", nil, item{":v": list{1}}},
		{"append-number", "SET a1 = list_append(a1, :v)", nil, one},
		{"plus-text", "SET a1 = a1 + :v", nil, item{":v": "x"}},
		{"add-text", "ADD a1 :v", nil, item{":v": "x"}},
		{"add-list", "ADD a1 :v", nil, item{":v": list{1}}},
		{"add-from-attribute", "ADD a1 b1", nil, nil},
		{"delete-number", "DELETE a1 :v", nil, one},
		{"remove-with-value", "REMOVE a1 :v", nil, one},
		{"reserved-word", "SET status = :v", nil, one},
		{"reserved-word-lower-case", "SET oRdEr = :v", nil, one},
		{"reserved-word-in-path", "SET a1.size = :v", nil, one},
		{"starts-with-digit", "SET 1a = :v", nil, one},
		{"quoted-name", `SET "a" = :v`, nil, one},
		{"negative-index", "SET a1[-1] = :v", nil, one},
		{"no-index", "SET a1[] = :v", nil, one},
		{"undefined-name", "SET #a = :v", nil, one},
		{"undefined-value", "SET a1 = :w, b1 = :v", nil, one},
		{"no-values", "SET a1 = :v", nil, nil},
		{"unused-name", "SET a1 = :v", map[string]string{"#b": "b"}, one},
		{"unused-value", "SET a1 = :v", nil, item{":v": 1, ":w": 1}},
		{"name-without-sign", "SET a1 = :v", map[string]string{"b": "b"}, one},
		{"value-without-sign", "SET a1 = :v", nil, item{":v": 1, "w": 1}},
		{"same-path-twice", "SET a1 = :v, a1 = :v", nil, one},
		{"same-path-by-name", "SET a1 = :v, #a = :v", map[string]string{"#a": "a1"}, one},
		{"same-path-in-sections", "SET a1 = :v REMOVE a1", nil, one},
		{"path-above-another", "SET a1 = :v, a1.b1 = :v", nil, one},
		{"element-and-member", "SET a1[0] = :v, a1.b1 = :v", nil, one},
		{"key", "SET id = :v", nil, item{":v": "x"}},
		{"key-removed", "REMOVE id", nil, nil},
		{"key-by-name", "ADD #k :v", map[string]string{"#k": "id"}, one},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			_, err := f.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName:                 &f.table,
				Key:                       attributesOf(key),
				UpdateExpression:          &row.update,
				ExpressionAttributeNames:  row.names,
				ExpressionAttributeValues: attributesOf(row.values),
			})
			wantCode(t, err, invalid)
			f.wantStored(key, nil)
		})
	}
}

func TestInvalid_Condition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := item{":v": 1}
	rows := []struct {
		name, condition string
		names           map[string]string
		values          item
	}{
		{"empty", "", nil, nil},
		{"attribute-alone", "a1", nil, nil},
		{"constant-alone", ":v", nil, one},
		{"and-at-the-end", "attribute_exists(id) AND", nil, nil},
		{"two-conditions", "attribute_exists(id) attribute_exists(id)", nil, nil},
		{"double-equals", "a1 == :v", nil, one},
		{"not-equals-of-c", "a1 != :v", nil, one},
		{"open-parenthesis", "(a1 = :v", nil, one},
		{"closing-parenthesis", "a1 = :v)", nil, one},
		{"redundant-parentheses", "((a1 = :v))", nil, one},
		{"empty-parentheses", "()", nil, nil},
		{"unknown-function", "exists(a1)", nil, nil},
		{"function-in-capitals", "ATTRIBUTE_EXISTS(a1)", nil, nil},
		{"update-function", "if_not_exists(a1, :v) = :v", nil, one},
		{"size-alone", "size(a1)", nil, nil},
		{"function-compared", "attribute_exists(a1) = :v", nil, item{":v": true}},
		{"exists-of-constant", "attribute_exists(:v)", nil, one},
		{"exists-of-two", "attribute_exists(a1, b1)", nil, nil},
		{"begins-with-number", "begins_with(a1, :v)", nil, one},
		{"begins-with-one", "begins_with(a1)", nil, nil},
		{"type-unknown", "attribute_type(a1, :v)", nil, item{":v": "TEXT"}},
		{"type-number", "attribute_type(a1, :v)", nil, one},
		{"between-swapped", "a1 BETWEEN :w AND :v", nil, item{":v": 1, ":w": 2}},
		{"between-kinds", "a1 BETWEEN :v AND :w", nil, item{":v": 1, ":w": "2"}},
		{"between-without-and", "a1 BETWEEN :v", nil, one},
		{"in-nothing", "a1 IN ()", nil, nil},
		{"in-without-parentheses", "a1 IN :v", nil, one},
		{"less-than-bool", "a1 < :v", nil, item{":v": true}},
		{"less-than-list", ":v < a1", nil, item{":v": list{1}}},
		{"same-operand-twice", "a1 = a1", nil, nil},
		{"contains-itself", "contains(a1, a1)", nil, nil},
		{"size-of-two", "size(a1, b1) = :v", nil, one},
		{"literal-number", "a1 = 1", nil, nil},
		{"literal-text", "a1 = 'x'", nil, nil},
		{"reserved-word", "status = :v", nil, one},
		{"reserved-word-in-function", "attribute_exists(name)", nil, nil},
		{"undefined-name", "#a = :v", nil, one},
		{"undefined-value", "a1 = :w", nil, one},
		{"unused-name", "a1 = :v", map[string]string{"#b": "b"}, one},
		{"unused-value", "a1 = :v", nil, item{":v": 1, ":w": 1}},
		{"empty-value", "a1 = :v", nil, item{":v": texts{}}},
		{"empty-name", "#a = :v", map[string]string{"#a": ""}, one},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := f.on(t)
			_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName:                 &f.table,
				Item:                      attributesOf(item{"id": row.name}),
				ConditionExpression:       &row.condition,
				ExpressionAttributeNames:  row.names,
				ExpressionAttributeValues: attributesOf(row.values),
			})
			wantCode(t, err, invalid)
			f.wantStored(item{"id": row.name}, nil)
		})
	}
}

// The names and values are checked even where no expression could use them.
func TestInvalid_WithoutExpression(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantCode(t, f.putIf(item{"id": "k"}, expressions{names: map[string]string{"#a": "a"}}), invalid)
	wantCode(t, f.putIf(item{"id": "k"}, expressions{values: item{":v": 1}}), invalid)
	wantCode(t, f.deleteIf(item{"id": "k"}, expressions{values: item{":v": 1}}), invalid)
	f.wantStored(item{"id": "k"}, nil)
}

// Of two faults the expression's comes first: a condition that would fail does not hide it.
func TestInvalid_BeforeTheCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.updateIf(item{"id": "k"}, expressions{update: "SET status = :v", condition: "attribute_exists(id)", values: item{":v": 1}})
	wantCode(t, err, invalid)
	_, err = f.updateIf(item{"id": "k"}, expressions{update: "SET a1 = absent", condition: "attribute_exists(id)"})
	wantCode(t, err, conditionFailed)
}

// An expression has at most 4 KB.
func TestInvalid_Length(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const condition = "attribute_not_exists(id)"
	longest := condition + strings.Repeat(" ", 4096-len(condition))
	wantCode(t, f.putIf(item{"id": "k"}, expressions{condition: longest}), "")
	wantCode(t, f.putIf(item{"id": "k2"}, expressions{condition: longest + " "}), invalid)
}

// An expression has at most 300 operators and functions.
func TestInvalid_Operators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	condition := "a1=:v" + strings.Repeat(" OR a1=:v", 149) // 150 comparisons and 149 times OR
	e := expressions{condition: condition, values: item{":v": 1}}
	wantCode(t, f.putIf(item{"id": "k"}, e), conditionFailed)
	e.condition += " OR a1=:v"
	wantCode(t, f.putIf(item{"id": "k"}, e), invalid)
}

package dynamo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

const putK = `{'Put':{'TableName':'hhh','Item':{'id':{'S':'k'},'v':{'N':'1'}}}}`

func addTo(id string) string {
	return `{'Update':{'TableName':'hhh','Key':{'id':{'S':'` + id + `'}},'UpdateExpression':'ADD v :one','ExpressionAttributeValues':{':one':{'N':'1'}}}}`
}

func transaction(token string, actions ...string) string {
	if token != "" {
		token = `'ClientRequestToken':'` + token + `',`
	}
	return `{` + token + `'TransactItems':[` + strings.Join(actions, ",") + `]}`
}

func TestTransactWrite_CommitsTogether(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("PutItem", putBody(`{'id':{'S':'gone'}}`))
	s.ok("PutItem", putBody(`{'id':{'S':'there'}}`))
	s.want(s.ok("TransactWriteItems", transaction("", putK, addTo("u"),
		`{'Delete':{'TableName':'hhh','Key':{'id':{'S':'gone'}}}}`,
		`{'ConditionCheck':{'TableName':'hhh','Key':{'id':{'S':'there'}},'ConditionExpression':'attribute_exists(id)'}}`,
		`{'Put':{'TableName':'rrr','Item':{'id':{'S':'k'},'sk':{'N':'1'}}}}`)), `{}`)
	s.want(s.ok("TransactGetItems", `{'TransactItems':[
		{'Get':{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':'v'}},
		{'Get':{'TableName':'hhh','Key':{'id':{'S':'u'}}}},
		{'Get':{'TableName':'hhh','Key':{'id':{'S':'gone'}}}},
		{'Get':{'TableName':'hhh','Key':{'id':{'S':'there'}}}},
		{'Get':{'TableName':'rrr','Key':{'id':{'S':'k'},'sk':{'N':'1'}}}}]}`),
		`{'Responses':[{'Item':{'v':{'N':'1'}}},{'Item':{'id':{'S':'u'},'v':{'N':'1'}}},{},{'Item':{'id':{'S':'there'}}},{'Item':{'id':{'S':'k'},'sk':{'N':'1'}}}]}`)
}

func TestTransactWrite_Cancelled(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.put()
	before := s.item()
	condition := `'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{'N':'6'}}`
	r := s.wantError("TransactWriteItems", transaction("", addTo("other"),
		`{'Put':{'TableName':'hhh','Item':{'id':{'S':'k'}},`+condition+`,'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}}`,
		`{'Update':{'TableName':'hhh','Key':{'id':{'S':'x'}},'UpdateExpression':'SET a = gone'}}`,
		`{'Delete':{'TableName':'hhh','Key':{'id':{'S':'y'}},'ConditionExpression':'attribute_exists(id)','ReturnValuesOnConditionCheckFailure':'ALL_OLD'}}`,
		`{'ConditionCheck':{'TableName':'hhh','Key':{'id':{'S':'y2'}},'ConditionExpression':'attribute_not_exists(id)'}}`,
	), "TransactionCanceledException", "")
	s.want(string(r.Body), `{'__type':'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
		'Message':'Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ValidationError, ConditionalCheckFailed, None]',
		'CancellationReasons':[{'Code':'None'},
			{'Code':'ConditionalCheckFailed','Message':'The conditional request failed','Item':`+strings.ReplaceAll(sample, "2.50", "2.5")+`},
			{'Code':'ValidationError','Message':'The provided expression refers to an attribute that does not exist in the item'},
			{'Code':'ConditionalCheckFailed','Message':'The conditional request failed'},
			{'Code':'None'}]}`)
	s.want(s.item(), before)
	s.want(s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'other'}}}`), `{}`)
	for verb, members := range map[string]string{"Update": `,'UpdateExpression':'REMOVE n'`, "Delete": "", "ConditionCheck": ""} {
		action := func(rest string) string {
			return fmt.Sprintf(`{'%s':{'TableName':'hhh','Key':{'id':{'S':'k'}},%s%s%s}}`, verb, condition, members, rest)
		}
		r := s.wantError("TransactWriteItems", transaction("", action(`,'ReturnValuesOnConditionCheckFailure':'ALL_OLD'`)), "TransactionCanceledException", "")
		if !strings.Contains(string(r.Body), `"Item":{"b":`) {
			t.Errorf("%s with ALL_OLD: %s", verb, r.Body)
		}
		r = s.wantError("TransactWriteItems", transaction("", action("")), "TransactionCanceledException", "")
		if strings.Contains(string(r.Body), `"Item"`) {
			t.Errorf("%s: %s", verb, r.Body)
		}
	}
	s.want(s.item(), before)
}

// A key that does not fit its table ends the look at the actions: no other one has a reason, and nothing is billed.
func TestTransact_KeyThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := start(t)
	const key, schema = `'Key':{'id':{'S':'x'}}`, "The provided key element does not match the schema"
	reasons := func(r Reply) string {
		var body struct{ CancellationReasons json.RawMessage }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		return string(body.CancellationReasons)
	}
	wrong := func(value string) string {
		return `{'Delete':{'TableName':'hhh','Key':{'id':{'N':'` + value + `'}}}}`
	}
	fails := `{'ConditionCheck':{'TableName':'hhh',` + key + `,'ConditionExpression':'attribute_exists(id)'}}`
	invalid := `{'Update':{'TableName':'hhh','Key':{'id':{'S':'y'}},'UpdateExpression':'SET a = gone'}}`
	for _, c := range []struct {
		actions []string
		want    string
	}{
		{[]string{wrong("7"), wrong("8"), fails}, `[{'Code':'ValidationError','Message':'` + schema + `'},{'Code':'None'},{'Code':'None'}]`},
		{[]string{fails, invalid, putK, wrong("7"), wrong("8")}, `[{'Code':'None'},{'Code':'None'},{'Code':'None'},{'Code':'ValidationError','Message':'` + schema + `'},{'Code':'None'}]`},
		{[]string{invalid, fails}, `[{'Code':'ValidationError','Message':'The provided expression refers to an attribute that does not exist in the item'},{'Code':'ConditionalCheckFailed','Message':'The conditional request failed'}]`},
	} {
		r := s.wantError("TransactWriteItems", transaction("", c.actions...), "TransactionCanceledException", "")
		s.want(reasons(r), c.want)
		if billed := r.WriteUnits > 0; billed != (len(c.actions) == 2) {
			t.Errorf("%s: %v units", c.actions, r.WriteUnits)
		}
	}
	s.want(s.item(), `{}`)
	get := func(key string) string { return `{'Get':{'TableName':'hhh','Key':` + key + `}}` }
	r := s.wantError("TransactGetItems", transaction("", get(`{'id':{'S':'x'}}`), get(`{'id':{'N':'7'}}`), get(`{'x':{'S':'x'}}`)), "TransactionCanceledException", "[None, ValidationError, None]")
	s.want(reasons(r), `[{'Code':'None'},{'Code':'ValidationError','Message':'`+schema+`'},{'Code':'None'}]`)
	// What refuses the whole transaction is seen all the same.
	s.wantError("TransactWriteItems", transaction("", wrong("7"), addTo("k"), addTo("k")), "ValidationException", "multiple operations on one item")
}

func TestTransactWrite_Rejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = addTo(fmt.Sprint("i", i))
		}
		return list
	}
	big := func(id string) string {
		return `{'Put':{'TableName':'hhh','Item':{'id':{'S':'` + id + `'},'d':{'S':'` + strings.Repeat("x", 400_000) + `'}}}}`
	}
	var eleven []string
	for i := range 11 {
		eleven = append(eleven, big(fmt.Sprint(i)))
	}
	s.ok("TransactWriteItems", transaction("", many(100)...))
	s.ok("TransactWriteItems", transaction("", eleven[:10]...))
	for body, want := range map[string]string{
		`{}`:                              "Value null at 'transactItems'",
		transaction(""):                   "Member must have length greater than or equal to 1",
		transaction("", many(101)...):     "Member must have length less than or equal to 100",
		transaction("", putK, addTo("k")): "Transaction request cannot include multiple operations on one item",
		transaction("", eleven...):        "4 MB",
		transaction("", `{}`):             "TransactItems can only contain one of Check, Put, Update or Delete",
		transaction("", putK[:len(putK)-1]+","+addTo("b")[1:]):                                                        "TransactItems can only contain one of Check, Put, Update or Delete",
		transaction("", `{'Update':{'TableName':'hhh','Key':{'id':{'S':'k'}}}}`):                                      "updateExpression' failed to satisfy constraint: Member must not be null",
		transaction("", `{'ConditionCheck':{'TableName':'hhh','Key':{'id':{'S':'k'}}}}`):                              "conditionExpression' failed to satisfy constraint: Member must not be null",
		transaction("", `{'Update':{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET status = :a'}}`): "reserved keyword",
		transaction("", addTo("k"), addTo("")):                                                                        "empty string value. Key: id",
		transaction("", strings.ReplaceAll(putK, "'k'", "''")):                                                        "empty string value. Key: id",
		`{'ClientRequestToken':'',` + transaction("", putK)[1:]:                                                       "Value '' at 'clientRequestToken' failed to satisfy constraint: Member must have length greater than or equal to 1",
		transaction(strings.Repeat("t", 37), putK):                                                                    "Member must have length less than or equal to 36",
	} {
		s.wantError("TransactWriteItems", body, "ValidationException", want)
	}
	s.wantError("TransactWriteItems", transaction("", strings.ReplaceAll(putK, "hhh", "none")), "ResourceNotFoundException", "Requested resource not found")
	get := `{'Get':{'TableName':'hhh','Key':{'id':{'S':'k'}}}}`
	for body, want := range map[string]string{
		`{}`:                      "Value null at 'transactItems'",
		transaction(""):           "Member must have length greater than or equal to 1",
		transaction("", `{}`):     "Member must not be null",
		transaction("", get, get): "Transaction request cannot include multiple operations on one item",
		transaction("", strings.Split(strings.Repeat(get+";", 101), ";")[:101]...): "Member must have length less than or equal to 100",
	} {
		s.wantError("TransactGetItems", body, "ValidationException", want)
	}
	s.wantError("TransactGetItems", transaction("", `{'Get':{'TableName':'hhh','Key':{'x':{'S':'k'}}}}`), "TransactionCanceledException", "[ValidationError]")
}

// Where the projection leads to nothing, the reply has no item; that of GetItem has an empty one.
func TestTransactGet_NothingOfTheItem(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.put()
	get := `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':'gone'}`
	s.want(s.ok("TransactGetItems", transaction("", `{'Get':`+get+`}`)), `{'Responses':[{}]}`)
	s.want(s.ok("GetItem", get), `{'Item':{}}`)
}

// A transaction reads 4 MB at most, however little of it is asked for.
func TestTransactGet_Size(t *testing.T) {
	t.Parallel()
	s := start(t)
	var gets []string
	for i := range 11 {
		id := fmt.Sprint(i)
		s.ok("PutItem", putBody(`{'id':{'S':'`+id+`'},'d':{'S':'`+strings.Repeat("x", 400_000)+`'}}`))
		gets = append(gets, `{'Get':{'TableName':'hhh','Key':{'id':{'S':'`+id+`'}},'ProjectionExpression':'id'}}`)
	}
	s.ok("TransactGetItems", transaction("", gets[:10]...))
	s.wantError("TransactGetItems", transaction("", gets...), "ValidationException", "4 MB")
}

// Different keys are different items, whatever characters they have in common.
func TestManyItems_KeysThatLookAlike(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("CreateTable", `{'TableName':'two','BillingMode':'PAY_PER_REQUEST',
		'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'},{'AttributeName':'sk','AttributeType':'S'}],
		'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'sk','KeyType':'RANGE'}]}`)
	const a, b = `{'id':{'S':'a\u0000b'},'sk':{'S':'c'}}`, `{'id':{'S':'a'},'sk':{'S':'b\u0000c'}}`
	for _, c := range []struct{ operation, body, duplicate string }{
		{"BatchWriteItem", `{'RequestItems':{'two':[{'PutRequest':{'Item':<1>}},{'PutRequest':{'Item':<2>}}]}}`, "Provided list of item keys contains duplicates"},
		{"BatchGetItem", `{'RequestItems':{'two':{'Keys':[<1>,<2>]}}}`, "Provided list of item keys contains duplicates"},
		{"TransactWriteItems", transaction("", `{'Put':{'TableName':'two','Item':<1>}}`, `{'Put':{'TableName':'two','Item':<2>}}`), "multiple operations on one item"},
		{"TransactGetItems", transaction("", `{'Get':{'TableName':'two','Key':<1>}}`, `{'Get':{'TableName':'two','Key':<2>}}`), "multiple operations on one item"},
	} {
		s.ok(c.operation, strings.NewReplacer("<1>", a, "<2>", b).Replace(c.body))
		s.wantError(c.operation, strings.NewReplacer("<1>", a, "<2>", a).Replace(c.body), "ValidationException", c.duplicate)
	}
}

func TestClientRequestToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	counted := func() string {
		return s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':'v'}`)
	}
	nested := func(order ...string) string {
		return `{'Put':{'TableName':'hhh','Item':{'id':{'S':'n'},'m':{'M':{` + strings.Join(order, ",") + `}}}}}`
	}
	a, b := `'a':{'S':'x'}`, `'b':{'S':'y'}`
	once := transaction("t1", addTo("k"), nested(a, b))
	s.ok("TransactWriteItems", once)
	// The same request again, in another order of members, asking for the capacity: success, and nothing is applied.
	again := `{'ReturnConsumedCapacity':'TOTAL',` + transaction("t1", addTo("k"), nested(b, a))[1:]
	s.want(s.ok("TransactWriteItems", again), `{'ConsumedCapacity':[{'TableName':'hhh','CapacityUnits':4,'ReadCapacityUnits':4}]}`)
	s.want(counted(), `{'Item':{'v':{'N':'1'}}}`)
	s.wantError("TransactWriteItems", transaction("t1", addTo("k")), "IdempotentParameterMismatchException", "")
	s.want(counted(), `{'Item':{'v':{'N':'1'}}}`)

	s.clock = s.clock.Add(10*time.Minute - time.Second)
	s.ok("TransactWriteItems", once)
	s.want(counted(), `{'Item':{'v':{'N':'1'}}}`)
	s.clock = s.clock.Add(time.Second)
	s.ok("TransactWriteItems", once)
	s.want(counted(), `{'Item':{'v':{'N':'2'}}}`)

	// A cancelled transaction is not remembered.
	check := `{'ConditionCheck':{'TableName':'hhh','Key':{'id':{'S':'c'}},'ConditionExpression':'attribute_exists(id)'}}`
	s.wantError("TransactWriteItems", transaction("t2", addTo("k"), check), "TransactionCanceledException", "")
	s.ok("PutItem", putBody(`{'id':{'S':'c'}}`))
	s.ok("TransactWriteItems", transaction("t2", addTo("k"), check))
	s.want(counted(), `{'Item':{'v':{'N':'3'}}}`)
}

package dynamo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func putBody(item string) string { return `{'TableName':'hhh','Item':` + item + `}` }

func TestValues_RoundTrip(t *testing.T) {
	t.Parallel()
	s := start(t)
	for in, want := range map[string]string{
		`{'S':''}`:                              `{'S':''}`,
		`{'S':'\u65e5\u0000\ud83d\ude00<>&/\'}`: "",
		`{'N':'-001.500e1'}`:                    `{'N':'-15'}`,
		`{'B':''}`:                              `{'B':''}`,
		`{'B':'AAH/'}`:                          `{'B':'AAH/'}`,
		`{'BOOL':false}`:                        `{'BOOL':false}`,
		`{'NULL':true}`:                         `{'NULL':true}`,
		`{'L':[]}`:                              `{'L':[]}`,
		`{'M':{}}`:                              `{'M':{}}`,
		`{'M':{'':{'S':'x'}}}`:                  `{'M':{'':{'S':'x'}}}`,
		`{'SS':['b','a','','B','é','ab']}`:      `{'SS':['','B','a','ab','b','é']}`,
		`{'NS':['10','1.0','9','-2e1','-3']}`:   `{'NS':['-20','-3','1','9','10']}`,
		`{'BS':['/w==','AQ==','','AQA=']}`:      `{'BS':['','AQ==','AQA=','/w==']}`,
		` { 'S' : 'x' , 'N' : null } `:          `{'S':'x'}`,
		`{'L':[{'M':{'a':{'SS':['x']}}}]}`:      `{'L':[{'M':{'a':{'SS':['x']}}}]}`,
	} {
		if want == "" { // every kind of character
			in = strings.ReplaceAll(in, `\'`, `\\\"'`)
			want = in
		}
		s.ok("PutItem", putBody(`{'id':{'S':'k'},'v':`+in+`}`))
		s.want(s.item(), `{'Item':{'id':{'S':'k'},'v':`+want+`}}`)
	}
}

func TestValues_Rejected(t *testing.T) {
	t.Parallel()
	const parameter = "One or more parameter values were invalid: "
	s := start(t)
	for in, want := range map[string][2]string{
		`{}`:                     {"ValidationException", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
		`{'X':'y'}`:              {"ValidationException", "Supplied AttributeValue is empty"},
		`{'s':'y'}`:              {"ValidationException", "Supplied AttributeValue is empty"},
		`{'S':null}`:             {"ValidationException", "Supplied AttributeValue is empty"},
		`{'S':'x','N':'1'}`:      {"ValidationException", "Supplied AttributeValue has more than one datatypes set"},
		`{'N':''}`:               {"ValidationException", "The parameter cannot be converted to a numeric value"},
		`{'N':'1e126'}`:          {"ValidationException", "Number overflow. Attempting to store a number with magnitude larger than supported range"},
		`{'NULL':false}`:         {"ValidationException", parameter + "Null attribute value types must have the value of true"},
		`{'SS':[]}`:              {"ValidationException", parameter + "An string set  may not be empty"},
		`{'NS':[]}`:              {"ValidationException", parameter + "An number set  may not be empty"},
		`{'BS':[]}`:              {"ValidationException", parameter + "Binary sets should not be empty"},
		`{'SS':['b','a','b']}`:   {"ValidationException", parameter + "Input collection [b, a, b] contains duplicates."},
		`{'NS':['9','1','9.0']}`: {"ValidationException", parameter + "Input collection [9, 1, 9] contains duplicates."},
		`{'NS':['1','1.0']}`:     {"ValidationException", parameter + "Input collection [1, 1] contains duplicates."},
		`{'BS':['AQ==','AQ==']}`: {"ValidationException", parameter + "Input collection [AQ==, AQ==]of type BS contains duplicates."},
		`{'L':[{'M':{'a':{}}}]}`: {"ValidationException", "Supplied AttributeValue is empty"},
		nested(32):               {"ValidationException", "Nesting Levels have exceeded supported limits"},
		`{'S':5}`:                {"SerializationException", ""},
		`{'N':5}`:                {"SerializationException", ""},
		`{'B':'*'}`:              {"SerializationException", ""},
		`{'BOOL':'true'}`:        {"SerializationException", ""},
		`{'L':{}}`:               {"SerializationException", ""},
		`{'M':[]}`:               {"SerializationException", ""},
		`{'SS':'a'}`:             {"SerializationException", ""},
		`{'SS':[1]}`:             {"SerializationException", ""},
		`'x'`:                    {"SerializationException", ""},
		`null`:                   {"SerializationException", ""},
	} {
		s.wantError("PutItem", putBody(`{'id':{'S':'k'},'v':`+in+`}`), want[0], want[1])
	}
	s.want(s.item(), `{}`)
	s.ok("PutItem", putBody(`{'id':{'S':'k'},'v':`+nested(31)+`}`))
	s.wantError("UpdateItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET d.d = v','ExpressionAttributeValues':{}}`, "ValidationException", "")
	s.ok("UpdateItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET d = :m','ExpressionAttributeValues':{':m':{'M':{}}}}`)
	s.wantError("UpdateItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET d.d = v'}`, "ValidationException", "Nesting Levels have exceeded supported limits")
}

// nested is a value with so many levels of lists around a string.
func nested(levels int) string {
	return strings.Repeat(`{'L':[`, levels) + `{'S':'x'}` + strings.Repeat(`]}`, levels)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	const (
		empty    = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: id"
		mismatch = "The provided key element does not match the schema"
	)
	for item, want := range map[string]string{
		`{'x':{'S':'k'}}`:  "One or more parameter values were invalid: Missing the key id in the item",
		`{'id':{'N':'1'}}`: "One or more parameter values were invalid: Type mismatch for key id expected: S actual: N",
		`{'id':{'S':''}}`:  empty,
		`{'id':{'S':'` + strings.Repeat("k", 2049) + `'}}`: "Size of hashkey has exceeded the maximum size limit of2048 bytes",
	} {
		s.wantError("PutItem", putBody(item), "ValidationException", want)
	}
	for key, want := range map[string]string{
		`{}`:                             mismatch,
		`{'x':{'S':'k'}}`:                mismatch,
		`{'id':{'N':'1'}}`:               mismatch,
		`{'id':{'S':'k'},'x':{'S':'k'}}`: mismatch,
		`{'id':{'S':''}}`:                empty,
	} {
		for _, operation := range []string{"GetItem", "UpdateItem", "DeleteItem"} {
			s.wantError(operation, `{'TableName':'hhh','Key':`+key+`}`, "ValidationException", want)
		}
	}
	s.wantError("GetItem", `{'TableName':'rrr','Key':{'id':{'S':'k'}}}`, "ValidationException", mismatch)
	s.wantError("GetItem", `{'TableName':'hhh'}`, "ValidationException", "Value null at 'key'")
	s.wantError("PutItem", `{'TableName':'hhh'}`, "ValidationException", "Value null at 'item'")
	s.wantError("PutItem", `{'Item':{}}`, "ValidationException", "Value null at 'tableName'")
	s.wantError("GetItem", `{'TableName':'none','Key':{'id':{'S':'k'}}}`, "ResourceNotFoundException", "Requested resource not found")
	// What is wrong with the request itself comes before what is wrong with the table.
	s.wantError("PutItem", `{'TableName':'none','Item':{'id':{'N':'x'}}}`, "ValidationException", "numeric value")

	s.ok("PutItem", putBody(`{'id':{'S':'`+strings.Repeat("k", 2048)+`'}}`))
	binary := `{'TableName':'bbb','BillingMode':'PAY_PER_REQUEST','AttributeDefinitions':[{'AttributeName':'id','AttributeType':'B'},{'AttributeName':'sk','AttributeType':'S'}],
		'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'sk','KeyType':'RANGE'}]}`
	s.ok("CreateTable", binary)
	bin := func(sk string) string {
		return `{'TableName':'bbb','Item':{'id':{'B':'AAH/'},'sk':{'S':'` + sk + `'},'v':{'S':'x'}}}`
	}
	s.ok("PutItem", bin(strings.Repeat("s", 1024)))
	s.wantError("PutItem", bin(strings.Repeat("s", 1025)), "ValidationException", "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	s.wantError("PutItem", bin(""), "ValidationException", "empty string value. Key: sk")
	s.wantError("PutItem", `{'TableName':'bbb','Item':{'id':{'B':''},'sk':{'S':'x'}}}`, "ValidationException", "empty binary value. Key: id")
	s.want(s.ok("GetItem", `{'TableName':'bbb','Key':{'id':{'B':'AAH/'},'sk':{'S':'`+strings.Repeat("s", 1024)+`'}},'ProjectionExpression':'v'}`), `{'Item':{'v':{'S':'x'}}}`)
}

// Equal numbers are one key, however they are written.
func TestKeys_Number(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("PutItem", `{'TableName':'rrr','Item':{'id':{'S':'k'},'sk':{'N':'1.0'},'v':{'N':'1'}}}`)
	s.want(s.ok("GetItem", `{'TableName':'rrr','Key':{'id':{'S':'k'},'sk':{'N':'1e0'}}}`), `{'Item':{'id':{'S':'k'},'sk':{'N':'1'},'v':{'N':'1'}}}`)
	s.wantError("PutItem", `{'TableName':'rrr','Item':{'id':{'S':'k'},'sk':{'N':'10e-1'}},'ConditionExpression':'attribute_not_exists(id)'}`, "ConditionalCheckFailedException", "The conditional request failed")
}

func TestItemSize(t *testing.T) {
	t.Parallel()
	// Names and values count: id+k 3, d 1.
	big := func(total int) string {
		return fmt.Sprintf(`{'id':{'S':'k'},'d':{'S':'%s'}}`, strings.Repeat("x", total-4))
	}
	s := start(t)
	s.ok("PutItem", putBody(big(400<<10)))
	s.wantError("PutItem", putBody(big(400<<10+1)), "ValidationException", "Item size has exceeded the maximum allowed size")
	grow := `{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET e = :e','ExpressionAttributeValues':{':e':{'S':''}}}`
	s.wantError("UpdateItem", grow, "ValidationException", "Item size to update has exceeded the maximum allowed size")
	s.ok("PutItem", putBody(big(400<<10-1)))
	s.ok("UpdateItem", grow)

	for item, want := range map[string]int{
		`{'a':{'S':'\u65e5'}}`:               4,
		`{'a':{'B':'AQID'}}`:                 4,
		`{'abc':{'BOOL':true}}`:              4,
		`{'a':{'NULL':true}}`:                2,
		`{'a':{'N':'123.45'}}`:               5,
		`{'a':{'L':[]}}`:                     4,
		`{'a':{'L':[{'S':'xy'},{'S':'z'}]}}`: 9,
		`{'a':{'M':{'k':{'S':'xy'}}}}`:       8,
		`{'a':{'SS':['xy','z']}}`:            4,
		`{'a':{'NS':['1','22']}}`:            5,
	} {
		raw := rawItem{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(item, "'", `"`)), &raw); err != nil {
			t.Fatal(err)
		}
		a, err := raw.decode(checkName, nil)
		if err != nil || a.size() != want {
			t.Errorf("size of %s = %d, %v, want %d", item, a.size(), err, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	named := func(top, member string) string {
		return `{'id':{'S':'k'},'` + top + `':{'L':[{'M':{'` + member + `':{'NULL':true}}}]}}`
	}
	set := func(name, value string) string {
		return `{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':'SET #n = :v','ExpressionAttributeNames':{'#n':'` + name + `'},'ExpressionAttributeValues':{':v':` + value + `}}`
	}
	longest := strings.Repeat("n", 65535)
	s.ok("PutItem", putBody(named(longest, "")))
	s.ok("PutItem", putBody(named("x", longest)))
	s.ok("UpdateItem", set(longest, `{'S':''}`))
	const tooLong = "Attribute name is too large, must be less than 65536 bytes"
	for _, c := range [][3]string{
		{"PutItem", putBody(named("", "x")), "The name of an attribute is empty"},
		{"PutItem", putBody(named(longest+"n", "x")), tooLong},
		{"PutItem", putBody(named("x", longest+"n")), tooLong},
		{"PutItem", putBody(named(strings.Repeat("\u65e5", 65536/3), "x")), ""},
		{"PutItem", putBody(named(strings.Repeat("\u65e5", 65536/3+1), "x")), tooLong},
		{"GetItem", `{'TableName':'hhh','Key':{'':{'S':'k'}}}`, "The name of an attribute is empty"},
		{"UpdateItem", set("", `{'S':''}`), "must have a length of 1 to 65535 bytes for key #n"},
		{"UpdateItem", set(longest+"n", `{'S':''}`), tooLong},
		{"UpdateItem", set("x", `{'M':{'`+longest+`n':{'S':''}}}`), "detected: " + tooLong},
		{"BatchWriteItem", `{'RequestItems':{'hhh':[{'PutRequest':{'Item':` + named("", "x") + `}}]}}`, "The name of an attribute is empty"},
		{"TransactWriteItems", transaction("", `{'Put':`+putBody(named(longest+"n", "x"))+`}`), tooLong},
	} {
		if c[2] == "" {
			s.ok(c[0], c[1])
			continue
		}
		if r := s.do(c[0], c[1]); r.Code != "ValidationException" || !strings.Contains(r.message(), c[2]) {
			t.Errorf("%s %.80s…: %s %.200s, want %s", c[0], c[1], r.Code, r.Body, c[2])
		}
	}
}

func TestPlaceholders_Size(t *testing.T) {
	t.Parallel()
	s := start(t)
	// Placeholders count with what they stand for.
	condition := func(n int) string {
		values := `':v':{'S':'` + strings.Repeat("v", n) + `'}`
		text := "#i = :v"
		for i := range 6 {
			text += fmt.Sprint(" OR #i = :w", i)
			values += fmt.Sprintf(`,':w%d':{'S':'%s'}`, i, strings.Repeat("w", 300_000))
		}
		return `{'TableName':'hhh','Item':{'id':{'S':'k'}},'ConditionExpression':'NOT (` + text + `)','ExpressionAttributeNames':{'#i':'id'},'ExpressionAttributeValues':{` + values + `}}`
	}
	const rest = 2<<20 - 6*(300_000+len(":w0")) - len(":v") - len("#i") - len("id")
	s.ok("PutItem", condition(rest))
	if r := s.do("PutItem", condition(rest+1)); r.Code != "ValidationException" || !strings.Contains(r.message(), "maximum allowed size of 2 MB") {
		t.Errorf("%.200s", r.Body)
	}
}

// A failed condition answers the item that is there, if it was asked for.
func TestConditionFailed_Item(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.put()
	key := `{'TableName':'hhh','Key':{'id':{'S':'k'}},`
	condition := `'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{'N':'6'}}`
	for operation, body := range map[string]string{
		"PutItem":    `{'TableName':'hhh','Item':{'id':{'S':'k'}},`,
		"UpdateItem": key + `'UpdateExpression':'REMOVE n',`,
		"DeleteItem": key,
	} {
		r := s.wantError(operation, body+condition+`,'ReturnValuesOnConditionCheckFailure':'ALL_OLD'}`, "ConditionalCheckFailedException", "")
		s.want(string(r.Body), `{'__type':'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException','message':'The conditional request failed','Item':`+
			strings.ReplaceAll(sample, "2.50", "2.5")+`}`)
		if r.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d", operation, r.Status)
		}
		for _, without := range []string{"}", `,'ReturnValuesOnConditionCheckFailure':'NONE'}`} {
			r = s.wantError(operation, body+condition+without, "ConditionalCheckFailedException", "")
			s.want(string(r.Body), `{'__type':'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException','message':'The conditional request failed'}`)
		}
		s.wantError(operation, body+condition+`,'ReturnValuesOnConditionCheckFailure':'ALL_NEW'}`, "ValidationException", "returnValuesOnConditionCheckFailure")
	}
	s.ok("DeleteItem", key[:len(key)-1]+"}")
	r := s.wantError("PutItem", `{'TableName':'hhh','Item':{'id':{'S':'k'}},'ConditionExpression':'attribute_exists(id)','ReturnValuesOnConditionCheckFailure':'ALL_OLD'}`, "ConditionalCheckFailedException", "")
	s.want(string(r.Body), `{'__type':'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException','message':'The conditional request failed'}`)
	s.want(s.item(), `{}`)
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	size := func(n int) string { return fmt.Sprintf(`{'id':{'S':'k'},'d':{'S':'%s'}}`, strings.Repeat("x", n-4)) }
	put := func(item, rest string) string { return `{'TableName':'hhh','Item':` + item + rest + `}` }
	key := `{'TableName':'hhh','Key':{'id':{'S':'k'}}`
	refuse := `,'ConditionExpression':'attribute_not_exists(id)'`
	s := start(t)
	for i, c := range []struct {
		operation, body string
		read, write     float64
	}{
		{"GetItem", key + `}`, 0.5, 0},
		{"GetItem", key + `,'ConsistentRead':true}`, 1, 0},
		{"DeleteItem", key + `}`, 0, 1},
		{"UpdateItem", key + `,'ConditionExpression':'attribute_exists(id)'}`, 0, 1}, // refused; nothing there
		{"PutItem", put(size(1024), ""), 0, 1},
		{"PutItem", put(size(1025), ""), 0, 2},
		{"PutItem", put(size(10), refuse), 0, 2}, // refused: by what is there
		{"PutItem", put(size(9000), refuse), 0, 2},
		{"PutItem", put(size(10), ""), 0, 2}, // the larger of before and after
		{"PutItem", put(size(9000), ""), 0, 9},
		{"GetItem", key + `,'ConsistentRead':true,'ProjectionExpression':'id'}`, 3, 0},
		{"GetItem", key + `}`, 1.5, 0},
		{"Scan", `{'TableName':'hhh'}`, 1.5, 0},
		{"Query", `{'TableName':'hhh','ConsistentRead':true,'KeyConditionExpression':'id = :k','ExpressionAttributeValues':{':k':{'S':'k'}}}`, 3, 0},
		{"BatchGetItem", `{'RequestItems':{'hhh':{'Keys':[{'id':{'S':'k'}},{'id':{'S':'none'}}]}}}`, 2, 0},
		{"TransactGetItems", `{'TransactItems':[{'Get':` + key + `}}]}`, 6, 0},
		{"TransactWriteItems", `{'TransactItems':[{'ConditionCheck':` + key + `,'ConditionExpression':'attribute_exists(id)'}}]}`, 0, 18},
		{"UpdateItem", key + `,'UpdateExpression':'REMOVE d'}`, 0, 9},
		{"BatchWriteItem", `{'RequestItems':{'hhh':[{'PutRequest':{'Item':` + size(2000) + `}},{'DeleteRequest':{'Key':{'id':{'S':'none'}}}}]}}`, 0, 3},
		{"TransactWriteItems", `{'TransactItems':[{'Delete':` + key + `}}]}`, 0, 4},
		{"PutItem", put(`{'id':{'S':''}}`, ""), 0, 0}, // invalid requests cost nothing
	} {
		r := s.do(c.operation, c.body)
		if r.ReadUnits != c.read || r.WriteUnits != c.write {
			t.Errorf("%d: %s costs %v read and %v write units (%.80s), want %v and %v", i, c.operation, r.ReadUnits, r.WriteUnits, r.Body, c.read, c.write)
		}
	}
}

func TestReturnConsumedCapacity(t *testing.T) {
	t.Parallel()
	s := start(t)
	put := func(mode string) string {
		return `{'TableName':'hhh','Item':{'id':{'S':'k'}},'ReturnConsumedCapacity':'` + mode + `'}`
	}
	s.want(s.ok("PutItem", put("NONE")), `{}`)
	s.want(s.ok("PutItem", put("TOTAL")), `{'ConsumedCapacity':{'TableName':'hhh','CapacityUnits':1}}`)
	s.want(s.ok("PutItem", put("INDEXES")), `{'ConsumedCapacity':{'TableName':'hhh','CapacityUnits':1,'Table':{'CapacityUnits':1}}}`)
	s.wantError("PutItem", put("SOME"), "ValidationException", "returnConsumedCapacity")
	for operation, body := range map[string]string{
		"PutItem":            put("NONE"),
		"DeleteItem":         `{'TableName':'hhh','Key':{'id':{'S':'none'}}}`,
		"BatchWriteItem":     `{'RequestItems':{'hhh':[{'DeleteRequest':{'Key':{'id':{'S':'none'}}}}]}}`,
		"TransactWriteItems": transaction("", addTo("u")),
	} {
		s.ok(operation, `{'ReturnItemCollectionMetrics':'SIZE',`+body[1:])
		s.wantError(operation, `{'ReturnItemCollectionMetrics':'SOME',`+body[1:], "ValidationException", "returnItemCollectionMetrics")
	}
	s.want(s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ReturnConsumedCapacity':'TOTAL'}`),
		`{'Item':{'id':{'S':'k'}},'ConsumedCapacity':{'TableName':'hhh','CapacityUnits':0.5}}`)
	s.want(s.ok("TransactWriteItems", `{'ReturnConsumedCapacity':'TOTAL','TransactItems':[{'Put':{'TableName':'hhh','Item':{'id':{'S':'k'}}}},{'Put':{'TableName':'rrr','Item':{'id':{'S':'k'},'sk':{'N':'1'}}}}]}`),
		`{'ConsumedCapacity':[{'TableName':'hhh','CapacityUnits':2,'WriteCapacityUnits':2},{'TableName':'rrr','CapacityUnits':2,'WriteCapacityUnits':2}]}`)
}

package dynamo

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTables(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("PutItem", putBody(`{'id':{'S':'k'}}`))
	s.want(s.ok("DescribeTable", `{'TableName':'hhh'}`), `{'Table':{'TableName':'hhh','TableStatus':'ACTIVE',
		'TableArn':'arn:aws:dynamodb:us-east-1:000000000000:table/hhh','TableId':'00000000-0000-4000-8000-000000000001','CreationDateTime':1700000000,
		'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'}],'KeySchema':[{'AttributeName':'id','KeyType':'HASH'}],
		'ItemCount':1,'TableSizeBytes':3,'DeletionProtectionEnabled':false,
		'ProvisionedThroughput':{'ReadCapacityUnits':0,'WriteCapacityUnits':0,'NumberOfDecreasesToday':0},
		'BillingModeSummary':{'BillingMode':'PAY_PER_REQUEST','LastUpdateToPayPerRequestDateTime':1700000000}}}`)
	s.want(s.ok("ListTables", `{}`), `{'TableNames':['hhh','rrr']}`)
	s.want(s.ok("ListTables", `{'Limit':1}`), `{'TableNames':['hhh'],'LastEvaluatedTableName':'hhh'}`)
	s.want(s.ok("ListTables", `{'ExclusiveStartTableName':'hhh'}`), `{'TableNames':['rrr']}`)
	s.wantError("ListTables", `{'Limit':101}`, "ValidationException", "limit")
	// A table's ARN serves as its name.
	s.want(s.ok("GetItem", `{'TableName':'arn:aws:dynamodb:us-east-1:000000000000:table/hhh','Key':{'id':{'S':'k'}}}`), `{'Item':{'id':{'S':'k'}}}`)
	s.ok("DeleteTable", `{'TableName':'hhh'}`)
	s.want(s.ok("ListTables", `{}`), `{'TableNames':['rrr']}`)
	s.ok("DeleteTable", `{'TableName':'rrr'}`)
	s.want(s.ok("ListTables", `{}`), `{'TableNames':[]}`)
	s.ok("CreateTable", `{'TableName':'sss','BillingMode':'PAY_PER_REQUEST','StreamSpecification':{'StreamEnabled':false},
		'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'}],'KeySchema':[{'AttributeName':'id','KeyType':'HASH'}]}`)
	for _, operation := range []string{"DescribeTable", "DeleteTable", "DescribeTimeToLive"} {
		s.wantError(operation, `{'TableName':'hhh'}`, "ResourceNotFoundException", "Requested resource not found: Table: hhh not found")
	}
}

func TestCreateTable_Rejected(t *testing.T) {
	t.Parallel()
	const (
		demand = `,'BillingMode':'PAY_PER_REQUEST'`
		defs   = `,'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'}]`
		keys   = `,'KeySchema':[{'AttributeName':'id','KeyType':'HASH'}]`
	)
	s := start(t)
	s.wantError("CreateTable", `{'TableName':'hhh'`+demand+defs+keys+`}`, "ResourceInUseException", "Table already exists: hhh")
	for members, want := range map[string]string{
		`'TableName':'x'` + demand + defs + keys:                                "Member must have length greater than or equal to 3",
		`'TableName':'` + strings.Repeat("x", 256) + `'` + demand + defs + keys: "Member must have length less than or equal to 255",
		`'TableName':'a b c'` + demand + defs + keys:                            "regular expression pattern",
		`'TableName':'new'` + demand + keys:                                     "Value null at 'attributeDefinitions'",
		`'TableName':'new'` + demand + defs:                                     "Value null at 'keySchema'",
		`'TableName':'new'` + defs + keys:                                       "must both be specified when BillingMode is PROVISIONED",
		`'TableName':'new','BillingMode':'X'` + defs + keys:                     "billingMode",
		`'TableName':'new'` + demand + defs + keys + `,'ProvisionedThroughput':{'ReadCapacityUnits':1,'WriteCapacityUnits':1}`:                                 "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
		`'TableName':'new'` + defs + keys + `,'ProvisionedThroughput':{'ReadCapacityUnits':0,'WriteCapacityUnits':1}`:                                          "provisionedThroughput",
		`'TableName':'new'` + demand + defs + `,'KeySchema':[{'AttributeName':'x','KeyType':'HASH'}]`:                                                          "Some index key attributes are not defined in AttributeDefinitions",
		`'TableName':'new'` + demand + defs + `,'KeySchema':[{'AttributeName':'id','KeyType':'RANGE'}]`:                                                        "The first KeySchemaElement is not a HASH key type",
		`'TableName':'new'` + demand + defs + `,'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'id','KeyType':'RANGE'}]`:                "Invalid KeySchema: Some index key attribute have no definition",
		`'TableName':'new'` + demand + `,'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'},{'AttributeName':'x','AttributeType':'S'}]` + keys: "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
		`'TableName':'new'` + demand + `,'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'M'}]` + keys:                                           "attributeType",
		`'TableName':'new'` + demand + strings.ReplaceAll(defs+keys, "'id'", "''"):                                                                             "Member must have length greater than or equal to 1",
		`'TableName':'new'` + demand + strings.ReplaceAll(defs+keys, "'id'", "'"+strings.Repeat("n", 256)+"'"):                                                 "Member must have length less than or equal to 255",
		`'TableName':'new'` + demand + defs + keys + `,'StreamSpecification':{'StreamEnabled':true,'StreamViewType':'NEW_IMAGE'}`:                              "does not implement the parameter StreamSpecification",
		`'TableName':'new'` + demand + defs + keys + `,'StreamSpecification':{}`:                                                                               "streamSpecification.streamEnabled' failed",
		`'TableName':'new'` + demand + defs + keys + `,'StreamSpecification':{'StreamEnabled':false,'StreamViewType':'NEW_IMAGE'}`:                             "Table is not stream-enabled",
	} {
		s.wantError("CreateTable", `{`+members+`}`, "ValidationException", want)
	}
	s.ok("CreateTable", `{'TableName':'new'`+demand+strings.ReplaceAll(defs+keys, "'id'", "'"+strings.Repeat("n", 255)+"'")+`}`)
	s.ok("CreateTable", `{'TableName':'kept','DeletionProtectionEnabled':true`+demand+defs+keys+`}`)
	s.wantError("DeleteTable", `{'TableName':'kept'}`, "ValidationException", "protected against deletion")
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s := start(t)
	set := func(attribute string, on bool) string {
		return fmt.Sprintf(`{'TableName':'hhh','TimeToLiveSpecification':{'AttributeName':'%s','Enabled':%v}}`, attribute, on)
	}
	s.want(s.ok("DescribeTimeToLive", `{'TableName':'hhh'}`), `{'TimeToLiveDescription':{'TimeToLiveStatus':'DISABLED'}}`)
	s.wantError("UpdateTimeToLive", set("ttl", false), "ValidationException", "TimeToLive is already disabled")
	s.want(s.ok("UpdateTimeToLive", set("ttl", true)), `{'TimeToLiveSpecification':{'AttributeName':'ttl','Enabled':true}}`)
	s.wantError("UpdateTimeToLive", set("ttl", true), "ValidationException", "TimeToLive is already enabled")
	s.wantError("UpdateTimeToLive", set("other", false), "ValidationException", "different AttributeName")
	s.want(s.ok("DescribeTimeToLive", `{'TableName':'hhh'}`), `{'TimeToLiveDescription':{'TimeToLiveStatus':'ENABLED','AttributeName':'ttl'}}`)
	for body, want := range map[string]string{
		`{'TableName':'hhh'}`: "timeToLiveSpecification'",
		`{'TableName':'hhh','TimeToLiveSpecification':{'AttributeName':'x'}}`: "timeToLiveSpecification.enabled",
		`{'TableName':'hhh','TimeToLiveSpecification':{'Enabled':true}}`:      "timeToLiveSpecification.attributeName",
		set(strings.Repeat("n", 256), true):                                   "Member must have length less than or equal to 255",
	} {
		s.wantError("UpdateTimeToLive", body, "ValidationException", want)
	}

	now := s.clock.Unix()
	put := func(id, ttl string) {
		t.Helper()
		s.ok("PutItem", putBody(`{'id':{'S':'`+id+`'},'ttl':`+ttl+`}`))
	}
	number := func(n int64) string { return fmt.Sprintf(`{'N':'%d'}`, n) }
	put("k", number(now)) // expires when the second is over
	put("text", `{'S':'1'}`)
	put("ancient", number(now-6*365*24*3600))
	put("milliseconds", number(now*1000))
	put("past", number(now-1))
	put("fraction", fmt.Sprintf(`{'N':'%d.5'}`, now-1))
	s.ok("PutItem", `{'TableName':'rrr','Item':{'id':{'S':'k'},'sk':{'N':'1'},'ttl':{'N':'1'}}}`)
	if n := s.Sweep(s.clock); n != 2 {
		t.Errorf("swept %d items, want past and fraction", n)
	}
	s.want(s.item(), `{'Item':{'id':{'S':'k'},'ttl':`+number(now)+`}}`)
	s.clock = s.clock.Add(time.Second)
	if n := s.Sweep(s.clock); n != 1 {
		t.Errorf("swept %d items, want k", n)
	}
	s.want(s.item(), `{}`)
	s.ok("UpdateTimeToLive", set("ttl", false))
	put("k", number(now-1))
	if n := s.Sweep(s.clock); n != 0 {
		t.Errorf("swept %d items with TTL off", n)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, body := range []string{
		``, `{`, `[]`, `"x"`, `5`, `{'TableName':5}`, `{'TableName':'hhh'}}`, `{'TableName':'hhh'} {}`, "\x00", `{'TableName':'hhh','Item':[]}`,
		`{'TableName':'hhh','Item':{'id':`, strings.Repeat(`{'a':`, 20_000),
	} {
		s.wantError("PutItem", body, "SerializationException", "")
	}
	s.wantError("PutItem", `{'TableName':'hhh','Item':null}`, "ValidationException", "Value null at 'item'")
	s.ok("PutItem", `{'TableName':'hhh','Item':{'id':{'S':'k'}},'Key':null,'ExpressionAttributeValues':null}`)
	deep := strings.Repeat(`{'L':[`, 4000) + `{'S':'x'}` + strings.Repeat(`]}`, 4000)
	s.wantError("PutItem", putBody(`{'id':{'S':'k'},'d':`+deep+`}`), "ValidationException", "Nesting Levels")
	s.wantError("ExecuteStatement", `{}`, "UnknownOperationException", "ExecuteStatement")
	s.wantError("", `{}`, "UnknownOperationException", "")
	// Names are names in one case, wherever they stand.
	for _, c := range [][3]string{
		{"tablename", "PutItem", `{'tablename':'hhh','Item':{'id':{'S':'k'}}}`},
		{"ITEM", "PutItem", `{'TableName':'hhh','ITEM':{'id':{'S':'k'}}}`},
		{"returnvalues", "PutItem", `{'TableName':'hhh','Item':{'id':{'S':'k'}},'returnvalues':'NONE'}`},
		{"billingmode", "CreateTable", `{'TableName':'new','billingmode':'PAY_PER_REQUEST'}`},
		{"attributetype", "CreateTable", `{'TableName':'new','AttributeDefinitions':[{'AttributeName':'id','attributetype':'S'}]}`},
		{"put", "TransactWriteItems", transaction("", strings.ReplaceAll(putK, "'Put'", "'put'"))},
		{"item", "TransactWriteItems", transaction("", strings.ReplaceAll(putK, "'Item'", "'item'"))},
		{"putRequest", "BatchWriteItem", `{'RequestItems':{'hhh':[{'putRequest':{'Item':{'id':{'S':'k'}}}}]}}`},
		{"keys", "BatchGetItem", `{'RequestItems':{'hhh':{'keys':[{'id':{'S':'k'}}]}}}`},
	} {
		s.wantError(c[1], c[2], "ValidationException", "does not implement the parameter "+c[0])
	}
	for member, operation := range map[string]string{"Expected": "PutItem", "AttributeUpdates": "UpdateItem", "AttributesToGet": "GetItem", "ConditionalOperator": "DeleteItem"} {
		s.wantError(operation, `{'TableName':'hhh','`+member+`':{}}`, "ValidationException", "does not implement the parameter "+member)
	}
}

// FuzzApply: whatever comes in, an answer goes out.
func FuzzApply(f *testing.F) {
	for operation := range operations {
		f.Add(operation, `{"TableName":"hhh"}`)
	}
	f.Add("PutItem", strings.ReplaceAll(putBody(sample), "'", `"`))
	f.Add("UpdateItem", strings.ReplaceAll(updateItemBody("SET l[9] = :half, m.x = if_not_exists(n, :one) REMOVE l[0] ADD ss :set DELETE bs :bset", ""), "'", `"`))
	f.Add("TransactWriteItems", strings.ReplaceAll(conditionCheck("NOT (size(s) BETWEEN :n1 AND n OR contains(l, :deep)) AND #st IN (:x, :s)"), "'", `"`))
	f.Add("Query", `{"TableName":"rrr","KeyConditionExpression":"id = :q AND begins_with(sk, :q)","ExpressionAttributeValues":{":q":{"S":"q"}},"Limit":1}`)
	f.Add("Scan", `{"TableName":"rrr","ExclusiveStartKey":{"id":{"S":"q"},"sk":{"N":"1"}},"Segment":0,"TotalSegments":3}`)
	f.Add("CreateTable", strings.ReplaceAll(createIndexed, "'", `"`))
	f.Add("PutItem", `{"TableName":"iii","Item":{"id":{"S":"q"},"sk":{"N":"1"},"g":{"S":"x"},"gs":{"N":"2"},"ls":{"S":""}},"ReturnItemCollectionMetrics":"SIZE"}`)
	f.Add("Query", `{"TableName":"iii","IndexName":"inc","KeyConditionExpression":"g = :x","ExpressionAttributeValues":{":x":{"S":"x"}},"ReturnConsumedCapacity":"INDEXES","Limit":1}`)
	f.Add("Scan", `{"TableName":"iii","IndexName":"loc","Select":"ALL_ATTRIBUTES","ExclusiveStartKey":{"id":{"S":"q"},"sk":{"N":"1"},"ls":{"S":"l"}}}`)
	f.Fuzz(func(t *testing.T, operation, body string) {
		s := startIndexed(t)
		s.put()
		s.putIndexed("q", 1, "g:x gs:1 ls:l p:p v:v")
		r := s.Apply(s.Parse(operation, []byte(body)))
		if r.Code == "InternalServerError" || normal(t, string(r.Body)) == "" {
			t.Errorf("%s %s: %s", operation, body, r.Body)
		}
	})
}

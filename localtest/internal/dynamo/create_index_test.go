package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

// indexTable is a CreateTable of a table with the key id and sk, attributes a to d, and these indexes; without
// billing mode.
func indexTable(name, attributes, rest string) string {
	body := `{'TableName':'` + name + `','KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'sk','KeyType':'RANGE'}],'AttributeDefinitions':[`
	for i, a := range strings.Fields("id sk " + attributes) {
		if i > 0 {
			body += ","
		}
		body += `{'AttributeName':'` + a + `','AttributeType':'S'}`
	}
	return body + `]` + rest + `}`
}

// indexBody is one index; keys are its hash and sort attribute.
func indexBody(name, keys, rest string) string {
	body := `{'IndexName':'` + name + `','KeySchema':[`
	for i, k := range strings.Fields(keys) {
		if i > 0 {
			body += ","
		}
		body += `{'AttributeName':'` + k + `','KeyType':'` + []string{"HASH", "RANGE", "RANGE"}[i] + `'}`
	}
	return body + `]` + rest + `}`
}

func TestCreateIndexes(t *testing.T) {
	t.Parallel()
	const (
		demand = `,'BillingMode':'PAY_PER_REQUEST'`
		units  = `,'ProvisionedThroughput':{'ReadCapacityUnits':1,'WriteCapacityUnits':2}`
		all    = `,'Projection':{'ProjectionType':'ALL'}`
	)
	include := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("'n", i, "'")
		}
		return `,'Projection':{'ProjectionType':'INCLUDE','NonKeyAttributes':[` + strings.Join(names, ",") + `]}`
	}
	many := func(n int, keys, rest string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = indexBody(fmt.Sprint("index-", i), keys, rest)
		}
		return strings.Join(list, ",")
	}
	global := func(indexes string) string { return `,'GlobalSecondaryIndexes':[` + indexes + `]` }
	local := func(indexes string) string { return `,'LocalSecondaryIndexes':[` + indexes + `]` }
	s := start(t)
	for name, body := range map[string]string{
		"global":      indexTable("global", "a", demand+global(indexBody("i_.-", "a", all))),
		"both":        indexTable("both", "a b", demand+global(indexBody("one", "a b", all))+local(indexBody("two", "id b", all))),
		"keys":        indexTable("keys", "", demand+global(indexBody("turned", "sk id", all)+","+indexBody("same", "id", all))),
		"most":        indexTable("most", "a", demand+global(many(20, "a", include(5)))),
		"mostlocal":   indexTable("mostlocal", "a", demand+local(many(5, "id a", include(20)))),
		"long":        indexTable("long", "a", demand+global(indexBody(strings.Repeat("x", 255), "a", all))),
		"provisioned": indexTable("provisioned", "a", units+global(indexBody("one", "a", all+units))+local(indexBody("two", "id a", all))),
		"explicit":    indexTable("explicit", "a", `,'BillingMode':'PROVISIONED'`+units+global(indexBody("one", "a", all+units+`,'WarmThroughput':{}`))),
	} {
		s.ok("CreateTable", body)
		s.ok("DeleteTable", `{'TableName':'`+name+`'}`)
	}
	const parameter = "One or more parameter values were invalid: "
	for body, want := range map[string]string{
		indexTable("new", "a", demand+global("")):                                                                                                parameter + "List of GlobalSecondaryIndexes is empty",
		indexTable("new", "a", demand+local("")):                                                                                                 parameter + "List of LocalSecondaryIndexes is empty",
		indexTable("new", "a", demand+global(indexBody("", "a", all))):                                                                           "globalSecondaryIndexes.1.member.indexName",
		indexTable("new", "a", demand+global(indexBody("ab", "a", all))):                                                                         "Member must have length greater than or equal to 3",
		indexTable("new", "a", demand+global(indexBody(strings.Repeat("x", 256), "a", all))):                                                     "Member must have length less than or equal to 255",
		indexTable("new", "a", demand+global(indexBody("a b c", "a", all))):                                                                      "regular expression pattern",
		indexTable("new", "a b", demand+global(indexBody("one", "a", all)+","+indexBody("one", "b", all))):                                       parameter + "Duplicate index name: one",
		indexTable("new", "a", demand+global(indexBody("one", "a", all))+local(indexBody("one", "id a", all))):                                   parameter + "Duplicate index name: one",
		indexTable("new", "", demand+global(indexBody("one", "a", all))):                                                                         parameter + "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [id, sk]",
		indexTable("new", "a b", demand+global(indexBody("one", "a", all))):                                                                      parameter + "Some AttributeDefinitions are not used. AttributeDefinitions: [id, sk, a, b], keys used: [a, id, sk]",
		indexTable("new", "a", demand+global(indexBody("one", "a a", all))):                                                                      "same name",
		indexTable("new", "a", demand+global(indexBody("one", "", all))):                                                                         "Member must have length from 1 to 2",
		indexTable("new", "a", demand+global(strings.ReplaceAll(indexBody("one", "a", all), "HASH", "RANGE"))):                                   "The first KeySchemaElement is not a HASH key type",
		indexTable("new", "a", demand+global(strings.ReplaceAll(indexBody("one", "a id", all), "RANGE", "HASH"))):                                "The second KeySchemaElement is not a RANGE key type",
		indexTable("new", "a", demand+global(strings.ReplaceAll(indexBody("one", "a", all), "HASH", "SORT"))):                                    "Member must satisfy enum value set: [HASH, RANGE]",
		indexTable("new", "a b c", demand+global(indexBody("one", "a b c", all))):                                                                "does not implement the parameter KeySchema with more than one attribute",
		indexTable("new", "a", demand+global(indexBody("one", "a", ""))):                                                                         "globalSecondaryIndexes.1.member.projection'",
		indexTable("new", "a", demand+global(`{'IndexName':'one'`+all+`}`)):                                                                      "globalSecondaryIndexes.1.member.keySchema'",
		indexTable("new", "a", demand+global(indexBody("one", "a", `,'Projection':{}`))):                                                         parameter + "Unknown ProjectionType: null",
		indexTable("new", "a", demand+global(indexBody("one", "a", `,'Projection':{'ProjectionType':'SOME'}`))):                                  "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]",
		indexTable("new", "a", demand+global(indexBody("one", "a", `,'Projection':{'ProjectionType':'INCLUDE'}`))):                               parameter + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
		indexTable("new", "a", demand+global(indexBody("one", "a", `,'Projection':{'ProjectionType':'INCLUDE','NonKeyAttributes':[]}`))):         "Member must have length greater than or equal to 1",
		indexTable("new", "a", demand+global(indexBody("one", "a", strings.ReplaceAll(include(1), "INCLUDE", "ALL")))):                           parameter + "ProjectionType is ALL, but NonKeyAttributes is specified",
		indexTable("new", "a", demand+global(indexBody("one", "a", strings.ReplaceAll(include(1), "INCLUDE", "KEYS_ONLY")))):                     parameter + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
		indexTable("new", "a", demand+global(indexBody("one", "a", strings.ReplaceAll(include(1), "n0", "")))):                                   "nonKeyAttributes.1.member",
		indexTable("new", "a", demand+global(indexBody("one", "a", include(21)))):                                                                "Member must have length less than or equal to 20",
		indexTable("new", "a", demand+global(many(5, "a", include(20))+","+indexBody("one", "a", include(1)))):                                   "per-table limit of 100",
		indexTable("new", "a", demand+global(many(21, "a", all))):                                                                                parameter + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
		indexTable("new", "a", demand+local(many(6, "id a", all))):                                                                               parameter + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
		indexTable("new", "a", demand+local(indexBody("one", "id", all))):                                                                        parameter + "Index KeySchema does not have a range key for index: one",
		indexTable("new", "a", demand+local(indexBody("one", "a sk", all))):                                                                      parameter + "Index KeySchema does not have the same leading hash key as table KeySchema for index: one. index hash key: a, table hash key: id",
		strings.Replace(indexTable("new", "", demand+local(indexBody("one", "id sk", all))), `,{'AttributeName':'sk','KeyType':'RANGE'}`, "", 1): parameter + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
		indexTable("new", "a", demand+global(indexBody("one", "a", all+units))):                                                                  parameter + "ProvisionedThroughput should not be specified for index: one when BillingMode is PAY_PER_REQUEST",
		indexTable("new", "a", units+global(indexBody("one", "a", all))):                                                                         parameter + "ProvisionedThroughput must be specified for index: one",
		indexTable("new", "a", units+global(indexBody("one", "a", all+strings.Replace(units, "1", "0", 1)))):                                     "globalSecondaryIndexes.1.member.provisionedThroughput",
		indexTable("new", "a", demand+local(indexBody("one", "id a", all+units))):                                                                "does not implement the parameter ProvisionedThroughput",
		indexTable("new", "a", demand+global(indexBody("one", "a", all+`,'IndexStatus':'ACTIVE'`))):                                              "does not implement the parameter IndexStatus",
	} {
		s.wantError("CreateTable", body, "ValidationException", want)
	}
	s.want(s.ok("ListTables", `{}`), `{'TableNames':['hhh','rrr']}`)
}

// What a table was made with is what it is described with, to the end.
func TestCreateIndexes_Described(t *testing.T) {
	t.Parallel()
	s := start(t)
	const units = `'ProvisionedThroughput':{'ReadCapacityUnits':1,'WriteCapacityUnits':2`
	body := indexTable("new", "a", `,`+units+`},'GlobalSecondaryIndexes':[`+indexBody("one", "a", `,'Projection':{'ProjectionType':'KEYS_ONLY'},`+units+`}`)+`]`)
	created := s.ok("CreateTable", body)
	deleted := s.ok("DeleteTable", `{'TableName':'new'}`)
	for status, got := range map[string]string{"ACTIVE": created, "DELETING": deleted} {
		_, got, _ = strings.Cut(got, `"GlobalSecondaryIndexes":`)
		s.want(strings.TrimSuffix(got, "}}"), `[{'IndexName':'one','KeySchema':[{'AttributeName':'a','KeyType':'HASH'}],'Projection':{'ProjectionType':'KEYS_ONLY'},
			'IndexStatus':'`+status+`',`+units+`,'NumberOfDecreasesToday':0},'IndexArn':'arn:aws:dynamodb:us-east-1:000000000000:table/new/index/one','ItemCount':0,'IndexSizeBytes':0}]`)
	}
}

package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

// What can't be in an index can't be in its table.
func TestIndexKeys_Rejected(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	s.ok("CreateTable", `{'TableName':'bbb','BillingMode':'PAY_PER_REQUEST',
		'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'},{'AttributeName':'b','AttributeType':'B'}],
		'KeySchema':[{'AttributeName':'id','KeyType':'HASH'}],
		'GlobalSecondaryIndexes':[{'IndexName':'bin','KeySchema':[{'AttributeName':'b','KeyType':'HASH'}],'Projection':{'ProjectionType':'KEYS_ONLY'}}]}`)
	const (
		invalidKey  = "One or more parameter values were invalid: "
		notValid    = "One or more parameter values are not valid. "
		putEmpty    = notValid + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: "
		updateEmpty = notValid + "The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty "
		tooLarge    = "The update expression attempted to update the secondary index key beyond allowed size limits"
		unsupported = "The update expression attempted to update the secondary index key to unsupported type"
	)
	s.ok("PutItem", `{'TableName':'iii','Item':{'id':{'S':'a'},'sk':{'N':'1'},'n':{'N':'1'},'hollow':{'S':''},'lengthy':{'S':'`+strings.Repeat("x", 2049)+`'}}}`)
	before := s.ok("Scan", `{'TableName':'iii'}`)
	put := func(member string) string {
		return `{'TableName':'iii','Item':{'id':{'S':'a'},'sk':{'N':'1'},` + member + `}}`
	}
	update := func(expression, value string) string {
		body := `{'TableName':'iii','Key':{'id':{'S':'a'},'sk':{'N':'1'}},'UpdateExpression':'` + expression + `'`
		if value != "" {
			body += `,'ExpressionAttributeValues':{':v':` + value + `}`
		}
		return body + `}`
	}
	text := func(n int) string { return `{'S':'` + strings.Repeat("x", n) + `'}` }
	for _, c := range []struct {
		verb, body, want string
		outright         bool // even in a transaction, whose other errors of this kind are reasons
	}{
		// all comes before inc by name; a key that is not complete counts, too.
		{"Put", put(`'g':{'N':'5'}`), invalidKey + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all", false},
		{"Put", put(`'gs':{'S':'5'}`), invalidKey + "Type mismatch for Index Key gs Expected: N Actual: S IndexName: inc", false},
		{"Put", put(`'gs':{'NULL':true}`), invalidKey + "Type mismatch for Index Key gs Expected: N Actual: NULL IndexName: inc", false},
		{"Put", put(`'ls':{'L':[]}`), invalidKey + "Type mismatch for Index Key ls Expected: S Actual: L IndexName: loc", false},
		{"Put", put(`'g':{'S':''}`), putEmpty + "all, IndexKey: g", true},
		{"Put", put(`'ls':{'S':''}`), putEmpty + "loc, IndexKey: ls", true},
		{"Put", put(`'g':` + text(2049)), invalidKey + "Size of hashkey has exceeded the maximum size limit of2048 bytes", false},
		{"Put", put(`'ls':` + text(1025)), invalidKey + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes", false},
		{"Update", update("SET g = :v", `{'N':'5'}`), invalidKey + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all", false},
		{"Update", update("SET g = :v", `{'S':''}`), updateEmpty + "string value.", true},
		{"Update", update("SET g = :v", text(2049)), tooLarge, false},
		{"Update", update("SET ls = :v", text(1025)), tooLarge, false},
		{"Update", update("SET g = n", ""), unsupported, false},
		{"Update", update("SET g = if_not_exists(g, :v)", `{'N':'5'}`), unsupported, false},
		{"Update", update("ADD ls :v", `{'N':'5'}`), unsupported, false},
		{"Update", update("SET g = hollow", ""), updateEmpty + "string value.", false},
		{"Update", update("SET g = lengthy", ""), tooLarge, false},
		{"Put", `{'TableName':'bbb','Item':{'id':{'S':'a'},'b':{'B':''}}}`, "cannot contain an empty binary value. IndexName: bin, IndexKey: b", true},
		{"Update", `{'TableName':'bbb','Key':{'id':{'S':'a'}},'UpdateExpression':'SET b = :v','ExpressionAttributeValues':{':v':{'B':''}}}`, updateEmpty + "binary value.", true},
	} {
		s.wantError(c.verb+"Item", c.body, "ValidationException", c.want)
		whole := transaction("", `{'`+c.verb+`':`+c.body+`}`)
		if c.outright {
			s.wantError("TransactWriteItems", whole, "ValidationException", c.want)
		} else if r := s.wantError("TransactWriteItems", whole, "TransactionCanceledException", "[ValidationError]"); !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s: %s, want %s", whole, r.Body, c.want)
		}
		if c.verb == "Put" {
			table, item, _ := strings.Cut(c.body[len(`{'TableName':'`):], `','Item':`)
			batch := fmt.Sprintf(`{'RequestItems':{'%s':[{'PutRequest':{'Item':%s}}]}}`, table, item[:len(item)-1])
			s.wantError("BatchWriteItem", batch, "ValidationException", c.want)
		}
	}
	s.want(s.ok("Scan", `{'TableName':'iii'}`), before)
	s.wantEntries("", "", "")

	// The limits themselves are no fault, nor is a value that is no index's key, or only in a map of that name.
	s.ok("PutItem", put(`'g':`+text(2048)+`,'gs':{'N':'1'},'ls':`+text(1024)+`,'p':{'S':''},'m':{'M':{}}`))
	s.ok("UpdateItem", update("SET m.g = :v", `{'N':'5'}`))
	s.wantError("UpdateItem", update("SET g.m = :v", `{'N':'5'}`), "ValidationException", "document path")
	s.wantEntries("a/1", "a/1", "a/1")
	s.ok("UpdateItem", update("SET p = :v", `{'N':'5'}`))
}

package dynamo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// startIndexed is a server with a table more: iii, with the key id and sk (N), two global indexes and a local one.
//
//	all   g, every attribute
//	inc   g and gs (N), with p besides the keys
//	loc   id and ls, the keys alone
func startIndexed(t *testing.T) *server {
	t.Helper()
	s := start(t)
	s.ok("CreateTable", createIndexed)
	return s
}

const createIndexed = `{'TableName':'iii','BillingMode':'PAY_PER_REQUEST',
	'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'},{'AttributeName':'sk','AttributeType':'N'},
		{'AttributeName':'g','AttributeType':'S'},{'AttributeName':'gs','AttributeType':'N'},{'AttributeName':'ls','AttributeType':'S'}],
	'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'sk','KeyType':'RANGE'}],
	'GlobalSecondaryIndexes':[
		{'IndexName':'inc','KeySchema':[{'AttributeName':'g','KeyType':'HASH'},{'AttributeName':'gs','KeyType':'RANGE'}],
			'Projection':{'ProjectionType':'INCLUDE','NonKeyAttributes':['p']}},
		{'IndexName':'all','KeySchema':[{'AttributeName':'g','KeyType':'HASH'}],'Projection':{'ProjectionType':'ALL'}}],
	'LocalSecondaryIndexes':[
		{'IndexName':'loc','KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'ls','KeyType':'RANGE'}],
			'Projection':{'ProjectionType':'KEYS_ONLY'}}]}`

// indexed is an item of table iii; rest are further members, as "g:x gs:1", numbers for gs.
func indexed(id string, sk int, rest string) string {
	item := fmt.Sprintf(`{'id':{'S':'%s'},'sk':{'N':'%d'}`, id, sk)
	for member := range strings.FieldsSeq(rest) {
		name, value, _ := strings.Cut(member, ":")
		kind := "S"
		if name == "gs" {
			kind = "N"
		}
		item += fmt.Sprintf(`,'%s':{'%s':'%s'}`, name, kind, value)
	}
	return item + "}"
}

func (s *server) putIndexed(id string, sk int, rest string) {
	s.t.Helper()
	s.ok("PutItem", `{'TableName':'iii','Item':`+indexed(id, sk, rest)+`}`)
}

// entries are the keys of what a scan of the index shows, as "id/sk", in order.
func (s *server) entries(index string) []string {
	s.t.Helper()
	keys := s.all(`{'TableName':'iii','IndexName':'` + index + `'`)
	slices.Sort(keys)
	return keys
}

// wantEntries compares what the three indexes have, each as "a/1 b/2".
func (s *server) wantEntries(all, inc, loc string) {
	s.t.Helper()
	for index, want := range map[string]string{"all": all, "inc": inc, "loc": loc} {
		if got := strings.Join(s.entries(index), " "); got != want {
			s.t.Errorf("index %s has %q, want %q", index, got, want)
		}
	}
}

// An item is in an index if and only if it has all attributes of the index's key, whoever wrote it.
func TestIndex_Sparse(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	keyed := func(rest string) string { return `{'TableName':'iii','Key':` + indexed("a", 1, "") + rest + `}` }
	update := func(expression string) {
		t.Helper()
		s.ok("UpdateItem", keyed(`,'UpdateExpression':'`+expression+`'`))
	}
	s.putIndexed("a", 1, "v:x")
	s.wantEntries("", "", "")
	s.putIndexed("a", 1, "g:x")
	s.wantEntries("a/1", "", "")
	s.putIndexed("a", 1, "g:x gs:5 ls:y")
	s.wantEntries("a/1", "a/1", "a/1")
	update("REMOVE gs")
	s.wantEntries("a/1", "", "a/1")
	update("SET gs = sk REMOVE g")
	s.wantEntries("", "", "a/1")
	update("SET g = ls")
	s.wantEntries("a/1", "a/1", "a/1")
	s.ok("DeleteItem", keyed(""))
	s.wantEntries("", "", "")

	s.ok("TransactWriteItems", transaction("",
		`{'Put':{'TableName':'iii','Item':`+indexed("a", 1, "g:x gs:5")+`}}`,
		`{'Update':{'TableName':'iii','Key':`+indexed("b", 2, "")+`,'UpdateExpression':'SET ls = :v','ExpressionAttributeValues':{':v':{'S':'l'}}}}`))
	s.wantEntries("a/1", "a/1", "b/2")
	s.ok("TransactWriteItems", transaction("",
		`{'Delete':`+keyed("")+`}`,
		`{'ConditionCheck':{'TableName':'iii','Key':`+indexed("b", 2, "")+`,'ConditionExpression':'attribute_exists(ls)'}}`))
	s.wantEntries("", "", "b/2")

	s.ok("BatchWriteItem", `{'RequestItems':{'iii':[{'PutRequest':{'Item':`+indexed("c", 3, "g:x")+`}},{'DeleteRequest':{'Key':`+indexed("b", 2, "")+`}}]}}`)
	s.wantEntries("c/3", "", "")

	s.ok("UpdateTimeToLive", `{'TableName':'iii','TimeToLiveSpecification':{'AttributeName':'gs','Enabled':true}}`)
	s.putIndexed("d", 4, fmt.Sprint("g:x ls:y gs:", s.clock.Unix()))
	s.wantEntries("c/3 d/4", "d/4", "d/4")
	s.clock = s.clock.Add(time.Second)
	s.Sweep(s.clock)
	s.wantEntries("c/3", "", "")
}

func TestIndex_Query(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	// Ties in an index come in the order of the table's keys.
	for _, i := range []int{4, 2, 0, 3, 1} {
		s.putIndexed("q", i, fmt.Sprintf("g:x gs:%d ls:l%d p:p%d v:v%d", i/2, 9-i, i, i))
	}
	s.putIndexed("other", 7, "g:x gs:1 ls:l5")
	s.putIndexed("other", 8, "g:y gs:1")
	const values = `,'ExpressionAttributeValues':{':x':{'S':'x'}%s}`
	for _, c := range []struct{ index, condition, more, rest, want string }{
		{"all", "g = :x", "", "", "701234"},
		{"all", "g = :x", "", ",'ScanIndexForward':false", "432107"},
		{"inc", "g = :x", "", "", "017234"},
		{"inc", "g = :x", "", ",'ScanIndexForward':false", "432710"},
		{"inc", "g = :x AND gs = :n", ",':n':{'N':'1'}", "", "723"},
		{"inc", "g = :x AND gs BETWEEN :n AND :m", ",':n':{'N':'1'},':m':{'N':'2'}", "", "7234"},
		{"inc", "g = :x AND gs > :n", ",':n':{'N':'0'}", ",'Limit':2", "72"},
		{"loc", "id = :x", "", "", ""},
		{"loc", "id = :q", ",':q':{'S':'q'}", "", "43210"},
		{"loc", "id = :q AND begins_with(ls, :p)", ",':p':{'S':'l7'},':q':{'S':'q'}", ",'ConsistentRead':true", "2"},
		{"inc", "g = :x", ",':q':{'S':'q'}", ",'FilterExpression':'id = :q AND p <> :q'", "01234"}, // the table's key is no key here
	} {
		value := fmt.Sprintf(values, c.more)
		if !strings.Contains(c.condition, ":x") {
			value = strings.Replace(value, "':x':{'S':'x'},", "", 1)
		}
		p := s.page("Query", `{'TableName':'iii','IndexName':'`+c.index+`','KeyConditionExpression':'`+c.condition+`'`+value+c.rest+`}`)
		if p.sorts() != c.want || p.Count != len(c.want) {
			t.Errorf("%s: %s%s: %s, count %d, want %s", c.index, c.condition, c.rest, p.sorts(), p.Count, c.want)
		}
	}
	s.want(s.ok("Query", `{'TableName':'iii','IndexName':'inc','KeyConditionExpression':'g = :x','ExpressionAttributeValues':{':x':{'S':'x'}},'Limit':1}`),
		`{'Items':[`+indexed("q", 0, "g:x gs:0 p:p0")+`],'Count':1,'ScannedCount':1,'LastEvaluatedKey':`+indexed("q", 0, "g:x gs:0")+`}`)
}

// Pages of any size go over the whole once, also where all entries have the same key in the index.
func TestIndex_Pages(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	var want []string
	for i := range 40 {
		id := fmt.Sprint("p", i%3)
		s.putIndexed(id, i, "g:same gs:7 ls:same")
		want = append(want, fmt.Sprint(id, "/", i))
	}
	slices.Sort(want)
	for _, index := range []string{"all", "inc", "loc"} {
		query := `{'TableName':'iii','IndexName':'` + index + `','KeyConditionExpression':'g = :g','ExpressionAttributeValues':{':g':{'S':'same'}}`
		if index == "loc" {
			query = `{'TableName':'iii','IndexName':'loc','KeyConditionExpression':'id = :p','ExpressionAttributeValues':{':p':{'S':'p1'}}`
		}
		whole := s.paged("Query", query)
		for _, rest := range []string{`,'Limit':1`, `,'Limit':7`, `,'ScanIndexForward':false,'Limit':3`} {
			got := s.paged("Query", query+rest)
			if strings.Contains(rest, "false") {
				slices.Reverse(got)
			}
			if !slices.Equal(got, whole) {
				t.Errorf("%s%s: %v, want %v", index, rest, got, whole)
			}
		}
		for _, segments := range []int{1, 3, 64} {
			var got []string
			for i := range segments {
				got = append(got, s.all(fmt.Sprintf(`{'TableName':'iii','IndexName':'%s','Limit':3,'Segment':%d,'TotalSegments':%d`, index, i, segments))...)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s in %d segments: %v, want %v", index, segments, got, want)
			}
		}
	}
}

func TestIndex_Shows(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	const rest = "g:x gs:1 ls:l p:p v:v"
	s.putIndexed("q", 1, rest)
	whole := indexed("q", 1, rest)
	query := func(index, rest string) string {
		on := "g"
		if index == "loc" {
			on = "id"
		}
		return fmt.Sprintf(`{'TableName':'iii','IndexName':'%s','KeyConditionExpression':'%s = :v','ExpressionAttributeValues':{':v':{'S':'%s'}}%s}`,
			index, on, map[string]string{"g": "x", "id": "q"}[on], rest)
	}
	for _, c := range []struct{ index, rest, want string }{
		{"all", "", whole},
		{"all", ",'Select':'ALL_ATTRIBUTES'", whole},
		{"all", ",'Select':'ALL_PROJECTED_ATTRIBUTES'", whole},
		{"all", ",'ProjectionExpression':'v, id'", `{'id':{'S':'q'},'v':{'S':'v'}}`},
		{"inc", "", indexed("q", 1, "g:x gs:1 p:p")},
		{"inc", ",'Select':'ALL_PROJECTED_ATTRIBUTES'", indexed("q", 1, "g:x gs:1 p:p")},
		{"inc", ",'Select':'SPECIFIC_ATTRIBUTES','ProjectionExpression':'p, sk'", `{'sk':{'N':'1'},'p':{'S':'p'}}`},
		{"inc", ",'Select':'COUNT'", ""},
		{"loc", "", indexed("q", 1, "ls:l")},
		{"loc", ",'Select':'ALL_PROJECTED_ATTRIBUTES'", indexed("q", 1, "ls:l")},
		{"loc", ",'Select':'ALL_ATTRIBUTES'", whole},                                 // fetched from the table
		{"loc", ",'ProjectionExpression':'v, ls'", `{'ls':{'S':'l'},'v':{'S':'v'}}`}, // fetched from the table
		{"loc", ",'Select':'COUNT'", ""},
	} {
		want := `{'Items':[` + c.want + `],'Count':1,'ScannedCount':1}`
		if c.want == "" {
			want = `{'Count':1,'ScannedCount':1}`
		}
		s.want(s.ok("Query", query(c.index, c.rest)), want)
		scan := fmt.Sprintf(`{'TableName':'iii','IndexName':'%s'%s}`, c.index, c.rest)
		s.want(s.ok("Scan", scan), want)
	}
	// A scan's filter finds absent what the index does not show.
	s.want(s.ok("Scan", `{'TableName':'iii','IndexName':'inc','FilterExpression':'attribute_exists(v)'}`), `{'Items':[],'Count':0,'ScannedCount':1}`)
	s.want(s.ok("Scan", `{'TableName':'iii','IndexName':'inc','FilterExpression':'attribute_exists(g)'}`), `{'Items':[`+indexed("q", 1, "g:x gs:1 p:p")+`],'Count':1,'ScannedCount':1}`)
}

func TestIndex_ReadsRejected(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	const (
		invalidStart = "The provided starting key is invalid"
		onlyKey      = "Filter Expression can only contain non-primary key attributes: Primary key attribute: "
	)
	for _, c := range []struct{ operation, index, condition, rest, want string }{
		{"Query", "none", "g = :x", "", "The table does not have the specified index: none"},
		{"Scan", "none", "", "", "The table does not have the specified index: none"},
		{"Query", "x", "g = :x", "", "Member must have length greater than or equal to 3"},
		{"Query", "all", "g = :x", ",'ConsistentRead':true", "Consistent reads are not supported on global secondary indexes"},
		{"Scan", "inc", "", ",'ConsistentRead':true", "Consistent reads are not supported on global secondary indexes"},
		{"Query", "inc", "g = :x", ",'Select':'ALL_ATTRIBUTES'", "Select type ALL_ATTRIBUTES is not supported for global secondary index inc because its projection type is not ALL"},
		{"Scan", "inc", "", ",'Select':'ALL_ATTRIBUTES'", "Select type ALL_ATTRIBUTES is not supported for global secondary index inc"},
		{"Query", "inc", "g = :x", ",'ProjectionExpression':'v, p, w.a, w.b'", "One or more parameter values were invalid: Global secondary index inc does not project [v, w]"},
		{"Scan", "inc", "", ",'ProjectionExpression':'v'", "Global secondary index inc does not project [v]"},
		{"Query", "all", "g = :x", ",'Select':'ALL_PROJECTED_ATTRIBUTES','ProjectionExpression':'v'", "Cannot specify the ProjectionExpression when choosing to get ALL_PROJECTED_ATTRIBUTES"},
		{"Query", "", "id = :x", ",'Select':'ALL_PROJECTED_ATTRIBUTES'", "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"},
		{"Query", "inc", "g = :x", ",'FilterExpression':'gs = :x'", onlyKey + "gs"},
		{"Query", "loc", "id = :x", ",'FilterExpression':'ls = :x'", onlyKey + "ls"},
		{"Query", "inc", "g = :x", ",'FilterExpression':'w = :x OR v = :x OR p = :x'", "Secondary index inc does not project one or more filter attributes: [v, w]"},
		{"Query", "loc", "id = :x", ",'FilterExpression':'v = :x'", "Secondary index loc does not project one or more filter attributes: [v]"},
		{"Query", "inc", "id = :x", "", "Query condition missed key schema element: g"},
		{"Query", "inc", "g = :x AND gs = :x", "", "Condition parameter type does not match schema type"},
		{"Query", "loc", "id = :x AND sk = :x", "", "Query condition missed key schema element: id"},
		{"Query", "inc", "g = :x", ",'ExclusiveStartKey':" + indexed("a", 1, ""), invalidStart},
		{"Query", "inc", "g = :x", ",'ExclusiveStartKey':{'g':{'S':'x'},'gs':{'N':'1'}}", invalidStart},
		{"Query", "inc", "g = :x", ",'ExclusiveStartKey':" + indexed("a", 1, "g:x gs:1 p:p"), invalidStart},
		{"Query", "inc", "g = :x", ",'ExclusiveStartKey':{'id':{'S':'a'},'sk':{'N':'1'},'g':{'S':'x'},'gs':{'S':'1'}}", invalidStart},
		{"Query", "inc", "g = :x", ",'ExclusiveStartKey':" + indexed("a", 1, "g:y gs:1"), "The provided starting key is outside query boundaries based on provided conditions"},
		{"Query", "loc", "id = :x AND ls > :x", ",'ExclusiveStartKey':" + indexed("x", 1, "ls:x"), "The provided starting key does not match the range key predicate"},
		{"Scan", "inc", "", ",'ExclusiveStartKey':" + indexed("a", 1, ""), invalidStart},
		{"Scan", "all", "", ",'ExclusiveStartKey':" + indexed("a", 1, "g:x") + ",'Segment':63,'TotalSegments':64", "correct Segment"},
	} {
		body := `{'TableName':'iii'` + c.rest
		if c.index != "" {
			body += `,'IndexName':'` + c.index + `'`
		}
		if c.operation == "Query" {
			body += `,'KeyConditionExpression':'` + c.condition + `','ExpressionAttributeValues':{':x':{'S':'x'}}`
		}
		s.wantError(c.operation, body+`}`, "ValidationException", c.want)
	}
}

func TestIndex_Description(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	s.putIndexed("a", 1, "g:xy gs:5 p:pp v:v")
	s.putIndexed("a", 2, "ls:l g:x")
	var d struct {
		Table struct{ GlobalSecondaryIndexes, LocalSecondaryIndexes []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(s.ok("DescribeTable", `{'TableName':'iii'}`)), &d); err != nil {
		t.Fatal(err)
	}
	const arn = `'IndexArn':'arn:aws:dynamodb:us-east-1:000000000000:table/iii/index/`
	if len(d.Table.GlobalSecondaryIndexes) != 2 || len(d.Table.LocalSecondaryIndexes) != 1 {
		t.Fatalf("described %+v", d)
	}
	s.want(string(d.Table.GlobalSecondaryIndexes[0]), `{'IndexName':'inc','IndexStatus':'ACTIVE',`+arn+`inc','ItemCount':1,'IndexSizeBytes':17,
		'KeySchema':[{'AttributeName':'g','KeyType':'HASH'},{'AttributeName':'gs','KeyType':'RANGE'}],
		'Projection':{'ProjectionType':'INCLUDE','NonKeyAttributes':['p']},
		'ProvisionedThroughput':{'ReadCapacityUnits':0,'WriteCapacityUnits':0,'NumberOfDecreasesToday':0}}`)
	s.want(string(d.Table.GlobalSecondaryIndexes[1]), `{'IndexName':'all','IndexStatus':'ACTIVE',`+arn+`all','ItemCount':2,'IndexSizeBytes':31,
		'KeySchema':[{'AttributeName':'g','KeyType':'HASH'}],'Projection':{'ProjectionType':'ALL'},
		'ProvisionedThroughput':{'ReadCapacityUnits':0,'WriteCapacityUnits':0,'NumberOfDecreasesToday':0}}`)
	s.want(string(d.Table.LocalSecondaryIndexes[0]), `{'IndexName':'loc',`+arn+`loc','ItemCount':1,'IndexSizeBytes':10,
		'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'ls','KeyType':'RANGE'}],'Projection':{'ProjectionType':'KEYS_ONLY'}}`)
}

// What a request is about, for the call log and for policies.
func TestIndex_Resource(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	for _, operation := range []string{"Query", "Scan"} {
		for body, want := range map[string]string{
			`{"TableName":"iii"}`:                   "arn:aws:dynamodb:us-east-1:000000000000:table/iii",
			`{"TableName":"iii","IndexName":"inc"}`: "arn:aws:dynamodb:us-east-1:000000000000:table/iii/index/inc",
		} {
			r := s.Parse(operation, []byte(body))
			if r.Resource() != want || !slices.Equal(r.Actions, []string{"dynamodb:" + operation}) || !slices.Equal(r.Tables, []string{"iii"}) {
				t.Errorf("%s %s needs %v on %s, want %s", operation, body, r.Actions, r.Resource(), want)
			}
		}
	}
	if r := s.Parse("ListTables", []byte(`{}`)); r.Resource() != "*" {
		t.Errorf("ListTables is about %s", r.Resource())
	}
}

// Index keys may be of any scalar type, and may be the table's own keys.
func TestIndex_KeyTypes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("CreateTable", `{'TableName':'kkk','BillingMode':'PAY_PER_REQUEST',
		'AttributeDefinitions':[{'AttributeName':'id','AttributeType':'S'},{'AttributeName':'sk','AttributeType':'N'},
			{'AttributeName':'n','AttributeType':'N'},{'AttributeName':'b','AttributeType':'B'}],
		'KeySchema':[{'AttributeName':'id','KeyType':'HASH'},{'AttributeName':'sk','KeyType':'RANGE'}],
		'GlobalSecondaryIndexes':[
			{'IndexName':'number','KeySchema':[{'AttributeName':'n','KeyType':'HASH'},{'AttributeName':'b','KeyType':'RANGE'}],'Projection':{'ProjectionType':'ALL'}},
			{'IndexName':'binary','KeySchema':[{'AttributeName':'b','KeyType':'HASH'},{'AttributeName':'n','KeyType':'RANGE'}],'Projection':{'ProjectionType':'ALL'}},
			{'IndexName':'turned','KeySchema':[{'AttributeName':'sk','KeyType':'HASH'},{'AttributeName':'id','KeyType':'RANGE'}],'Projection':{'ProjectionType':'KEYS_ONLY'}}]}`)
	for i, member := range []string{`'n':{'N':'1.0'},'b':{'B':'/w=='}`, `'n':{'N':'1'},'b':{'B':'AQI='}`, `'n':{'N':'10e-1'},'b':{'B':'AQ=='}`, `'n':{'N':'-2'},'b':{'B':'AQ=='}`, `'n':{'N':'10'},'b':{'B':'AQ=='}`} {
		s.ok("PutItem", fmt.Sprintf(`{'TableName':'kkk','Item':{'id':{'S':'k%d'},'sk':{'N':'%d'},%s}}`, 9-i, i, member))
	}
	s.ok("PutItem", `{'TableName':'kkk','Item':{'id':{'S':'a'},'sk':{'N':'0'}}}`)
	for _, c := range []struct{ index, condition, value, want string }{
		{"number", "n = :v", `{'N':'1.00'}`, "k7/2 k8/1 k9/0"}, // bytes are unsigned, and a prefix comes first
		{"binary", "b = :v", `{'B':'AQ=='}`, "k6/3 k7/2 k5/4"},
		{"turned", "sk = :v", `{'N':'0.0'}`, "a/0 k9/0"},
	} {
		got := s.paged("Query", `{'TableName':'kkk','IndexName':'`+c.index+`','Limit':1,'KeyConditionExpression':'`+c.condition+`','ExpressionAttributeValues':{':v':`+c.value+`}`)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.index, got, c.want)
		}
	}
	s.want(s.ok("Query", `{'TableName':'kkk','IndexName':'turned','Limit':1,'KeyConditionExpression':'sk = :v','ExpressionAttributeValues':{':v':{'N':'0'}}}`),
		`{'Items':[{'id':{'S':'a'},'sk':{'N':'0'}}],'Count':1,'ScannedCount':1,'LastEvaluatedKey':{'id':{'S':'a'},'sk':{'N':'0'}}}`)
}

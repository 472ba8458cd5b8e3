package dynamo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fill puts ten items with the sort keys 0 to 9 under q, and one under another key.
func (s *server) fill() {
	s.t.Helper()
	for _, i := range []int{5, 3, 9, 0, 1, 7, 2, 8, 6, 4} {
		s.ok("PutItem", fmt.Sprintf(`{'TableName':'rrr','Item':{'id':{'S':'q'},'sk':{'N':'%d'},'v':{'S':'v%d'}}}`, i, i%2))
	}
	s.ok("PutItem", `{'TableName':'rrr','Item':{'id':{'S':'other'},'sk':{'N':'5'}}}`)
}

type pageReply struct {
	Items []struct {
		ID struct{ S string } `json:"id"`
		SK struct{ N string } `json:"sk"`
	}
	Count, ScannedCount int
	LastEvaluatedKey    json.RawMessage
}

func (s *server) page(operation, body string) pageReply {
	s.t.Helper()
	var p pageReply
	if err := json.Unmarshal([]byte(s.ok(operation, body)), &p); err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (p pageReply) sorts() string {
	var b strings.Builder
	for _, it := range p.Items {
		b.WriteString(it.SK.N)
	}
	return b.String()
}

func TestQuery(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.fill()
	const vals = `,'ExpressionAttributeValues':{':q':{'S':'q'}%s}`
	for _, c := range []struct{ condition, more, rest, want string }{
		{"id = :q", "", "", "0123456789"},
		{":q = id", "", "", "0123456789"},
		{"id = :q", "", ",'ScanIndexForward':false", "9876543210"},
		{"id = :q AND sk = :a", ",':a':{'N':'4'}", "", "4"},
		{"sk = :a AND id = :q", ",':a':{'N':'4.0'}", "", "4"},
		{"id = :q AND sk < :a", ",':a':{'N':'4'}", "", "0123"},
		{"id = :q AND sk <= :a", ",':a':{'N':'4'}", "", "01234"},
		{"id = :q AND sk > :a", ",':a':{'N':'4'}", ",'ScanIndexForward':false", "98765"},
		{"id = :q AND :a >= sk", ",':a':{'N':'4'}", "", "01234"},
		{"(id = :q) AND (sk >= :a)", ",':a':{'N':'8'}", "", "89"},
		{"id = :q AND sk BETWEEN :a AND :b", ",':a':{'N':'2'},':b':{'N':'4'}", "", "234"},
		{"id = :q", ",':v':{'S':'v1'}", ",'FilterExpression':'v = :v'", "13579"},
		{"id = :q", "", ",'Limit':3", "012"},
		{"id = :q", "", ",'Limit':3,'ExclusiveStartKey':{'id':{'S':'q'},'sk':{'N':'2'}}", "345"},
		{"id = :q", "", ",'Limit':3,'ExclusiveStartKey':{'id':{'S':'q'},'sk':{'N':'2.5'}},'ScanIndexForward':false", "210"},
		{"id = :q AND sk < :a", ",':a':{'N':'4'}", ",'ExclusiveStartKey':{'id':{'S':'q'},'sk':{'N':'1'}}", "23"},
	} {
		p := s.page("Query", `{'TableName':'rrr','KeyConditionExpression':'`+c.condition+`'`+fmt.Sprintf(vals, c.more)+c.rest+`}`)
		if p.sorts() != c.want || p.Count != len(c.want) {
			t.Errorf("%s%s: %s, count %d, want %s", c.condition, c.rest, p.sorts(), p.Count, c.want)
		}
	}
	s.want(s.ok("Query", `{'TableName':'rrr','KeyConditionExpression':'id = :q','FilterExpression':'v = :v','Limit':4,'Select':'COUNT','ExpressionAttributeValues':{':q':{'S':'q'},':v':{'S':'v1'}}}`),
		`{'Count':2,'ScannedCount':4,'LastEvaluatedKey':{'id':{'S':'q'},'sk':{'N':'3'}}}`)
	s.want(s.ok("Query", `{'TableName':'rrr','KeyConditionExpression':'id = :q','ExpressionAttributeValues':{':q':{'S':'none'}},'ReturnConsumedCapacity':'TOTAL'}`),
		`{'Items':[],'Count':0,'ScannedCount':0,'ConsumedCapacity':{'TableName':'rrr','CapacityUnits':0.5}}`)
	s.want(s.ok("Query", `{'TableName':'rrr','KeyConditionExpression':'id = :q AND sk = :a','ProjectionExpression':'v','ExpressionAttributeValues':{':q':{'S':'q'},':a':{'N':'3'}}}`),
		`{'Items':[{'v':{'S':'v1'}}],'Count':1,'ScannedCount':1}`)
}

func TestQuery_Rejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	for condition, want := range map[string]string{
		"sk = :n":                          "Query condition missed key schema element: id",
		"v = :q":                           "Query condition missed key schema element: id",
		"id = :q AND v = :q":               "Query condition missed key schema element: id",
		"id < :q":                          "Query key condition not supported",
		"begins_with(id, :q)":              "Query key condition not supported",
		"id = :n":                          "Condition parameter type does not match schema type",
		"id = :q AND sk = :q":              "Condition parameter type does not match schema type",
		"id = :q AND begins_with(sk, :q)":  "Condition parameter type does not match schema type",
		"id = :q AND sk <> :n":             "Unsupported operator in KeyConditionExpression",
		"id = :q OR sk = :n":               "Invalid operator used in KeyConditionExpression",
		"NOT id = :q":                      "Invalid operator used in KeyConditionExpression",
		"id = :q AND sk IN (:n)":           "Invalid operator used in KeyConditionExpression",
		"id = :q AND attribute_exists(sk)": "Invalid operator used in KeyConditionExpression",
		"id = :q AND sk = :n AND v = :q":   "Invalid operator used in KeyConditionExpression",
		"id = :q AND id = :q":              "KeyConditionExpressions must only contain one condition per key",
		"id = :q AND sk > :n AND sk < :n":  "Invalid operator used in KeyConditionExpression",
		"id.x = :q":                        "nested attributes",
		"id = sk":                          "constant",
		"size(id) = :n":                    "nested attributes",
		"id = :e":                          "empty string value. Key: id",
		"id =":                             "Invalid KeyConditionExpression: Syntax error",
		"":                                 "Invalid KeyConditionExpression: The expression can not be empty;",
	} {
		var used []string
		for _, v := range []string{"':q':{'S':'q'}", "':n':{'N':'1'}", "':e':{'S':''}"} {
			if strings.Contains(condition, v[1:3]) {
				used = append(used, v)
			}
		}
		body := `{'TableName':'rrr','KeyConditionExpression':'` + condition + `'`
		if used != nil {
			body += `,'ExpressionAttributeValues':{` + strings.Join(used, ",") + `}`
		}
		s.wantError("Query", body+`}`, "ValidationException", want)
	}
	ok := `{'TableName':'rrr','KeyConditionExpression':'id = :q','ExpressionAttributeValues':{':q':{'S':'q'}}`
	for rest, want := range map[string]string{
		`,'FilterExpression':'sk > :q'`:                        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
		`,'Limit':0`:                                           "Member must have value greater than or equal to 1",
		`,'Select':'ALL_PROJECTED_ATTRIBUTES'`:                 "IndexName",
		`,'Select':'SPECIFIC_ATTRIBUTES'`:                      "Must specify the ProjectionExpression",
		`,'Select':'COUNT','ProjectionExpression':'v'`:         "Cannot specify the ProjectionExpression when choosing to get COUNT",
		`,'Select':'SOME'`:                                     "Member must satisfy enum value set",
		`,'ExclusiveStartKey':{'id':{'S':'q'}}`:                "The provided starting key is invalid",
		`,'ExclusiveStartKey':{'id':{'S':'x'},'sk':{'N':'1'}}`: "The provided starting key is outside query boundaries based on provided conditions",
		`,'IndexName':'none'`:                                  "The table does not have the specified index: none",
	} {
		s.wantError("Query", ok+rest+`}`, "ValidationException", want)
	}
	s.wantError("Query", `{'TableName':'rrr'}`, "ValidationException", "KeyConditionExpression parameter must be specified")
}

// all pages through a scan and gives the keys in the order in which they came.
func (s *server) all(body string) []string {
	s.t.Helper()
	return s.paged("Scan", body)
}

func (s *server) paged(operation, body string) []string {
	s.t.Helper()
	var keys []string
	next := ""
	for range 10_000 {
		p := s.page(operation, body+next+`}`)
		for _, it := range p.Items {
			keys = append(keys, it.ID.S+"/"+it.SK.N)
		}
		if p.LastEvaluatedKey == nil {
			return keys
		}
		next = `,'ExclusiveStartKey':` + string(p.LastEvaluatedKey)
	}
	s.t.Fatal("endless pages")
	return nil
}

func TestScan_PagesAndSegments(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := map[string]bool{}
	for i := range 500 {
		id, sk := fmt.Sprint("p", i/3), i%3
		s.ok("PutItem", fmt.Sprintf(`{'TableName':'rrr','Item':{'id':{'S':'%s'},'sk':{'N':'%d'}}}`, id, sk))
		want[fmt.Sprint(id, "/", sk)] = true
	}
	whole := s.all(`{'TableName':'rrr'`)
	check := func(what string, keys []string) {
		t.Helper()
		if len(keys) != len(want) || !maps.Equal(want, set(keys)) {
			t.Errorf("%s: %d keys, %d different ones, want %d", what, len(keys), len(set(keys)), len(want))
		}
	}
	check("one page", whole)
	for _, limit := range []int{1, 7, 500, 501} {
		if paged := s.all(fmt.Sprintf(`{'TableName':'rrr','Limit':%d`, limit)); !slices.Equal(paged, whole) {
			t.Errorf("pages of %d differ from the whole", limit)
		}
	}
	for _, segments := range []int{1, 2, 5, 64, 1000} {
		var keys []string
		most := 0
		for i := range segments {
			part := s.all(fmt.Sprintf(`{'TableName':'rrr','Limit':9,'Segment':%d,'TotalSegments':%d`, i, segments))
			most = max(most, len(part))
			keys = append(keys, part...)
		}
		check(fmt.Sprint(segments, " segments"), keys)
		if segments == 2 && most > 350 {
			t.Errorf("one of two segments has %d of 500 items", most)
		}
	}
}

func set(keys []string) map[string]bool {
	m := map[string]bool{}
	for _, k := range keys {
		m[k] = true
	}
	return m
}

// A page ends at 1 MB, whatever the filter lets through.
func TestScan_PageSize(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 5 {
		s.ok("PutItem", fmt.Sprintf(`{'TableName':'hhh','Item':{'id':{'S':'%d'},'d':{'S':'%s'}}}`, i, strings.Repeat("x", 300_000)))
	}
	p := s.page("Scan", `{'TableName':'hhh','FilterExpression':'attribute_not_exists(d)'}`)
	if p.Count != 0 || p.ScannedCount != 4 || p.LastEvaluatedKey == nil {
		t.Errorf("page %+v", p)
	}
	p = s.page("Scan", `{'TableName':'hhh','ExclusiveStartKey':`+string(p.LastEvaluatedKey)+`}`)
	if p.Count != 1 || p.LastEvaluatedKey != nil {
		t.Errorf("second page: %d, %s", p.Count, p.LastEvaluatedKey)
	}
}

func TestScan_Rejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	for rest, want := range map[string]string{
		`,'Segment':0`:                         "The TotalSegments parameter is required",
		`,'TotalSegments':2`:                   "The Segment parameter is required",
		`,'Segment':2,'TotalSegments':2`:       "Segment: 2 is not less than TotalSegments: 2",
		`,'Segment':0,'TotalSegments':0`:       "totalSegments",
		`,'ExclusiveStartKey':{'x':{'S':'k'}}`: "The provided starting key is invalid",
		`,'FilterExpression':''`:               "Invalid FilterExpression: The expression can not be empty;",
		`,'FilterExpression':'status = :v'`:    "Invalid FilterExpression: Attribute name is a reserved keyword; reserved keyword: status",
		`,'ScanFilter':{}`:                     "does not implement the parameter ScanFilter",
	} {
		s.wantError("Scan", `{'TableName':'hhh'`+rest+`}`, "ValidationException", want)
	}
	s.wantError("Scan", `{'TableName':'none'}`, "ResourceNotFoundException", "")
}

func TestBatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ok("PutItem", putBody(`{'id':{'S':'old'}}`))
	put := func(id string) string { return `{'PutRequest':{'Item':{'id':{'S':'` + id + `'},'v':{'S':'x'}}}}` }
	key := func(id string) string { return `{'id':{'S':'` + id + `'}}` }
	write := func(requests ...string) string {
		return `{'RequestItems':{'hhh':[` + strings.Join(requests, ",") + `]}}`
	}
	get := func(keys ...string) string {
		return `{'RequestItems':{'hhh':{'Keys':[` + strings.Join(keys, ",") + `],'ProjectionExpression':'id'}}}`
	}
	s.want(s.ok("BatchWriteItem", write(put("a"), put("b"), `{'DeleteRequest':{'Key':`+key("old")+`}}`)), `{'UnprocessedItems':{}}`)
	s.want(s.ok("BatchGetItem", get(key("a"), key("old"), key("b"))), `{'Responses':{'hhh':[`+key("a")+`,`+key("b")+`]},'UnprocessedKeys':{}}`)

	half := s.Parse("BatchWriteItem", []byte(strings.ReplaceAll(write(put("c"), put("d"), put("e")), "'", `"`)))
	if !half.Hold() {
		t.Error("no batch")
	}
	s.want(string(s.Apply(half).Body), `{'UnprocessedItems':{'hhh':[`+put("d")+`,`+put("e")+`]}}`)
	half = s.Parse("BatchGetItem", []byte(strings.ReplaceAll(get(key("c"), key("a")), "'", `"`)))
	half.Hold()
	s.want(string(s.Apply(half).Body), `{'Responses':{'hhh':[`+key("c")+`]},'UnprocessedKeys':{'hhh':{'Keys':[`+key("a")+`],'ProjectionExpression':'id'}}}`)

	many := func(n int, f func(string) string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = f(fmt.Sprint("m", i))
		}
		return list
	}
	s.ok("BatchWriteItem", write(many(25, put)...))
	s.ok("BatchGetItem", get(many(100, key)...))
	for body, want := range map[string]string{
		`{}`:                      "Value null at 'requestItems'",
		`{'RequestItems':{}}`:     "The requestItems parameter is required for BatchWriteItem",
		write():                   "Member must have length greater than or equal to 1",
		write(many(26, put)...):   "Member must have length less than or equal to 25",
		write(put("a"), put("a")): "Provided list of item keys contains duplicates",
		write(put("")):            "empty string value. Key: id",
		write(`{'PutRequest':{'Item':{'id':{'N':'1'}}}}`): "The provided key element does not match the schema",
		write(`{'PutRequest':{'Item':{'x':{'N':'1'}}}}`):  "The provided key element does not match the schema",
		write(`{}`): "Exactly one of PutRequest and DeleteRequest",
	} {
		s.wantError("BatchWriteItem", body, "ValidationException", want)
	}
	for body, want := range map[string]string{
		`{}`:                    "Value null at 'requestItems'",
		`{'RequestItems':{}}`:   "The requestItems parameter is required for BatchGetItem",
		get():                   "Member must not be null",
		get(many(101, key)...):  "Too many items requested for the BatchGetItem call",
		get(key("a"), key("a")): "Provided list of item keys contains duplicates",
		get(`{'x':{'S':'a'}}`):  "The provided key element does not match the schema",
	} {
		s.wantError("BatchGetItem", body, "ValidationException", want)
	}
}

// A table may be named by its ARN; the log, and the faults that look for it, have its name.
func TestRequest_TablesByARN(t *testing.T) {
	t.Parallel()
	s := start(t)
	arn := func(table string) string { return "arn:aws:dynamodb:us-east-1:000000000000:table/" + table }
	for operation, body := range map[string]string{
		"GetItem":            `{'TableName':'<r>','Key':{'id':{'S':'k'},'sk':{'N':'1'}}}`,
		"Query":              `{'TableName':'<r>'}`, // refused, as the next one
		"Scan":               `{'TableName':'<r>','Segment':1}`,
		"BatchGetItem":       `{'RequestItems':{'<r>':{'Keys':[{'id':{'S':'k'},'sk':{'N':'1'}}]}}}`,
		"BatchWriteItem":     `{'RequestItems':{'<r>':[{'PutRequest':{'Item':{'id':{'S':'k'},'sk':{'N':'1'}}}}],'hhh':[{'DeleteRequest':{'Key':{'id':{'S':'k'}}}}]}}`,
		"TransactWriteItems": `{'TransactItems':[{},{'Delete':{'TableName':'<r>','Key':{'id':{'S':'k'},'sk':{'N':'1'}}}}]}`, // refused before it comes to the table
		"TransactGetItems":   `{'TransactItems':[{'Get':{'TableName':'<r>','Key':{'id':{'S':'k'},'sk':{'N':'1'}}}}]}`,
	} {
		want := []string{"rrr"}
		if operation == "BatchWriteItem" {
			want = []string{"hhh", "rrr"}
		}
		r := s.Parse(operation, []byte(strings.NewReplacer("'", `"`, "<r>", arn("rrr")).Replace(body)))
		if !slices.Equal(r.Tables, want) {
			t.Errorf("%s: tables %v, want %v", operation, r.Tables, want)
		}
	}
}

// A reply of more than 16 MB hands the rest back.
func TestBatchGet_ReplySize(t *testing.T) {
	t.Parallel()
	s := start(t)
	big := stringValue(strings.Repeat("x", 400_000))
	var keys []string
	for i := range 50 {
		id := fmt.Sprint(i)
		s.tables["hhh"].contents.put(key{hash: id}, newItem(attrs{"id": stringValue(id), "d": big}))
		keys = append(keys, `{'id':{'S':'`+id+`'}}`)
	}
	body := s.ok("BatchGetItem", `{'RequestItems':{'hhh':{'Keys':[`+strings.Join(keys, ",")+`]}}}`)
	got, rest := strings.Count(body, `"d":`), strings.Count(body, `{"id":`)
	if got != 41 || rest != 9 || len(body) < 16_000_000 || len(body) > maxBatchReply {
		t.Errorf("%d items and %d unprocessed keys in %d bytes, want 41 and 9", got, rest, len(body))
	}
}

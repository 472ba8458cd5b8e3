package dynamo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// server is an engine with two tables: h has the partition key id, r the sort key sk besides.
type server struct {
	t testing.TB
	*Engine
	clock time.Time
}

func start(tb testing.TB) *server {
	tb.Helper()
	s := &server{t: tb, clock: time.Unix(1_700_000_000, 0)}
	s.Engine = New(func() time.Time { return s.clock })
	s.ok("CreateTable", `{"TableName":"hhh","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`)
	s.ok("CreateTable", `{"TableName":"rrr","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}`)
	return s
}

// do sends a request; ' stands for " in its body.
func (s *server) do(operation, body string) Reply {
	return s.Apply(s.Parse(operation, []byte(strings.ReplaceAll(body, "'", `"`))))
}

// ok sends a request that must succeed, and gives the reply.
func (s *server) ok(operation, body string) string {
	s.t.Helper()
	r := s.do(operation, body)
	if r.Code != "" {
		s.t.Fatalf("%s %s: %s", operation, body, r.Body)
	}
	return string(r.Body)
}

// wantError sends a request that must fail with the code and with a message that has the text in it.
func (s *server) wantError(operation, body, code, text string) Reply {
	s.t.Helper()
	r := s.do(operation, body)
	if r.Code != code {
		s.t.Errorf("%s %s:\n got %d %s\nwant %s", operation, body, r.Status, r.Body, code)
	} else if got := r.message(); !strings.Contains(got, text) {
		s.t.Errorf("%s %s:\n got %s\nwant %s", operation, body, got, text)
	}
	return r
}

// message is the text of an error.
func (r Reply) message() string {
	var m struct{ Message string } // in either spelling
	_ = json.Unmarshal(r.Body, &m)
	return m.Message
}

// quote writes s as JSON.
func quote(s string) string { return string(appendString(nil, s)) }

// want compares two JSON texts; ' stands for " in the wanted one.
func (s *server) want(got, want string) {
	s.t.Helper()
	g, w := normal(s.t, got), normal(s.t, strings.ReplaceAll(want, "'", `"`))
	if g != w {
		s.t.Errorf("\n got %s\nwant %s", g, w)
	}
}

func normal(tb testing.TB, s string) string {
	tb.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		tb.Fatalf("%s: %v", s, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// item is the stored item of table hhh with the id k.
func (s *server) item() string {
	s.t.Helper()
	return s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ConsistentRead':true}`)
}

const sample = `{'id':{'S':'k'},'s':{'S':'hello world'},'n':{'N':'5'},'b':{'B':'AQID'},'t':{'BOOL':true},'z':{'NULL':true},
	'l':{'L':[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]}]},
	'm':{'M':{'x':{'N':'1'},'y':{'L':[{'M':{'q':{'S':'in'}}}]},'dot.ted':{'S':'d'}}},
	'ss':{'SS':['p','q']},'ns':{'NS':['1','2.50']},'bs':{'BS':['AQ==','Ag==']},'e':{'S':''},
	'status':{'S':'INPROGRESS'},'same':{'S':'hello world'},'part':{'S':'world'}}`

// put stores the sample.
func (s *server) put() {
	s.t.Helper()
	s.ok("PutItem", `{'TableName':'hhh','Item':`+sample+`}`)
}

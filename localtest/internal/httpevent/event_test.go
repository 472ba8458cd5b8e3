package httpevent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

var update = flag.Bool("update", false, "write testdata anew")

const requestID = "0f3c2b1a-9d8e-4c7b-a6f5-e4d3c2b1a098"

var noon = time.Date(2026, time.March, 12, 12, 0, 0, 345e6, time.UTC)

func open(tb testing.TB, cfg Config) *Door {
	tb.Helper()
	d, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// request is what a server makes of the text.
func request(tb testing.TB, text string) *http.Request {
	tb.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body)))
	if err != nil {
		tb.Fatal(err)
	}
	r.RemoteAddr = "203.0.113.7:54321"
	return r
}

func read(tb testing.TB, d *Door, r *http.Request) *Request {
	tb.Helper()
	in, refusal := d.Read(r, requestID, noon)
	if refusal != nil {
		tb.Fatalf("refused: %d %s", refusal.Status, refusal.Body)
	}
	return in
}

func event[T any](tb testing.TB, d *Door, text string, id Identity) T {
	tb.Helper()
	payload, refusal, err := d.Event(read(tb, d, request(tb, text)), id)
	if refusal != nil || err != nil {
		tb.Fatalf("refused: %+v, error %v", refusal, err)
	}
	var ev T
	if err := json.Unmarshal(payload, &ev); err != nil {
		tb.Fatalf("%v in %s", err, payload)
	}
	return ev
}

const post = `POST /prod/payments/a%20b%2Fc?x=1&y=a%3Db+c&x=2 HTTP/1.1
Host: pay.example.com:8443
User-Agent: curl/8.9
Content-Type: application/json
Content-Length: 9
Connection: keep-alive, X-Hop
X-Hop: 1
IDEMPOTENCY-KEY: "k1"
idempotency-key: k2
Cookie: a=1; b=2
Cookie: c=3
X-Forwarded-For: 198.51.100.1

{"n":"<"}`

// The fixtures were written by -update, and checked by hand against the documentation of each door.
func TestEvent_Fixtures(t *testing.T) {
	t.Parallel()
	iam := &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
		AccessKey: "AKIA", AccountID: "111122223333", CallerID: "AIDA", UserARN: "arn:aws:iam::111122223333:user/u", UserID: "AIDA",
		CognitoIdentity: events.APIGatewayV2HTTPRequestContextAuthorizerCognitoIdentity{IdentityID: "us-east-1:1"},
	}
	plain := *iam
	plain.CognitoIdentity = events.APIGatewayV2HTTPRequestContextAuthorizerCognitoIdentity{}
	unstaged := strings.Replace(post, "/prod/", "/", 1)
	for _, row := range []struct {
		name string
		cfg  Config
		text string
		id   Identity
		into any
	}{
		{
			"rest",
			Config{Kind: RESTAPI, Routes: []string{"POST /payments/{id}"}},
			post,
			Identity{PrincipalID: "user-1", Context: map[string]any{"tenant": "acme"}, APIKeyID: "key-1"},
			new(events.APIGatewayProxyRequest),
		},
		{"rest-cognito", Config{Kind: RESTAPI}, post, Identity{Claims: map[string]string{"sub": "s-1"}}, new(events.APIGatewayProxyRequest)},
		{"rest-iam", Config{Kind: RESTAPI}, post, Identity{IAM: iam}, new(events.APIGatewayProxyRequest)},
		{
			"http",
			Config{Kind: HTTPAPI, Routes: []string{"POST /payments/{id+}"}, Stage: "prod"},
			post,
			Identity{Claims: map[string]string{"sub": "s-1", "iss": "https://id.example.com"}, Scopes: []string{"pay"}},
			new(events.APIGatewayV2HTTPRequest),
		},
		{"http-default", Config{Kind: HTTPAPI}, unstaged, Identity{Context: map[string]any{"tenant": "acme"}}, new(events.APIGatewayV2HTTPRequest)},
		{"url", Config{Kind: FunctionURL}, unstaged, Identity{IAM: &plain}, new(events.LambdaFunctionURLRequest)},
		{"alb", Config{Kind: ALB}, unstaged, Identity{}, new(events.ALBTargetGroupRequest)},
		{"alb-multi", Config{Kind: ALB, MultiValueHeaders: true}, unstaged, Identity{}, new(events.ALBTargetGroupRequest)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, row.cfg)
			payload, refusal, err := d.Event(read(t, d, request(t, row.text)), row.id)
			if refusal != nil || err != nil {
				t.Fatalf("refused: %+v, error %v", refusal, err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, payload, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", row.name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("event\n%s\nwant\n%s", &got, want)
			}
			dec := json.NewDecoder(bytes.NewReader(payload))
			if row.cfg.Kind != FunctionURL { // which has members that its Go type leaves out
				dec.DisallowUnknownFields()
			}
			if err := dec.Decode(row.into); err != nil {
				t.Errorf("the handler's type does not take it: %v", err)
			}
		})
	}
}

// The header's name in any case, once and twice, as each door delivers it.
func TestEvent_IdempotencyKey(t *testing.T) {
	t.Parallel()
	type seen struct {
		Headers           map[string]string
		MultiValueHeaders map[string][]string
	}
	one := "POST / HTTP/1.1\nHost: h\niDeMpOtEnCy-KeY: k1\n\n"
	two := "POST / HTTP/1.1\nHost: h\nidempotency-key: k1\nIDEMPOTENCY-KEY: k2\n\n"
	for _, row := range []struct {
		cfg      Config
		text     string
		name     string
		want     string
		wantList []string
	}{
		{Config{Kind: RESTAPI, Routes: []string{"POST /"}}, one, "Idempotency-Key", "k1", []string{"k1"}},
		{Config{Kind: RESTAPI, Routes: []string{"POST /"}}, two, "Idempotency-Key", "k2", []string{"k1", "k2"}},
		{Config{Kind: HTTPAPI}, one, "idempotency-key", "k1", nil},
		{Config{Kind: HTTPAPI}, two, "idempotency-key", "k1,k2", nil},
		{Config{Kind: FunctionURL}, one, "idempotency-key", "k1", nil},
		{Config{Kind: FunctionURL}, two, "idempotency-key", "k1,k2", nil},
		{Config{Kind: ALB}, one, "idempotency-key", "k1", nil},
		{Config{Kind: ALB}, two, "idempotency-key", "k2", nil},
		{Config{Kind: ALB, MultiValueHeaders: true}, one, "idempotency-key", "", []string{"k1"}},
		{Config{Kind: ALB, MultiValueHeaders: true}, two, "idempotency-key", "", []string{"k1", "k2"}},
	} {
		text := strings.Replace(row.text, "POST / ", "POST "+open(t, row.cfg).Prefix()+"/ ", 1)
		ev := event[seen](t, open(t, row.cfg), text, Identity{})
		if got := ev.Headers[row.name]; got != row.want {
			t.Errorf("%v %v: %q, want %q; headers %v", row.cfg.Kind, row.cfg.MultiValueHeaders, got, row.want, ev.Headers)
		}
		if got := ev.MultiValueHeaders[row.name]; !reflect.DeepEqual(got, row.wantList) {
			t.Errorf("%v %v: %q, want %q", row.cfg.Kind, row.cfg.MultiValueHeaders, got, row.wantList)
		}
	}
}

// A server hands on canonical names; a test that calls the handler itself may write others.
func TestEvent_NamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	r := request(t, "POST /prod/x HTTP/1.1\nHost: h\n\n")
	r.Header["idempotency-key"], r.Header["IDEMPOTENCY-KEY"] = []string{"small"}, []string{"capital"}
	d := open(t, Config{Kind: RESTAPI})
	rest := d.event(d, read(t, d, r), Identity{}).(events.APIGatewayProxyRequest)
	if rest.Headers["idempotency-key"] != "small" || rest.Headers["IDEMPOTENCY-KEY"] != "capital" {
		t.Errorf("REST headers %v, want both names as they were written", rest.Headers)
	}
	d = open(t, Config{Kind: HTTPAPI})
	v2 := d.event(d, read(t, d, r), Identity{}).(events.APIGatewayV2HTTPRequest)
	if got := v2.Headers["idempotency-key"]; got != "capital,small" {
		t.Errorf("HTTP API: %q", got)
	}
}

func TestEvent_Body(t *testing.T) {
	t.Parallel()
	type seen struct {
		Body            string
		IsBase64Encoded bool
	}
	plain, encoded := seen{"body", false}, seen{"Ym9keQ==", true}
	binary := []string{"image/*", "application/PDF"}
	for _, row := range []struct {
		cfg    Config
		header string
		want   seen
	}{
		{Config{Kind: HTTPAPI}, "Content-Type: application/json; charset=utf-8", plain},
		{Config{Kind: HTTPAPI}, "Content-Type: TEXT/html", plain},
		{Config{Kind: HTTPAPI}, "Content-Type: application/xml", plain},
		{Config{Kind: HTTPAPI}, "Content-Type: application/javascript", plain},
		{Config{Kind: HTTPAPI}, "Content-Type: application/x-www-form-urlencoded", encoded},
		{Config{Kind: HTTPAPI}, "Content-Type: application/octet-stream", encoded},
		{Config{Kind: HTTPAPI}, "Content-Type: application/problem+json", encoded},
		{Config{Kind: HTTPAPI}, "X: none", encoded},
		{Config{Kind: FunctionURL}, "Content-Type: text/plain", plain},
		{Config{Kind: FunctionURL}, "Content-Type: image/png", encoded},
		{Config{Kind: ALB}, "Content-Type: text/plain", plain},
		{Config{Kind: ALB}, "Content-Type: text/plain\nContent-Encoding: gzip", encoded},
		{Config{Kind: ALB}, "Content-Type: image/png", encoded},
		{Config{Kind: RESTAPI}, "Content-Type: image/png", plain},
		{Config{Kind: RESTAPI, BinaryMediaTypes: binary}, "Content-Type: image/png", encoded},
		{Config{Kind: RESTAPI, BinaryMediaTypes: binary}, "Content-Type: application/pdf; x=y", encoded},
		{Config{Kind: RESTAPI, BinaryMediaTypes: binary}, "Content-Type: imagery/png", plain},
		{Config{Kind: RESTAPI, BinaryMediaTypes: binary}, "X: none", plain},
		{Config{Kind: RESTAPI, BinaryMediaTypes: []string{"*/*"}}, "X: none", encoded},
		{Config{Kind: RESTAPI, BinaryMediaTypes: []string{"application/json"}}, "X: none", encoded},
	} {
		d := open(t, row.cfg)
		text := "POST " + d.Prefix() + "/x HTTP/1.1\nHost: h\nContent-Length: 4\n" + row.header + "\n\nbody"
		if got := event[seen](t, d, text, Identity{}); got != row.want {
			t.Errorf("%v %v, %s: %+v, want %+v", row.cfg.Kind, row.cfg.BinaryMediaTypes, row.header, got, row.want)
		}
		text = "GET " + d.Prefix() + "/x HTTP/1.1\nHost: h\n" + row.header + "\n\n"
		if got := event[seen](t, d, text, Identity{}); got != (seen{}) {
			t.Errorf("%v, no body: %+v", row.cfg.Kind, got)
		}
	}
}

func TestEvent_Query(t *testing.T) {
	t.Parallel()
	const text = "GET /?a%5B%5D=1%2B2&a%5B%5D=&&b=%zz&c=x+y HTTP/1.1\nHost: h\n\n"
	v2 := event[events.APIGatewayV2HTTPRequest](t, open(t, Config{Kind: HTTPAPI}), text, Identity{})
	if want := (map[string]string{"a[]": "1+2,", "b": "%zz", "c": "x y"}); !reflect.DeepEqual(v2.QueryStringParameters, want) {
		t.Errorf("HTTP API: %q, want %q", v2.QueryStringParameters, want)
	}
	if want := "a%5B%5D=1%2B2&a%5B%5D=&&b=%zz&c=x+y"; v2.RawQueryString != want {
		t.Errorf("raw %q, want %q", v2.RawQueryString, want)
	}
	lb := event[events.ALBTargetGroupRequest](t, open(t, Config{Kind: ALB, MultiValueHeaders: true}), text, Identity{})
	want := map[string][]string{"a%5B%5D": {"1%2B2", ""}, "b": {"%zz"}, "c": {"x+y"}}
	if !reflect.DeepEqual(lb.MultiValueQueryStringParameters, want) {
		t.Errorf("ALB: %q, want %q", lb.MultiValueQueryStringParameters, want)
	}
}

// A REST API passes on texts only; an HTTP API what its authorizer said.
func TestEvent_Context(t *testing.T) {
	t.Parallel()
	said := map[string]any{"text": "<7>", "number": 7, "large": int64(9007199254740993), "half": 0.5, "yes": true}
	rest := event[events.APIGatewayProxyRequest](t, open(t, Config{Kind: RESTAPI}), "GET /prod/x HTTP/1.1\nHost: h\n\n", Identity{Context: said})
	want := map[string]any{"text": "<7>", "number": "7", "large": "9007199254740993", "half": "0.5", "yes": "true"}
	if got := rest.RequestContext.Authorizer; !reflect.DeepEqual(got, want) {
		t.Errorf("REST API: %#v, want %#v", got, want)
	}
	said["list"], said["none"] = []any{"a"}, nil
	v2 := event[events.APIGatewayV2HTTPRequest](t, open(t, Config{Kind: HTTPAPI}), "GET /x HTTP/1.1\nHost: h\n\n", Identity{Context: said})
	want = map[string]any{"text": "<7>", "number": 7.0, "large": 9007199254740992.0, "half": 0.5, "yes": true, "list": []any{"a"}, "none": nil}
	if got := v2.RequestContext.Authorizer.Lambda; !reflect.DeepEqual(got, want) {
		t.Errorf("HTTP API: %#v, want %#v", got, want)
	}
}

// An HTTP API decodes the path, once, and then looks for the route; a REST API the other way round.
func TestEvent_EscapedPath(t *testing.T) {
	t.Parallel()
	routes := []string{"GET /pay/{id}"}
	for _, row := range []struct {
		cfg    Config
		path   string
		raw    string // "": no route
		params map[string]string
	}{
		{Config{Kind: HTTPAPI, Routes: routes}, "/pay/a%20b", "/pay/a b", map[string]string{"id": "a b"}},
		{Config{Kind: HTTPAPI, Routes: routes}, "/pay/a%2Fb", "", nil},
		{Config{Kind: HTTPAPI, Routes: routes}, "/pay%2Fa", "/pay/a", map[string]string{"id": "a"}},
		{Config{Kind: HTTPAPI, Routes: routes}, "/pay/a%3Fb?c=1", "/pay/a", map[string]string{"id": "a"}},
		{Config{Kind: HTTPAPI, Routes: routes}, "/pay/a%252Fb", "/pay/a%2Fb", map[string]string{"id": "a%2Fb"}},
		{Config{Kind: HTTPAPI, Routes: routes, Stage: "v1"}, "/v1/pay/a%20b", "/v1/pay/a b", map[string]string{"id": "a b"}},
		{Config{Kind: RESTAPI, Routes: routes}, "/prod/pay/a%2Fb", "/pay/a%2Fb", map[string]string{"id": "a/b"}},
		{Config{Kind: RESTAPI, Routes: routes}, "/prod/pay/a%3Fb", "/pay/a%3Fb", map[string]string{"id": "a?b"}},
		{Config{Kind: RESTAPI, Routes: routes}, "/prod/pay%2Fa", "", nil},
	} {
		d := open(t, row.cfg)
		in, refusal := d.Read(request(t, "GET "+row.path+" HTTP/1.1\nHost: h\n\n"), requestID, noon)
		if refusal != nil {
			if row.raw != "" || refusal.Status != d.noRoute.Status {
				t.Errorf("%v %s: refused: %d", row.cfg.Kind, row.path, refusal.Status)
			}
			continue
		}
		payload, _, err := d.Event(in, Identity{})
		if err != nil {
			t.Fatal(err)
		}
		var ev struct {
			Path, RawPath  string
			PathParameters map[string]string
		}
		if err := json.Unmarshal(payload, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Path+ev.RawPath != row.raw || !reflect.DeepEqual(ev.PathParameters, row.params) {
			t.Errorf("%v %s: path %q, parameters %q; want %q, %q", row.cfg.Kind, row.path, ev.Path+ev.RawPath, ev.PathParameters, row.raw, row.params)
		}
	}
}

type iamDescription = events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription

func iam(set func(*iamDescription)) Identity {
	id := Identity{IAM: new(iamDescription)}
	set(id.IAM)
	return id
}

func TestEvent_RefusesIdentity(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind Kind
		id   Identity
		want string
	}{
		{HTTPAPI, Identity{PrincipalID: "p"}, "PrincipalID is set"},
		{RESTAPI, Identity{Scopes: []string{"s"}}, "Scopes is set"},
		{FunctionURL, Identity{Claims: map[string]string{}}, "Claims is set"},
		{HTTPAPI, Identity{APIKeyID: "k"}, "APIKeyID is set"},
		{FunctionURL, iam(func(d *iamDescription) { d.CognitoIdentity.IdentityPoolID = "p" }), "IAM.CognitoIdentity is set"},
		{FunctionURL, iam(func(d *iamDescription) { d.PrincipalOrgID = "o" }), "IAM.PrincipalOrgID is set"},
		{RESTAPI, iam(func(d *iamDescription) { d.PrincipalOrgID = "o" }), "IAM.PrincipalOrgID is set"},
		{RESTAPI, iam(func(d *iamDescription) { d.CognitoIdentity.AMR = []string{"a"} }), "IAM.CognitoIdentity.AMR is set"},
		{RESTAPI, Identity{Context: map[string]any{"f": func() {}}}, "Context must be encodable as JSON: f: "},
		{RESTAPI, Identity{Context: map[string]any{"groups": []string{"a"}}}, `Context has ["a"] for "groups", must be a text, a number or a boolean`},
		{RESTAPI, Identity{Context: map[string]any{"user": map[string]int{}}}, `Context has {} for "user"`},
		{RESTAPI, Identity{Context: map[string]any{"a": "x", "none": nil}}, `Context has null for "none"`},
		{HTTPAPI, Identity{Context: map[string]any{"f": func() {}}}, "Context must be encodable"},
	} {
		d := open(t, Config{Kind: row.kind})
		_, _, err := d.Event(read(t, d, request(t, "GET "+d.Prefix()+"/x HTTP/1.1\nHost: h\n\n")), row.id)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: error %v, want one with %q", row.kind, err, row.want)
		}
	}
}

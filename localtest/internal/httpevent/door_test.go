package httpevent

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "Kind is DoorKind(0), must be one of RESTAPI"},
		{Config{Kind: FunctionURL, Routes: []string{"$default"}}, "Routes is set, must be left out for FunctionURL"},
		{Config{Kind: ALB, Stage: "prod"}, "Stage is set"},
		{Config{Kind: ALB, Authorize: true}, "Authorize is set"},
		{Config{Kind: HTTPAPI, BinaryMediaTypes: []string{"*/*"}}, "BinaryMediaTypes is set"},
		{Config{Kind: RESTAPI, MultiValueHeaders: true}, "MultiValueHeaders is set"},
		{Config{Kind: FunctionURL, IntegrationTimeout: time.Second}, "IntegrationTimeout is set"},
		{Config{Kind: HTTPAPI, IntegrationTimeout: 31 * time.Second}, "IntegrationTimeout is 31s, must be between 50ms and 30s"},
		{Config{Kind: RESTAPI, IntegrationTimeout: time.Millisecond}, "IntegrationTimeout is 1ms"},
		{Config{Kind: RESTAPI, Stage: "$default"}, `Stage is "$default", must be`},
		{Config{Kind: HTTPAPI, Stage: "a/b"}, `Stage is "a/b"`},
		{Config{Kind: RESTAPI, BinaryMediaTypes: []string{"image"}}, `BinaryMediaTypes has "image", must be type/subtype`},
		{Config{Kind: RESTAPI, Routes: []string{"$default"}}, `Routes has "$default"`},
		{Config{Kind: HTTPAPI, Routes: []string{"/x"}}, "no such method"},
		{Config{Kind: HTTPAPI, Routes: []string{"post /x"}}, "no such method"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET x"}}, "begin with a slash"},
		{Config{Kind: HTTPAPI, Routes: []string{"POST"}}, "the path is missing"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /x?y=1"}}, "have no space, ? and #"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /{a}/{a}"}}, "a name of its own"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /{a}/{a+}"}}, "a name of its own"},
		{Config{Kind: RESTAPI, Routes: []string{"POST /{a}", "POST /{b}"}}, `"POST /{a}" and "POST /{b}"`},
		{Config{Kind: HTTPAPI, Routes: []string{"ANY /x/{a+}", "ANY /x/{b+}"}}, "they fit the same requests"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /a{id}"}}, "whole segment"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /{all+}/x"}}, "last segment"},
		{Config{Kind: HTTPAPI, Routes: []string{"GET /x", "GET /x"}}, "twice"},
	} {
		if _, err := New(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: error %v, want one with %q", row.cfg, err, row.want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	routes := []string{"ANY /{proxy+}", "ANY /pay/{id}", "POST /pay/{id}", "GET /pay/new", "GET /pay/{id}/steps/{step}"}
	for _, row := range []struct {
		kind   Kind
		method string
		path   string
		want   string
		params map[string]string
	}{
		{HTTPAPI, "POST", "/pay/7", "POST /pay/{id}", map[string]string{"id": "7"}},
		{HTTPAPI, "PUT", "/pay/7", "ANY /pay/{id}", map[string]string{"id": "7"}},
		{HTTPAPI, "GET", "/pay/new", "GET /pay/new", nil},
		{HTTPAPI, "DELETE", "/pay/new", "ANY /pay/{id}", map[string]string{"id": "new"}},
		{RESTAPI, "DELETE", "/pay/new", "", nil}, // the resource is found, and has no such method
		{RESTAPI, "GET", "/pay/a%20b/steps/c%2Fd", "GET /pay/{id}/steps/{step}", map[string]string{"id": "a b", "step": "c/d"}},
		{HTTPAPI, "GET", "/pay/a%20b/steps/c", "GET /pay/{id}/steps/{step}", map[string]string{"id": "a%20b", "step": "c"}}, // decoded before
		{HTTPAPI, "POST", "/pay/7/x", "ANY /{proxy+}", map[string]string{"proxy": "pay/7/x"}},
		{RESTAPI, "GET", "/x/y%20z/", "ANY /{proxy+}", map[string]string{"proxy": "x/y z/"}},
		{RESTAPI, "GET", "/pay/", "ANY /{proxy+}", map[string]string{"proxy": "pay/"}},
		{RESTAPI, "GET", "/", "", nil},
	} {
		rt, params, ok := open(t, Config{Kind: row.kind, Routes: routes}).find(row.method, row.path)
		if ok != (row.want != "") || rt.key != row.want || !reflect.DeepEqual(params, row.params) {
			t.Errorf("%v %s %s: %q %q, want %q %q", row.kind, row.method, row.path, rt.key, params, row.want, row.params)
		}
	}
	withDefault := open(t, Config{Kind: HTTPAPI, Routes: []string{"$default", "GET /{proxy+}", "ANY /{id}"}})
	for method, want := range map[string]string{"GET": "ANY /{id}", "POST": "ANY /{id}"} {
		if rt, _, _ := withDefault.find(method, "/x"); rt.key != want {
			t.Errorf("%s: %q, want %q", method, rt.key, want)
		}
	}
	if rt, _, _ := withDefault.find(http.MethodGet, "/"); rt.key != "$default" {
		t.Errorf("no path: %q, want $default", rt.key)
	}
}

func TestRead_Refuses(t *testing.T) {
	t.Parallel()
	large := func(n int) string { return strings.Repeat("x", n) }
	for _, row := range []struct {
		name       string
		cfg        Config
		path, body string
		status     int
		text       string
	}{
		{"no stage", Config{Kind: RESTAPI}, "/x", "", 403, `{"message":"Forbidden"}`},
		{"half a stage", Config{Kind: RESTAPI}, "/production", "", 403, `{"message":"Forbidden"}`},
		{"no resource", Config{Kind: RESTAPI, Routes: []string{"ANY /{proxy+}"}}, "/prod", "", 403, `{"message":"Missing Authentication Token"}`},
		{"no route", Config{Kind: HTTPAPI, Routes: []string{"POST /x"}}, "/y", "", 404, `{"message":"Not Found"}`},
		{"no stage", Config{Kind: HTTPAPI, Stage: "v1"}, "/y", "", 404, `{"message":"Not Found"}`},
		{"10 MB", Config{Kind: RESTAPI}, "/prod/x", large(10<<20 + 1), 413, "HTTP content length exceeded 10485760 bytes."},
		{"10 MB", Config{Kind: HTTPAPI}, "/x", large(10<<20 + 1), 413, `{"message":"Request Entity Too Large"}`},
		{"6 MB event", Config{Kind: RESTAPI}, "/prod/x", large(6 << 20), 413, `{"message":"Request Too Long"}`},
		{"6 MB event", Config{Kind: HTTPAPI}, "/x", large(5 << 20), 413, `{"message":"Request Entity Too Large"}`}, // in base64
		{"6 MB", Config{Kind: FunctionURL}, "/x", large(6<<20 + 1), 413, `{"Message":"Request must be smaller than 6291456 bytes for the InvokeFunction operation"}`},
		{"1 MB", Config{Kind: ALB}, "/x", large(1<<20 + 1), 413, "413 Request Entity Too Large"},
	} {
		t.Run(row.cfg.Kind.String()+" "+row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, row.cfg)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, row.path, strings.NewReader(row.body))
			in, refusal := d.Read(r, requestID, noon)
			if refusal == nil {
				var err error
				if _, refusal, err = d.Event(in, Identity{}); err != nil || refusal == nil {
					t.Fatalf("let in; error %v", err)
				}
			}
			if refusal.Status != row.status || !strings.Contains(string(refusal.Body), row.text) {
				t.Errorf("%d %s, want %d %s", refusal.Status, refusal.Body, row.status, row.text)
			}
		})
	}
}

// By default there is a way for everything.
func TestRead_Defaults(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/prod": "/", "/prod/": "/", "/prod/x/y": "/{proxy+}"} {
		d := open(t, Config{Kind: RESTAPI})
		if in := read(t, d, request(t, "GET "+path+" HTTP/1.1\nHost: h\n\n")); in.route.path != want {
			t.Errorf("%s: resource %s, want %s", path, in.route.path, want)
		}
	}
}

// What is just small enough gets through.
func TestRead_AtTheLimit(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Kind: ALB})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 1<<20)))
	if in := read(t, d, r); len(in.body) != 1<<20 {
		t.Errorf("%d bytes", len(in.body))
	}
}

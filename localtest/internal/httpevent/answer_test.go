package httpevent

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

var (
	restFailed = `{"message":"Internal server error"}`
	httpFailed = `{"message":"Internal Server Error"}`
	urlFailed  = "Internal Server Error"
	albFailed  = "<h1>502 Bad Gateway</h1>"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	rest, v2, url, lb := Config{Kind: RESTAPI}, Config{Kind: HTTPAPI}, Config{Kind: FunctionURL}, Config{Kind: ALB}
	multi := Config{Kind: ALB, MultiValueHeaders: true}
	image := Config{Kind: RESTAPI, BinaryMediaTypes: []string{"image/png"}}
	for _, row := range []struct {
		name    string
		cfg     Config
		payload string
		status  int
		body    string
		headers map[string][]string // some of them; nil value: not there
	}{
		{
			"full", rest, `{"statusCode":201,"headers":{"X-A":"1","Content-Type":"text/x"},"multiValueHeaders":{"X-A":["1","2"],"Set-Cookie":["a","b"]},"body":"ok"}`,
			201, "ok",
			map[string][]string{"X-A": {"1", "2"}, "Set-Cookie": {"a", "b"}, "Content-Type": {"text/x"}},
		},
		{
			"both, other values", rest, `{"statusCode":200,"headers":{"x-a":"3"},"multiValueHeaders":{"X-A":["1"]}}`,
			200, "",
			map[string][]string{"X-A": {"1", "3"}, "Content-Type": {"application/json"}},
		},
		{
			"kept headers", rest, `{"statusCode":401,"headers":{"WWW-Authenticate":"Bearer","Content-Length":"99","Transfer-Encoding":"chunked"},"body":"no"}`,
			401, "no",
			map[string][]string{
				"X-Amzn-Remapped-Www-Authenticate": {"Bearer"}, "Www-Authenticate": nil,
				"X-Amzn-Remapped-Content-Length": {"99"}, "Transfer-Encoding": nil,
			},
		},
		{"no statusCode", rest, `{"body":"x"}`, 502, restFailed, nil},
		{"unknown member", rest, `{"statusCode":200,"statusDescription":"OK"}`, 502, restFailed, nil},
		{"wrong case", rest, `{"StatusCode":200}`, 502, restFailed, nil},
		{"body an object", rest, `{"statusCode":200,"body":{}}`, 502, restFailed, nil},
		{"no object", rest, `"done"`, 502, restFailed, nil},
		{"null", rest, `null`, 502, restFailed, nil},
		{"header an object", rest, `{"statusCode":200,"headers":{"X":{}}}`, 502, restFailed, nil},
		{"base64, not binary", rest, `{"statusCode":200,"body":"AQI=","isBase64Encoded":true}`, 200, "AQI=", nil},
		{"base64, binary", image, `{"statusCode":200,"body":"AQI=","isBase64Encoded":true}`, 200, "\x01\x02", nil},
		{"broken base64", image, `{"statusCode":200,"body":"?","isBase64Encoded":true}`, 500, restFailed, nil},

		{
			"full", v2, `{"statusCode":201,"headers":{"x-a":"1","content-length":"99"},"multiValueHeaders":{"X-B":["1"]},"cookies":["a=1","b=2"],"body":"ok"}`,
			201, "ok",
			map[string][]string{
				"X-A": {"1"}, "X-B": nil, "Content-Length": nil, "Set-Cookie": {"a=1", "b=2"}, "Content-Type": {"text/plain; charset=utf-8"},
			},
		},
		{
			"texts and numbers", v2, `{"statusCode":"202","headers":{"X-N":1.50,"X-T":true,"X-0":null},"body":null,"cookies":null}`,
			202, "",
			map[string][]string{"X-N": {"1.50"}, "X-T": {"true"}, "X-0": {""}},
		},
		{"base64", v2, `{"statusCode":200,"body":"AQI=","isBase64Encoded":true}`, 200, "\x01\x02", nil},
		{"broken base64", v2, `{"statusCode":200,"body":"?","isBase64Encoded":true}`, 500, httpFailed, nil},
		{"no statusCode", v2, `{"id": 7}`, 200, `{"id": 7}`, map[string][]string{"Content-Type": {"application/json"}}},
		{"wrong case", v2, `{"StatusCode":404}`, 200, `{"StatusCode":404}`, nil},
		{"a text", v2, `"done"`, 200, `"done"`, nil},
		{"null", v2, `null`, 200, `null`, nil},
		{"no JSON", v2, `done{`, 200, `done{`, nil},
		{"impossible", v2, `{"statusCode":99}`, 500, httpFailed, nil},
		{"interim", v2, `{"statusCode":100}`, 500, httpFailed, nil},
		{"null statusCode", v2, `{"statusCode":null}`, 500, httpFailed, nil},
		{"body an object", v2, `{"statusCode":200,"body":{}}`, 500, httpFailed, nil},

		{
			"full", url, `{"statusCode":201,"headers":{"X-A":"1"},"cookies":["a=1"],"body":"ok"}`,
			201, "ok",
			map[string][]string{"X-A": {"1"}, "Set-Cookie": {"a=1"}, "Content-Type": {"application/json"}},
		},
		{"no statusCode", url, `{"id":7}`, 200, `{"id":7}`, nil},
		{"body an object", url, `{"statusCode":200,"body":[]}`, 502, urlFailed, nil},

		{
			"headers", lb, `{"statusCode":200,"statusDescription":"200 OK","headers":{"X-A":"1"},"multiValueHeaders":{"X-B":["1"]},"body":"ok"}`,
			200, "ok",
			map[string][]string{"X-A": {"1"}, "X-B": nil, "Content-Type": {"application/octet-stream"}},
		},
		{
			"lists", multi, `{"statusCode":200,"headers":{"X-A":"1"},"multiValueHeaders":{"Set-Cookie":["a","b"]},"body":"ok"}`,
			200, "ok",
			map[string][]string{"X-A": nil, "Set-Cookie": {"a", "b"}},
		},
		{"no statusCode", lb, `{"body":"x"}`, 502, albFailed, nil},
		{"broken base64", lb, `{"statusCode":200,"body":"?","isBase64Encoded":true}`, 502, albFailed, nil},
		{"1 MB", lb, `{"statusCode":200,"body":"` + strings.Repeat("x", 1<<20) + `"}`, 502, albFailed, nil},
	} {
		t.Run(row.cfg.Kind.String()+" "+row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, row.cfg)
			in := read(t, d, request(t, "GET "+d.Prefix()+"/x HTTP/1.1\nHost: h\nAccept: image/png, */*\n\n"))
			w := httptest.NewRecorder()
			d.Write(w, d.Answer(in, []byte(row.payload)), requestID)
			if w.Code != row.status || (row.body == "") != (w.Body.Len() == 0) || !strings.Contains(w.Body.String(), row.body) {
				t.Errorf("%d %.200q, want %d %q", w.Code, w.Body, row.status, row.body)
			}
			for name, want := range row.headers {
				if got := w.Header().Values(name); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if d.requestID != "" && w.Header().Get(d.requestID) != requestID {
				t.Errorf("headers %v lack the request's id", w.Header())
			}
		})
	}
}

// An answer of the door's own is the same value each time: what is written must not change it.
func TestWrite_LeavesTheAnswer(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Kind: RESTAPI})
	w := httptest.NewRecorder()
	d.Write(w, d.Failed(), requestID)
	w.Header().Set("X-Later", "1")
	if want := (http.Header{"Content-Type": {"application/json"}}); !reflect.DeepEqual(d.Failed().Header, want) {
		t.Errorf("headers of the door's answer: %v, want %v", d.Failed().Header, want)
	}
}

func TestWrite_HEAD(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Kind: HTTPAPI})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := read(t, d, r)
		if ev := d.event(d, in, Identity{}).(events.APIGatewayV2HTTPRequest); ev.RequestContext.HTTP.Method != http.MethodHead {
			t.Errorf("method %s", ev.RequestContext.HTTP.Method)
		}
		d.Write(w, d.Answer(in, []byte(`{"statusCode":200,"body":"12345"}`)), requestID)
	}))
	t.Cleanup(srv.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || resp.ContentLength != 5 {
		t.Errorf("status %d, length %d", resp.StatusCode, resp.ContentLength)
	}
}

// A trailer is what net/http makes of such a name.
func TestWrite_NoTrailer(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{Kind: RESTAPI}, {Kind: HTTPAPI}, {Kind: FunctionURL}, {Kind: ALB}} {
		d := open(t, cfg)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			d.Write(w, d.Answer(read(t, d, request(t, "GET "+d.Prefix()+"/x HTTP/1.1\nHost: h\n\n")),
				[]byte(`{"statusCode":200,"headers":{"Trailer:X":"1","X-A":"1"},"body":"12345"}`)), requestID)
		}))
		t.Cleanup(srv.Close)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(body) != "12345" || len(resp.Trailer) != 0 || resp.Header.Get("X-A") != "1" {
			t.Errorf("%v: body %q, error %v, headers %v, trailers %v", cfg.Kind, body, err, resp.Header, resp.Trailer)
		}
	}
}

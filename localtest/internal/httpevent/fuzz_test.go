package httpevent

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// No request and no answer makes a door panic, lose the method, or send what is no HTTP answer.
func FuzzDoor(f *testing.F) {
	f.Add(uint8(0), strings.ReplaceAll(post, "\n", "\r\n"), `{"statusCode":200,"headers":{"X":"1"},"cookies":["a"],"body":"AA==","isBase64Encoded":true}`)
	f.Add(uint8(1), "GET /prod/%zz?%zz=%&=;& HTTP/1.1\r\nHost: [::1\r\nCookie: ;;=\r\nContent-Type: ;/\r\n\r\n", `{"statusCode":1e3}`)
	f.Add(uint8(2), "OPTIONS * HTTP/1.1\r\nHost:\r\nConnection: ,\r\nAccept: ,\r\n\r\n", `{"statusCode":"204","headers":{"a\nb":"c\r\nd","":""}}`)
	f.Add(uint8(3), "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", `null`)
	f.Add(uint8(4), "POST http://h/p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\xff\xfe\x00\r\n0\r\n\r\n", `{"multiValueHeaders":{"X":[]},"statusCode":599}`)
	configs := []Config{
		{Kind: RESTAPI, Routes: []string{"ANY /", "ANY /{proxy+}"}, BinaryMediaTypes: []string{"image/*"}},
		{Kind: HTTPAPI, Stage: "prod", Routes: []string{"GET /{a}/{b+}", "$default"}},
		{Kind: HTTPAPI},
		{Kind: FunctionURL},
		{Kind: ALB},
		{Kind: ALB, MultiValueHeaders: true},
	}
	f.Fuzz(func(t *testing.T, door uint8, text, payload string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Skip("no HTTP request: the server would not hand it over")
		}
		d := open(t, configs[int(door)%len(configs)])
		in, refusal := d.Read(r, requestID, noon)
		if refusal != nil {
			d.Write(httptest.NewRecorder(), *refusal, requestID)
			return
		}
		ev, refusal, err := d.Event(in, Identity{})
		if err != nil || refusal != nil {
			t.Fatalf("error %v, refusal %+v", err, refusal)
		}
		var seen struct {
			HTTPMethod     string
			RequestContext struct {
				HTTP events.APIGatewayV2HTTPRequestContextHTTPDescription
			}
		}
		if err := json.Unmarshal(ev, &seen); err != nil || seen.HTTPMethod+seen.RequestContext.HTTP.Method != r.Method {
			t.Errorf("error %v, method %q in %s", err, r.Method, ev)
		}
		w := httptest.NewRecorder()
		d.Write(w, d.Answer(in, []byte(payload)), requestID)
		if w.Code < 200 || w.Code > 599 || w.Header().Get("Content-Type") == "" {
			t.Errorf("answer %d %v to %s", w.Code, w.Header(), payload)
		}
	})
}

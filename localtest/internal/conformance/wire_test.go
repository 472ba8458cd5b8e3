package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// reply is an HTTP response with its body read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// fields are the body's JSON members.
func (r reply) fields(t *testing.T) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(r.body, &fields); err != nil {
		t.Fatalf("body %.200q: %v", r.body, err)
	}
	return fields
}

// code is the code of an error's body, without the namespace.
func (r reply) code(t *testing.T) string {
	t.Helper()
	full, _ := r.fields(t)["__type"].(string)
	return full[strings.LastIndex(full, "#")+1:]
}

// send posts a body as a client without SDK would; a signature of the right shape is all that is asked for on loopback.
func send(t *testing.T, endpoint, operation string, body io.Reader) (reply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, body)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("X-Amz-Date", now.Format("20060102T150405Z"))
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=localtest/"+now.Format("20060102")+"/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=host;x-amz-date;x-amz-target, Signature="+strings.Repeat("0", 64))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, b}, err
}

// wire is a fixture that is also spoken to over HTTP.
type wire struct {
	fixture
	endpoint string
}

func newWire(t *testing.T) wire {
	t.Helper()
	f := newFixture(t)
	return wire{f, f.db.Listen(t)}
}

func (w wire) send(operation, body string) reply {
	w.Helper()
	r, err := send(w.T, w.endpoint, operation, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// get is a well-formed request for an item that is not there.
func (w wire) get() string { return `{"TableName":"` + w.table + `","Key":{"id":{"S":"absent"}}}` }

// serves checks that requests are still answered.
func (w wire) serves() {
	w.Helper()
	if r := w.send("GetItem", w.get()); r.status != http.StatusOK || string(bytes.TrimSpace(r.body)) != "{}" {
		w.Errorf("then: status %d, body %.200q", r.status, r.body)
	}
}

func (w wire) wantHeaders(r reply) {
	w.Helper()
	if got := r.header.Get("Content-Type"); got != "application/x-amz-json-1.0" {
		w.Errorf("content type %q", got)
	}
	if r.header.Get("X-Amzn-Requestid") == "" {
		w.Error("no request id")
	}
	if got, want := r.header.Get("X-Amz-Crc32"), strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.body)), 10); got != want {
		w.Errorf("checksum %q, want %q", got, want)
	}
}

func TestWire_Success(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	put := w.send("PutItem", `{"TableName":"`+w.table+`","Item":{"id":{"S":"k"},"n":{"N":"1.0"},"b":{"B":"AAE="},"t":{"S":"<&>"}}}`)
	if put.status != http.StatusOK || string(put.body) != "{}" {
		t.Errorf("put: status %d, body %q", put.status, put.body)
	}
	w.wantHeaders(put)
	got := w.send("GetItem", `{"TableName":"`+w.table+`","Key":{"id":{"S":"k"}}}`)
	w.wantHeaders(got)
	if b, _ := json.Marshal(got.fields(t)); string(b) != `{"Item":{"b":{"B":"AAE="},"id":{"S":"k"},"n":{"N":"1"},"t":{"S":"\u003c\u0026\u003e"}}}` {
		t.Errorf("get: %s", got.body)
	}
}

// An error names its type with the namespace of the service's model.
func TestWire_Error(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	for name, row := range map[string]struct{ operation, body, kind string }{
		"not-found":        {"GetItem", `{"TableName":"conformance.unknown","Key":{"id":{"S":"k"}}}`, "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"},
		"condition-failed": {"DeleteItem", w.get()[:len(w.get())-1] + `,"ConditionExpression":"attribute_exists(id)"}`, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"},
		"validation":       {"GetItem", `{"TableName":"` + w.table + `","Key":{}}`, "com.amazon.coral.validate#ValidationException"},
		"operation":        {"MakeTea", `{}`, "com.amazon.coral.service#UnknownOperationException"},
		"json":             {"GetItem", `{"TableName":`, "com.amazon.coral.service#SerializationException"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.send(row.operation, row.body)
			if got := r.fields(t)["__type"]; r.status != http.StatusBadRequest || got != row.kind {
				t.Errorf("status %d, type %q, want %q", r.status, got, row.kind)
			}
			wire{w.on(t), w.endpoint}.wantHeaders(r)
		})
	}
}

// The failed condition's old item is a member of the error's body.
func TestWire_OldItem(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.put(item{"id": "k", "n": 1})
	r := w.send("DeleteItem", `{"TableName":"`+w.table+`","Key":{"id":{"S":"k"}},"ConditionExpression":"attribute_exists(absent)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`)
	if b, _ := json.Marshal(r.fields(t)["Item"]); string(b) != `{"id":{"S":"k"},"n":{"N":"1"}}` {
		t.Errorf("body %s", r.body)
	}
	if m := r.fields(t)["message"]; m != "The conditional request failed" {
		t.Errorf("message %q", m)
	}
}

// What is no request is refused, and the next one is served.
func TestWire_Malformed(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	for name, row := range map[string]struct{ operation, body, code string }{
		"empty":             {"GetItem", "", "SerializationException"},
		"no-json":           {"GetItem", "hello", "SerializationException"},
		"cut-off":           {"GetItem", `{"TableName":"t"`, "SerializationException"},
		"array":             {"GetItem", `[]`, "SerializationException"},
		"text-as-number":    {"GetItem", `{"TableName":1}`, "SerializationException"},
		"map-as-text":       {"GetItem", `{"TableName":"` + w.table + `","Key":"k"}`, "SerializationException"},
		"number-as-number":  {"GetItem", `{"TableName":"` + w.table + `","Key":{"id":{"N":1}}}`, "SerializationException"},
		"no-base64":         {"GetItem", `{"TableName":"` + w.table + `","Key":{"id":{"B":"%"}}}`, "SerializationException"},
		"nothing-in-it":     {"GetItem", `{}`, invalid},
		"value-without":     {"GetItem", `{"TableName":"` + w.table + `","Key":{"id":{}}}`, invalid},
		"value-with-two":    {"GetItem", `{"TableName":"` + w.table + `","Key":{"id":{"S":"k","N":"1"}}}`, invalid},
		"unknown-operation": {"FrobnicateItem", `{}`, "UnknownOperationException"},
		"no-operation":      {"", `{}`, "UnknownOperationException"},
		"deep":              {"GetItem", strings.Repeat(`{"M":`, 100_000), "SerializationException"},
	} {
		t.Run(name, func(t *testing.T) {
			w := wire{w.on(t), w.endpoint}
			r := w.send(row.operation, row.body)
			if r.status != http.StatusBadRequest {
				t.Fatalf("status %d, body %.200q", r.status, r.body)
			}
			if got := r.code(t); got != row.code {
				t.Errorf("got %q, want %q", got, row.code)
			}
			w.serves()
		})
	}
}

// A body that no operation needs is refused, or cut off, and the next request is served.
func TestWire_HugeBody(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "localtest's own HTTP layer")
	w := newWire(t)
	body := io.MultiReader(strings.NewReader(`{"TableName":"`), io.LimitReader(letters{}, 17<<20), strings.NewReader(`"}`))
	r, err := send(t, w.endpoint, "GetItem", body)
	if err == nil && (r.status < 400 || r.status >= 500) {
		t.Errorf("status %d, body %.200q", r.status, r.body)
	}
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	w.serves()
}

// letters is text without end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Clients that hang up in the middle of a request leave the server as it was.
func TestWire_HangUp(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "localtest's own HTTP layer")
	w := newWire(t)
	at, err := url.Parse(w.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	head := "POST / HTTP/1.1\r\nHost: " + at.Host + "\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Type: application/x-amz-json-1.0\r\n"
	for name, sent := range map[string]string{
		"at-once":   "",
		"in-head":   head[:30],
		"in-body":   head + "Content-Length: 1000\r\n\r\n{\"TableName\":",
		"in-chunk":  head + "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"Tab",
		"for-reply": head + "Content-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, sent); err != nil {
					t.Fatal(err)
				}
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
			}
			wire{w.on(t), w.endpoint}.serves()
		})
	}
}

package httpevent

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Answer is what the client gets.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Write sends the answer of the request with this id.
func (d *Door) Write(w http.ResponseWriter, a Answer, id string) {
	maps.Copy(w.Header(), a.Header)
	if d.requestID != "" {
		w.Header().Set(d.requestID, id)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // fails for a client that is gone, and for a status that has no body
}

// message is an answer of the door itself, with a JSON body: API Gateway says "message", a function URL "Message".
func message(status int, member, text string) Answer {
	return document(status, "application/json", fmt.Sprintf("{%q:%q}", member, text))
}

func document(status int, contentType, body string) Answer {
	return Answer{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
}

// response is what the function returned, if that is a response object.
type response struct {
	status  int
	headers map[string]scalar
	multi   map[string][]scalar
	cookies []string
	body    string
	base64  bool
}

// scalar is a text, number or boolean, as text.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return errors.New("must be a text, a number or a boolean")
	}
	if string(b) != "null" {
		*s = scalar(b)
	}
	return nil
}

// members are those of a JSON object; nil if payload is no object. Not a struct, whose members encoding/json would find
// whatever their case: a door does not.
func members(payload []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(payload, &m) != nil {
		return nil
	}
	return m
}

func parse(m map[string]json.RawMessage) (response, error) {
	var r response
	var status scalar
	var errs []error
	for name, to := range map[string]any{
		"statusCode": &status, "headers": &r.headers, "multiValueHeaders": &r.multi, "cookies": &r.cookies,
		"body": &r.body, "isBase64Encoded": &r.base64,
	} {
		if raw, ok := m[name]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	var err error
	if r.status, err = strconv.Atoi(string(status)); err != nil || r.status < 200 || r.status > 599 {
		errs = append(errs, fmt.Errorf("statusCode is %q, must be 200 to 599", string(status)))
	}
	return r, errors.Join(errs...)
}

// bytes is the body as it is sent.
func (r response) bytes() ([]byte, error) {
	if !r.base64 {
		return []byte(r.body), nil
	}
	return base64.StdEncoding.DecodeString(r.body)
}

// finish makes an answer of the parts; the door says what type a body without one has.
func (d *Door) finish(status int, h http.Header, body []byte) Answer {
	deleteHopByHop(h)
	h.Del("Content-Length") // it is that of what is sent
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		// This is no header's name, and net/http would make a trailer of it.
		return strings.HasPrefix(name, http.TrailerPrefix)
	})
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", d.contentType)
	}
	return Answer{Status: status, Header: h, Body: body}
}

func singleHeaders(headers map[string]scalar) http.Header {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		h.Add(name, string(headers[name]))
	}
	return h
}

func multiHeaders(headers map[string][]scalar) http.Header {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, v := range headers[name] {
			h.Add(name, string(v))
		}
	}
	return h
}

// firstType is the first media type that the client accepts.
func firstType(accept string) string {
	first, _, _ := strings.Cut(accept, ",")
	return baseType(first)
}

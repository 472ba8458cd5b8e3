package lambda_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// call is a request to the tests' function, whatever door it comes through.
type call struct {
	method, path, query, body string
	header                    http.Header
	caller                    string
	base64                    bool
}

// pay is a payment with a key.
func pay(key string) call {
	return call{
		method: "POST", path: "/payments", body: `{"amount":5}`, caller: "alice",
		header: http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/json"}},
	}
}

func (c call) with(change func(*call)) call {
	c.header = maps.Clone(c.header)
	change(&c)
	return c
}

// inSession has the caller in a header, for doors that know of none.
func (c call) inSession() call {
	return c.with(func(c *call) {
		if c.caller != "" {
			c.header.Set("X-Session", c.caller)
		}
	})
}

func (c call) route() string { return c.method + " /payments" }

func (c call) values() url.Values {
	values, _ := url.ParseQuery(c.query) // as far as it can be read
	return values
}

// text is the body as an event has it; one that begins with "!" stays what it is, and is no base64.
func (c call) text() string {
	if c.base64 && !strings.HasPrefix(c.body, "!") {
		return base64.StdEncoding.EncodeToString([]byte(c.body))
	}
	return c.body
}

// reaction is what the client gets.
type reaction struct {
	status int
	header http.Header // canonical names
	body   string
	base64 bool
}

// bytes is the body as it is sent.
func (r reaction) bytes() []byte {
	if b, err := base64.StdEncoding.DecodeString(r.body); r.base64 && err == nil {
		return b
	}
	return []byte(r.body)
}

// single is the last value of each, as API Gateway has it.
func single(h http.Header) map[string]string {
	if h == nil {
		return nil
	}
	out := map[string]string{}
	for name, values := range h {
		if len(values) > 0 && name != "Set-Cookie" {
			out[name] = values[len(values)-1]
		}
	}
	return out
}

// lower are headers as an HTTP API has them.
func lower(h http.Header) map[string]string { return lowerNames(joinedValues(h)) }

func joinedValues(h map[string][]string) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[name] = strings.Join(values, ",")
	}
	return out
}

func lowerNames[V any](h map[string]V) map[string]V {
	out := map[string]V{}
	for name, v := range h {
		out[strings.ToLower(name)] = v
	}
	return out
}

// over puts the headers of a call over those of an event file, which has names of its own case.
func over[V any](file, call map[string]V) map[string]V {
	for name := range call {
		maps.DeleteFunc(file, func(own string, _ V) bool { return strings.EqualFold(own, name) })
	}
	maps.Copy(file, call)
	return file
}

func canonical(one map[string]string, all map[string][]string) http.Header {
	h := http.Header{}
	for name, v := range one {
		h.Add(name, v)
	}
	for name, values := range all {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	return h
}

// eventFile decodes one of aws-lambda-go's event files, as AWS's documentation shows them.
func eventFile[E any](name string) (event E) {
	dir, err := eventFiles()
	if err != nil {
		panic(fmt.Sprintf("the module's folder: %v", err))
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(content, &event)
	}
	if err != nil {
		panic(fmt.Sprintf("event file %s: %v", name, err))
	}
	return event
}

// eventFiles asks once: each request of the tests has a fresh event.
var eventFiles = sync.OnceValues(func() (string, error) {
	dir, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "events", "testdata"), err
})

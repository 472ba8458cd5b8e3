package idempotency

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// good is a request that only lacks what a test changes.
func good(change func(*Request)) Request {
	req := Request{Operation: "create-payment", Scope: "tenant-1", Key: "secret-key-4711", Input: AnyInput}
	if change != nil {
		change(&req)
	}
	return req
}

// C26: a request without a key, a scope or an operation gets no record at all, and so shares none.
func TestRequest_RefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name               string
		change             func(*Request)
		field, value, rule string
	}{
		{"no operation", func(r *Request) { r.Operation = "" }, "Request.Operation", "empty", "required"},
		{"long operation", func(r *Request) { r.Operation = strings.Repeat("o", 256) }, "Request.Operation", "256 bytes long", "255 bytes"},
		{"control in operation", func(r *Request) { r.Operation = "a\nb" }, "Request.Operation", `"a\nb"`, "control characters"},
		{"NUL in operation", func(r *Request) { r.Operation = "a\x00" }, "Request.Operation", `"a\x00"`, "control characters"},
		{"operation of no UTF-8", func(r *Request) { r.Operation = "\xff" }, "Request.Operation", `"\xff"`, "UTF-8"},
		{"no scope", func(r *Request) { r.Scope = "" }, "Request.Scope", "empty", "GlobalScope"},
		{"long scope", func(r *Request) { r.Scope = strings.Repeat("s", 1025) }, "Request.Scope", "1025 bytes long", "1024 bytes"},
		{"no key", func(r *Request) { r.Key = "" }, "Request.Key", "empty", "required"},
		{"long key", func(r *Request) { r.Key = strings.Repeat("k", 256) }, "Request.Key", "256 bytes long", "255 bytes"},
		{"long ref", func(r *Request) { r.Ref = strings.Repeat("r", 256) }, "Request.Ref", "256 bytes long", "255 bytes"},
		{"control in ref", func(r *Request) { r.Ref = "order\x1b[2J" }, "Request.Ref", `"order\x1b[2J"`, "control characters"},
		{"ref of no UTF-8", func(r *Request) { r.Ref = "a\x80" }, "Request.Ref", `"a\x80"`, "UTF-8"},
		{"no input", func(r *Request) { r.Input = nil }, "Request.Input", "nil", "AnyInput"},
		{"negative retention", func(r *Request) { r.Retention = -time.Second }, "Request.Retention", "-1s", "negative"},
		{"endless retention", func(r *Request) { r.Retention = 1 << 62 }, "Request.Retention", time.Duration(1 << 62).String(), "100 years"},
		{"negative wait", func(r *Request) { r.Wait = -1 }, "Request.Wait", "-1ns", "negative"},
		{"endless wait", func(r *Request) { r.Wait = 1 << 62 }, "Request.Wait", time.Duration(1 << 62).String(), "100 years"},
		{"no such policy", func(r *Request) { r.OnUnknown = 7 }, "Request.OnUnknown", "7", "Refuse or Rerun"},
		{"negative policy", func(r *Request) { r.OnUnknown = -1 }, "Request.OnUnknown", "-1", "Refuse or Rerun"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			req := good(row.change)
			client := &unitClient{}
			r, err := New(client, Config{Table: "records"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = Do(t.Context(), r, req, func(context.Context) (int, error) {
				t.Error("the handler ran")
				return 0, nil
			})
			wantField(t, err, row.field, row.value, row.rule)
			if len(client.calls) != 0 {
				t.Error("the table was asked")
			}
			// I11: the message shows neither the key nor the scope, whatever is wrong with them.
			for _, raw := range []string{req.Key, req.Scope} {
				if raw != "" && strings.Contains(err.Error(), raw) {
					t.Errorf("message %q shows %q", err, raw)
				}
			}
		})
	}
}

func TestRequest_AcceptsTheLimits(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{})
	for name, change := range map[string]func(*Request){
		"longest": func(r *Request) {
			r.Operation, r.Scope, r.Key, r.Ref = strings.Repeat("o", 255), strings.Repeat("s", 1024), strings.Repeat("k", 255), strings.Repeat("r", 255)
		},
		"any bytes in key and scope": func(r *Request) { r.Key, r.Scope = "\x00\xff", "\n" },
		"printable text":             func(r *Request) { r.Operation, r.Ref = "zahlung anlegen ü", "Auftrag 17 · 支払" },
		"hash sign":                  func(r *Request) { r.Operation = "a#b" },
		"global scope":               func(r *Request) { r.Scope = GlobalScope },
	} {
		if _, err := r.begin(good(change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequest_TakesTheRunnersSettings(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{Retention: time.Hour, Wait: time.Second, OnUnknown: Rerun})
	c, err := r.begin(good(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.req.Retention != time.Hour || c.req.Wait != time.Second || c.req.OnUnknown != Rerun {
		t.Errorf("got %+v", c.req)
	}
	c, err = r.begin(good(func(req *Request) { req.Retention, req.Wait, req.OnUnknown = time.Minute, time.Minute, Refuse }))
	if err != nil {
		t.Fatal(err)
	}
	if c.req.Retention != time.Minute || c.req.Wait != time.Minute || c.req.OnUnknown != Refuse {
		t.Errorf("its own settings: got %+v", c.req)
	}
}

// A nil Runner, a zero one, no handler: said, not a crash.
func TestDo_RefusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	run := func(context.Context) (int, error) {
		t.Error("the handler ran")
		return 0, nil
	}
	_, err := Do(t.Context(), nil, good(nil), run)
	wantField(t, err, "Runner", "nil", "New")
	if _, err = Do(t.Context(), &Runner{}, good(nil), run); err == nil {
		t.Error("a Runner that New has not made was accepted")
	}
	_, err = Do[int](t.Context(), unitRunner(t, Config{}), good(nil), nil)
	wantField(t, err, "fn", "nil", "handler")
	_, err = Lookup[int](t.Context(), nil, good(nil))
	wantField(t, err, "Runner", "nil", "New")
	_, err = Lookup[int](t.Context(), unitRunner(t, Config{}), good(func(r *Request) { r.Key = "" }))
	wantField(t, err, "Request.Key", "empty", "required")
}

func TestRequest_Fingerprint(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		input any
		taken bool
	}{
		"AnyInput": {AnyInput, false},
		"zero":     {0, true}, // not AnyInput, though that is a zero too
		"string":   {"", true},
		"struct":   {struct{ A int }{1}, true},
	} {
		req := good(func(r *Request) { r.Input = row.input })
		fp, err := req.fingerprint(fingerprint)
		if err != nil || (fp != "") != row.taken {
			t.Errorf("%s: got %q, %v", name, fp, err)
		}
	}
	req := good(func(r *Request) { r.Input = make(chan int) })
	if _, err := req.fingerprint(fingerprint); err == nil || !strings.Contains(err.Error(), "Request.Input") {
		t.Errorf("of a channel: %v", err)
	}
	if _, err := unitRunner(t, Config{}).begin(req); err == nil || errors.Is(err, ErrMismatch) {
		t.Errorf("of a channel: %v", err)
	}
}

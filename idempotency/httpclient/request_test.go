package httpclient_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What net/http's transport does not send is refused at once, and its body closed; the rest is sent.
func TestRoundTrip_Refuses(t *testing.T) {
	t.Parallel()
	var (
		header = func(name, value string) func(*http.Request) {
			return func(r *http.Request) { r.Header[name] = []string{value} }
		}
		trailer = func(name, value string) func(*http.Request) {
			return func(r *http.Request) { r.Trailer = http.Header{name: {value}} }
		}
		method = func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
		target = func(u *url.URL) func(*http.Request) { return func(r *http.Request) { r.URL, r.Host = u, "" } }
	)
	for name, c := range map[string]struct {
		change func(*http.Request)
		says   string // "" if it can be sent
	}{
		"name with a space":     {header("Order Number", "7"), `a header named "Order Number", must be a token`},
		"no name":               {header("", "7"), `a header named "", must be a token`},
		"name in no ASCII":      {header("Gr\u00f6\u00dfe", "7"), "must be a token"},
		"key by another K":      {header("Idempotency-\u212aey", "7"), "must be a token"},
		"name in broken UTF-8":  {header("A\xff", "7"), "must be a token"},
		"value with a line":     {header("Note", "secret\r\nX: y"), "header Note has '\\r' at byte 6, must have no control characters"},
		"value with DEL":        {header("Note", "\x7f"), "must have no control characters"},
		"key with a line":       {header("Idempotency-Key", "a\nb"), "header Idempotency-Key has '\\n' at byte 1"},
		"value with a tab":      {header("Note", "a\tb"), ""},
		"value in Latin-1":      {header("Note", "\xe9"), ""},
		"value in UTF-8":        {header("Note", "\u00e9"), ""},
		"name of all signs":     {header("!#$%&'*+-.^_`|~", "7"), ""},
		"trailer name":          {trailer("A B", ""), `a trailer named "A B"`},
		"trailer value":         {trailer("A", "\x00"), "trailer A has '\\x00' at byte 0"},
		"method with a space":   {method("PO ST"), `method is "PO ST", must be a token`},
		"method in no ASCII":    {method("P\u00d6ST"), "must be a token"},
		"method of its own":     {method("CHARGE"), ""},
		"no URL":                {target(nil), "URL is nil"},
		"no host":               {target(&url.URL{Scheme: "http", Path: "/charges"}), "URL is http:///charges, must have a host"},
		"length without a body": {func(r *http.Request) { r.Body, r.ContentLength = nil, 4 }, "ContentLength is 4, must be 0 without a body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{ok}}
				req := charge(t.Context(), t, "http://payments.example/charges")
				body := &tracked{Reader: strings.NewReader("body")}
				req.Body = body
				req.Header.Set("Idempotency-Key", "mine")
				c.change(req)
				again := req.WithContext(t.Context())
				if again.Body != nil {
					again.Body = io.NopCloser(strings.NewReader("body"))
				}
				began := time.Now()
				_, err := transport(t, s).RoundTrip(req)
				if time.Since(began) != 0 {
					t.Errorf("it took %v", time.Since(began))
				}
				if sent := sentByNetHTTP(again); sent != (c.says == "") {
					t.Errorf("net/http sends it: %v", sent)
				}
				if c.says == "" {
					if err != nil || len(s.keys) != 1 {
						t.Errorf("got %v after %d tries, want it sent", err, len(s.keys))
					}
					return
				}
				if err == nil || !strings.HasPrefix(err.Error(), "httpclient: the request") || !strings.Contains(err.Error(), c.says) || len(s.keys) != 0 {
					t.Errorf("got %v after %d tries, want %s", err, len(s.keys), c.says)
				}
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%v quotes the value", err)
				}
				if req.Body != nil && body.closed != 1 {
					t.Errorf("the body was closed %d times", body.closed)
				}
			})
		})
	}
}

// sentByNetHTTP says whether net/http's transport writes anything to its connection.
func sentByNetHTTP(req *http.Request) (sent bool) {
	server := func(conn net.Conn) {
		n, _ := conn.Read(make([]byte, 64<<10))
		sent = n > 0
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		_ = conn.Close()
	}
	var served sync.WaitGroup
	base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, remote := net.Pipe()
		served.Go(func() { server(remote) })
		return client, nil
	}}
	if resp, err := base.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
	base.CloseIdleConnections()
	served.Wait()
	return sent
}

// A scheme that is the Base's own gets the key; which of its errors can pass is not known, so it is tried once.
func TestRoundTrip_OtherScheme(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, first := range []answer{reset, plain(503), ok} {
			s := &script{answers: []answer{first, ok}}
			_, err := transport(t, s).RoundTrip(charge(t.Context(), t, "http+unix:///charges"))
			if (err != nil) != (first.err != nil) || len(s.keys) != 1 || !uuid7.MatchString(s.keys[0]) {
				t.Errorf("keys %q, %v", s.keys, err)
			}
		}
	})
}

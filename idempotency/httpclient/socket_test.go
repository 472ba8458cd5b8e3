package httpclient_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// serve is a server on this machine, and a transport for it alone, of HTTP/1 or HTTP/2.
func serve(t *testing.T, h http.HandlerFunc, two bool) (*httptest.Server, http.RoundTripper) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	if two {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, server.Client().Transport
}

// On real sockets: a broken connection, a redirect with the method kept, and one key over all of it.
func TestRoundTrip_OverSockets(t *testing.T) {
	t.Parallel()
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			keys := make(chan string, 10)
			server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); string(body) != "body" || r.ProtoAtLeast(2, 0) != two {
					t.Errorf("body %q by %s", body, r.Proto)
				}
				keys <- r.Header.Get("Idempotency-Key")
				switch n := tries.Add(1); {
				case n == 1:
					panic(http.ErrAbortHandler)
				case r.URL.Path == "/charges":
					http.Redirect(w, r, "/v2/charges", http.StatusPermanentRedirect)
				default:
					w.WriteHeader(http.StatusCreated)
				}
			}, two)
			resp, err := (&http.Client{Transport: transport(t, base)}).Do(charge(t.Context(), t, server.URL+"/charges"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			close(keys)
			first := <-keys
			for key := range keys {
				if key != first || key == "" {
					t.Errorf("keys %s and %s", first, key)
				}
			}
			if resp.StatusCode != http.StatusCreated || tries.Load() < 3 {
				t.Errorf("%d after %d tries", resp.StatusCode, tries.Load())
			}
		})
	}
}

// A dropped answer leaves its connection to the next try.
func TestRoundTrip_ReusesTheConnection(t *testing.T) {
	t.Parallel()
	var tries, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if tries.Add(1) < 4 {
			http.Error(w, "come back", http.StatusServiceUnavailable)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	resp, err := transport(t, server.Client().Transport).RoundTrip(charge(t.Context(), t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if tries.Load() != 4 || connections.Load() != 1 {
		t.Errorf("%d tries over %d connections, want 4 over 1", tries.Load(), connections.Load())
	}
}

// A server that answers before it has read the request: the next try has a body of its own, whole, and each is closed.
func TestRoundTrip_EarlyAnswer(t *testing.T) {
	t.Parallel()
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than the buffers between the two
			var tries atomic.Int32
			server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if tries.Add(1) == 1 {
					http.Error(w, "busy", http.StatusServiceUnavailable)
					return
				}
				if body, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(body, payload) {
					t.Errorf("%d bytes, %v", len(body), err)
				}
			}, two)
			open := &sync.WaitGroup{} // until the last body is closed
			body := func() io.ReadCloser {
				open.Add(1)
				return &closing{Reader: bytes.NewReader(payload), closed: sync.OnceFunc(open.Done)}
			}
			req := charge(t.Context(), t, server.URL)
			req.Body, req.ContentLength = body(), int64(len(payload))
			req.GetBody = func() (io.ReadCloser, error) { return body(), nil }
			resp, err := transport(t, base).RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", resp, err)
			}
			_ = resp.Body.Close()
			open.Wait()
			if tries.Load() < 2 {
				t.Errorf("%d tries", tries.Load())
			}
		})
	}
}

type closing struct {
	io.Reader
	closed func()
}

func (c *closing) Close() error { c.closed(); return nil }

// One Transport for many at a time, each with its own key and body.
func TestRoundTrip_Concurrently(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{} // by key, the body
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if first, again := seen[key]; !again {
			seen[key] = string(body)
			w.WriteHeader(http.StatusServiceUnavailable)
		} else if first != string(body) {
			t.Errorf("key %s had the bodies %s and %s", key, first, body)
		}
	}, false)
	tr := transport(t, base)
	var all sync.WaitGroup
	const requests = 20
	for i := range requests {
		all.Go(func() {
			req := charge(t.Context(), t, server.URL)
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(strconv.Itoa(i))), -1
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(strconv.Itoa(i))), nil }
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%v, %v", resp, err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	all.Wait()
	if len(seen) != requests {
		t.Errorf("%d keys, want %d", len(seen), requests)
	}
}

package localtest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest"
)

// How each door writes its events and reads answers is tested in internal/httpevent. Here: with a function behind.

func startEvents(t *testing.T, kind localtest.DoorKind) *localtest.Function {
	t.Helper()
	return localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=" + kind.String()}, Timeout: longEnough})
}

func send(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(doc)
}

func wantHTTP(t *testing.T, resp *http.Response, body string, status int, want string) {
	t.Helper()
	if resp.StatusCode != status || !strings.Contains(body, want) {
		t.Errorf("%s: %d %s, want %d %s", resp.Request.URL, resp.StatusCode, body, status, want)
	}
}

// bearer is an authorizer for tests: the token is the caller.
func bearer(identity func(caller string) localtest.Identity) func(*http.Request) (localtest.Identity, error) {
	return func(r *http.Request) (localtest.Identity, error) {
		caller, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !ok:
			return localtest.Identity{}, errors.New("no token")
		case caller == "mallory":
			return localtest.Identity{}, fmt.Errorf("%s: %w", caller, localtest.ErrForbidden)
		}
		return identity(caller), nil
	}
}

func TestListen_Function(t *testing.T) {
	t.Parallel()
	const body = `{"amount":5}`
	for _, row := range []struct {
		door      localtest.FrontDoor
		prefix    string
		want      told
		anonymous int // status without a caller
		failure   int
	}{
		{
			localtest.FrontDoor{Kind: localtest.RESTAPI, Routes: []string{"POST /payments", "ANY /{proxy+}"}, Authorize: bearer(func(c string) localtest.Identity {
				return localtest.Identity{PrincipalID: c}
			})},
			"/prod",
			told{Key: "k1", Caller: "alice", Route: "POST /payments", Path: "/payments"},
			401, 502,
		},
		{
			localtest.FrontDoor{Kind: localtest.HTTPAPI, Routes: []string{"POST /payments", "$default"}, Authorize: bearer(func(c string) localtest.Identity {
				return localtest.Identity{Claims: map[string]string{"sub": c}}
			})},
			"",
			told{Key: "k1", Caller: "alice", Route: "POST /payments", Path: "/payments"},
			401, 500,
		},
		{
			localtest.FrontDoor{Kind: localtest.FunctionURL, Authorize: bearer(func(c string) localtest.Identity {
				return localtest.Identity{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: c}}
			})},
			"",
			told{Key: "k1", Caller: "alice", Path: "/payments"},
			403, 502,
		},
		{localtest.FrontDoor{Kind: localtest.ALB}, "", told{Key: "k1", Path: "/payments"}, 201, 502},
	} {
		t.Run(row.door.Kind.String(), func(t *testing.T) {
			t.Parallel()
			f := startEvents(t, row.door.Kind)
			url := f.Listen(row.door)
			if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+` + row.prefix + `$`).MatchString(url) {
				t.Errorf("URL %s, want one with the path %q", url, row.prefix)
			}
			alice := []string{"Authorization", "Bearer alice", "Content-Type", "application/json", "idempotency-key", "k1"}
			resp, doc := send(t, url+"/payments", body, alice...)
			wantHTTP(t, resp, doc, http.StatusCreated, "")
			if resp.Header.Get("Location") != "/payments/7" {
				t.Errorf("headers %v", resp.Header)
			}
			var got told
			if err := json.Unmarshal([]byte(doc), &got); err != nil {
				t.Fatal(err)
			}
			if row.door.Kind != localtest.ALB && (got.ID == "" || got.ID != got.Lambda) {
				t.Errorf("request id %q, that of the invocation %q", got.ID, got.Lambda)
			}
			got.ID, got.Lambda, row.want.Body = "", "", body
			if got != row.want {
				t.Errorf("the handler saw %+v, want %+v", got, row.want)
			}

			resp, doc = send(t, url+"/payments", body)
			wantHTTP(t, resp, doc, row.anonymous, "")
			if row.door.Authorize != nil {
				resp, doc = send(t, url+"/payments", body, "Authorization", "Bearer mallory")
				wantHTTP(t, resp, doc, http.StatusForbidden, "")
			}
			for _, path := range []string{"/fail", "/exit"} {
				resp, doc = send(t, url+path, body, alice...)
				wantHTTP(t, resp, doc, row.failure, "")
			}
		})
	}
}

func TestListen_InferredAndCookies(t *testing.T) {
	t.Parallel()
	url := startEvents(t, localtest.HTTPAPI).Listen(localtest.FrontDoor{Kind: localtest.HTTPAPI})
	resp, doc := send(t, url+"/plain", "")
	wantHTTP(t, resp, doc, http.StatusOK, `{"no":"response object"}`)
	resp, _ = send(t, url+"/payments", "")
	if got := resp.Header.Values("Set-Cookie"); strings.Join(got, ";") != "a=1;b=2" {
		t.Errorf("cookies %q", got)
	}
}

// The API gives up, and the function goes on: the client must not conclude that nothing happened.
func TestListen_IntegrationTimeout(t *testing.T) {
	t.Parallel()
	for kind, want := range map[localtest.DoorKind]int{localtest.RESTAPI: 504, localtest.HTTPAPI: 503} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			calls, proceed := make(chan string, 2), make(chan struct{})
			outside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				calls <- r.URL.Path
				<-proceed
			}))
			t.Cleanup(outside.Close)
			f := localtest.StartFunction(t, localtest.Bootstrap{
				Env: []string{"EVENTS=" + kind.String(), "OUTSIDE=" + outside.URL}, Timeout: longEnough,
			})
			url := f.Listen(localtest.FrontDoor{Kind: kind, IntegrationTimeout: 100 * time.Millisecond})
			resp, doc := send(t, url+"/charge", "")
			wantHTTP(t, resp, doc, want, `{"message":"`)
			close(proceed)
			if t.Failed() {
				return // it may never have been called
			}
			for _, path := range []string{"/charge", "/mail"} {
				if got := <-calls; got != path {
					t.Errorf("the function called %s, want %s", got, path)
				}
			}
		})
	}
}

func TestListen_FunctionTimesOut(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=RESTAPI"}, Timeout: 200 * time.Millisecond})
	resp, doc := send(t, f.Listen(localtest.FrontDoor{Kind: localtest.RESTAPI})+"/hang", "")
	wantHTTP(t, resp, doc, http.StatusBadGateway, `{"message":"Internal server error"}`)
}

// A client that sends everything before it reads gets to read the refusal: the door takes the rest in.
func TestListen_TooLarge(t *testing.T) {
	t.Parallel()
	f := startEvents(t, localtest.ALB)
	address := strings.TrimPrefix(f.Listen(localtest.FrontDoor{Kind: localtest.ALB}), "http://")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const size = 48 << 20 // far above what the sockets hold
	if _, err := fmt.Fprintf(conn, "POST /exit HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(conn, zeros{}, size); err != nil {
		t.Fatalf("the connection broke: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%s, want 413", resp.Status)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestHandler_Refuses(t *testing.T) {
	t.Parallel()
	var tb recorder
	defer tb.end()
	f := localtest.StartFunction(&tb, localtest.Bootstrap{})
	tb.run(func() { f.Handler(localtest.FrontDoor{}) })
	tb.run(func() { f.Listen(localtest.FrontDoor{Kind: localtest.ALB, Routes: []string{"GET /"}}) })
	tb.run(func() {
		f.Listen(localtest.FrontDoor{Kind: localtest.ALB, Authorize: bearer(nil)})
	})
	for _, want := range []string{
		"front door: Kind is DoorKind(0), must be", "front door: Routes is set, must be left out for ALB",
		"front door: Authorize is set, must be left out for ALB",
	} {
		if !strings.Contains(tb.log.String(), want) {
			t.Errorf("log %q lacks %q", &tb.log, want)
		}
	}
}

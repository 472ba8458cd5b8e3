package localtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// What becomes of requests and of the test when somebody leaves, breaks or is late.

// What only shows when a request comes fails the test, and the client is told something.
func TestHandler_FailsTheTest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args []string
		door localtest.FrontDoor
		want string
	}{
		{nil, localtest.FrontDoor{Kind: localtest.HTTPAPI, Authorize: func(*http.Request) (localtest.Identity, error) {
			return localtest.Identity{PrincipalID: "p"}, nil
		}}, "Authorize returned an identity: PrincipalID is set"},
		{[]string{"-no-such-flag"}, localtest.FrontDoor{Kind: localtest.HTTPAPI}, "front door: invoke: bootstrap "},
	} {
		var tb recorder
		f := localtest.StartFunction(&tb, localtest.Bootstrap{Path: "/bin/false", Args: row.args})
		h := f.Handler(row.door)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Code != http.StatusInternalServerError || !tb.failed || !strings.Contains(tb.log.String(), row.want) {
			t.Errorf("%d, failed %v, log %q; want %q", w.Code, tb.failed, &tb.log, row.want)
		}
		tb.end()
		tb.failed = false
		if h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); tb.failed {
			t.Error("reported to a test that is over")
		}
	}
}

func TestListen_AuthorizePanics(t *testing.T) {
	t.Parallel()
	for kind, want := range map[localtest.DoorKind]int{localtest.RESTAPI: 502, localtest.HTTPAPI: 500, localtest.FunctionURL: 502} {
		var tb recorder
		f := localtest.StartFunction(&tb, localtest.Bootstrap{})
		url := f.Listen(localtest.FrontDoor{Kind: kind, Authorize: func(*http.Request) (localtest.Identity, error) {
			panic("a fault of the test's")
		}})
		resp, doc := send(t, url+"/x", "")
		wantHTTP(t, resp, doc, want, "")
		tb.end()
		if log := tb.log.String(); !tb.failed || !strings.Contains(log, "a fault of the test's") || !strings.Contains(log, "TestListen_AuthorizePanics") {
			t.Errorf("%v: failed %v, log %q", kind, tb.failed, log)
		}
	}
}

// Whoever cuts the connection on purpose gets what they want.
func TestListen_AuthorizeAborts(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{})
	url := f.Listen(localtest.FrontDoor{Kind: localtest.HTTPAPI, Authorize: func(*http.Request) (localtest.Identity, error) {
		panic(http.ErrAbortHandler)
	}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("answer %s", resp.Status)
	}
}

// reporter is a recorder whose errors can be waited for.
type reporter struct {
	recorder
	errors chan string
}

func (r *reporter) Errorf(f string, a ...any) { r.errors <- fmt.Sprintf(f, a...) }

// The client has its answer when the bootstrap turns out to be none.
func TestListen_FailsAfterTheDoorGaveUp(t *testing.T) {
	t.Parallel()
	tb := &reporter{errors: make(chan string, 1)}
	defer tb.end()
	f := localtest.StartFunction(tb, localtest.Bootstrap{Path: "/bin/sleep", Args: []string{"0.5"}})
	resp, doc := send(t, f.Listen(localtest.FrontDoor{Kind: localtest.RESTAPI, IntegrationTimeout: 50 * time.Millisecond})+"/x", "")
	wantHTTP(t, resp, doc, http.StatusGatewayTimeout, "")
	select {
	case got := <-tb.errors:
		if !strings.Contains(got, "front door: invoke: bootstrap /bin/sleep ended before it asked for an event") {
			t.Errorf("the test was told %q", got)
		}
	case <-time.After(longEnough):
		t.Error("the test was told nothing")
	}
}

// An event that no process has taken when the API gives up is the API's time-out, and no failure of the test's.
func TestListen_NoProcessFree(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=HTTPAPI"}, Timeout: longEnough, Processes: 1})
	url := f.Listen(localtest.FrontDoor{Kind: localtest.HTTPAPI, IntegrationTimeout: 50 * time.Millisecond})
	for range 2 {
		resp, doc := send(t, url+"/hang", "")
		wantHTTP(t, resp, doc, http.StatusServiceUnavailable, "Service Unavailable")
	}
}

// Nobody tells the function that its client is gone.
func TestHandler_ClientGone(t *testing.T) {
	t.Parallel()
	called := make(chan string, 2)
	outside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.URL.Path }))
	t.Cleanup(outside.Close)
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=ALB", "OUTSIDE=" + outside.URL}, Timeout: longEnough})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f.Handler(localtest.FrontDoor{Kind: localtest.ALB}).ServeHTTP(
		httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodPost, "/charge", nil))
	for _, want := range []string{"/charge", "/mail"} {
		if got := <-called; got != want {
			t.Errorf("the function called %s, want %s", got, want)
		}
	}
}

// At the end no request is being served any more, and none is waited for that the function keeps.
func TestListen_EndOfTest(t *testing.T) {
	t.Parallel()
	var tb recorder
	f := localtest.StartFunction(&tb, localtest.Bootstrap{Env: []string{"EVENTS=ALB"}, Timeout: longEnough})
	over := make(chan struct{})
	tb.Cleanup(func() { close(over) }) // comes after the ends of the doors
	hangs := f.Listen(localtest.FrontDoor{Kind: localtest.ALB})
	entered := make(chan struct{})
	authorizes := f.Listen(localtest.FrontDoor{Kind: localtest.FunctionURL, Authorize: func(r *http.Request) (localtest.Identity, error) {
		close(entered)
		<-r.Context().Done()
		select {
		case <-over:
			t.Error("Authorize runs after the end of its door")
		case <-time.After(100 * time.Millisecond):
		}
		return localtest.Identity{PrincipalID: "reported"}, nil
	}})
	var clients sync.WaitGroup
	for _, url := range []string{hangs + "/hang", authorizes} {
		clients.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s: %s", url, resp.Status)
			}
		})
	}
	<-entered
	tb.end() // returns, although the function hangs
	if !strings.Contains(tb.log.String(), "PrincipalID is set") {
		t.Errorf("log %q lacks what a request told before the end", &tb.log)
	}
	clients.Wait()
}

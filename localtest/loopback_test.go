package localtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// notes is a TB that keeps what it is told.
type notes struct {
	errors   []string
	cleanups []func()
}

func (*notes) Helper()                     {}
func (*notes) Name() string                { return "notes" }
func (*notes) Logf(string, ...any)         {}
func (n *notes) Cleanup(f func())          { n.cleanups = append(n.cleanups, f) }
func (n *notes) Errorf(f string, a ...any) { n.errors = append(n.errors, fmt.Sprintf(f, a...)) }
func (n *notes) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (n *notes) get(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("%s: answer %s", url, resp.Status)
	}
}

// A panic fails the test, unless it is the one that only cuts the connection.
func TestServeLoopback_Panics(t *testing.T) {
	t.Parallel()
	tb := new(notes)
	url := serveLoopback(tb, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		panic("a fault in a hook")
	}))
	tb.get(t, url+"/cut")
	tb.get(t, url)
	tb.cleanups[0]()
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "a fault in a hook") {
		t.Errorf("the test was told %q", tb.errors)
	}
	tb.get(t, url) // nobody is there any more
}

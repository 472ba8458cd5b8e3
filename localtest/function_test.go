package localtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// What the machinery does is tested with it, in internal/runtimeapi. Here: that a test can use it.

func event(what, value string) localtest.Event {
	doc, err := json.Marshal(task{what, value})
	if err != nil {
		panic(err)
	}
	return localtest.Event{Payload: doc}
}

func invoke(t *testing.T, f *localtest.Function, what, value string) localtest.Response {
	t.Helper()
	r, err := f.Invoke(t.Context(), event(what, value))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantAnswer(t *testing.T, r localtest.Response, want string) {
	t.Helper()
	if r.Error != nil || string(r.Payload) != want {
		t.Errorf("answer %q, error %v; want %q", r.Payload, r.Error, want)
	}
}

func wantError(t *testing.T, r localtest.Response, want string) {
	t.Helper()
	if r.Error == nil || !strings.Contains(r.Error.Error(), want) {
		t.Errorf("answer %q, error %v; want %q", r.Payload, r.Error, want)
	}
}

// recorder is a TB outside of a test; Fatalf ends run.
type recorder struct {
	log      bytes.Buffer
	cleanups []func()
	failed   bool
}

var _ localtest.TB = (*recorder)(nil)

func (r *recorder) Helper()                   {}
func (r *recorder) Name() string              { return "recorder" }
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(f string, a ...any)   { fmt.Fprintf(&r.log, f+"\n", a...) }
func (r *recorder) Errorf(f string, a ...any) { r.failed = true; r.Logf(f, a...) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(fatal{}) }

type fatal struct{}

// run returns what was logged while f ran.
func (r *recorder) run(f func()) (logged string) {
	defer func() {
		if p := recover(); p != nil && p != any(fatal{}) {
			panic(p)
		}
		logged = r.log.String()
	}()
	f()
	return ""
}

func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func TestFunction_Answers(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"TABLE=payments"}, Timeout: time.Minute})
	first := invoke(t, f, "echo", "1")
	wantAnswer(t, first, `"1"`)
	second := invoke(t, f, "variable", "TABLE")
	wantAnswer(t, second, `"payments"`)
	wantAnswer(t, invoke(t, f, "variable", "HOME"), `""`)
	if second.PID != first.PID || second.RequestID == first.RequestID {
		t.Errorf("first %+v, second %+v: want one process, two ids", first, second)
	}
	wantError(t, invoke(t, f, "decline", "stolen"), "cardDeclinedError: card declined: stolen")
	wantError(t, invoke(t, f, "panic", "boom"), "string: boom")
	wantAnswer(t, invoke(t, f, "echo", "after the panic"), `"after the panic"`)
}

func TestFunction_KilledWhereTheTestSees(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: time.Minute})
	processor := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		f.Reach("charged")
	}))
	t.Cleanup(processor.Close)
	f.KillAt("charged", 1)
	wantError(t, invoke(t, f, "call", processor.URL), "Runtime.ExitError: ")
	wantAnswer(t, invoke(t, f, "call", processor.URL), `"200 OK"`)
}

func TestFunction_KilledAtItsOwnPoint(t *testing.T) {
	t.Parallel()
	localtest.Point("before") // of no concern to anybody
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: time.Minute})
	f.KillAt("after", 2)
	wantAnswer(t, invoke(t, f, "points", ""), `"went on"`)
	wantError(t, invoke(t, f, "points", ""), "Runtime.ExitError: ")
	wantAnswer(t, invoke(t, f, "points", ""), `"went on"`)
}

func TestFunction_FreezeThawKill(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: time.Minute})
	first := invoke(t, f, "echo", "")
	f.Freeze()
	f.Thaw()
	if second := invoke(t, f, "echo", ""); second.PID != first.PID {
		t.Errorf("process %d, want %d", second.PID, first.PID)
	}
	f.Kill()
	if third := invoke(t, f, "echo", ""); third.PID == first.PID {
		t.Errorf("process %d answered after Kill", third.PID)
	}
}

func TestFunction_EndOfTest(t *testing.T) {
	t.Parallel()
	var tb recorder
	f := localtest.StartFunction(&tb, localtest.Bootstrap{Timeout: 100 * time.Millisecond})
	hung := invoke(t, f, "hang", "")
	wantError(t, hung, "Sandbox.Timedout: RequestId: "+hung.RequestID+" Error: Task timed out after 0.10 seconds")
	idle := invoke(t, f, "echo", "")
	tb.failed = true
	tb.end()
	for _, pid := range []int{hung.PID, idle.PID} {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Signal(syscall.Signal(0)) // asks only
		}
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("process %d: %v, want it gone", pid, err)
		}
	}
	if !strings.Contains(tb.log.String(), "the function wrote:\nhanging\n") {
		t.Errorf("a failed test's log is %q, want what the function wrote", &tb.log)
	}
	if _, err := f.Invoke(t.Context(), event("echo", "")); err == nil {
		t.Error("invoked after the end")
	}
}

func TestStartFunction_Refuses(t *testing.T) {
	t.Parallel()
	var tb recorder
	tb.run(func() {
		localtest.StartFunction(&tb, localtest.Bootstrap{Path: filepath.Join(t.TempDir(), "bootstrap")})
	})
	if !strings.Contains(tb.log.String(), "no such file") {
		t.Errorf("no such program: %q", &tb.log)
	}
	tb.run(func() { localtest.StartFunction(&tb, localtest.Bootstrap{Env: []string{"A=\x00"}}) })
	if !strings.Contains(tb.log.String(), `Env has "A=\x00", must have no NUL`) {
		t.Errorf("environment with NUL: %q", &tb.log)
	}
	f := localtest.StartFunction(t, localtest.Bootstrap{Timeout: time.Minute})
	if got := invoke(t, f, "start", ""); !strings.Contains(string(got.Payload), "itself a function") {
		t.Errorf("a function that starts itself: %s", got.Payload)
	}
}

// Time that jumps ahead would end every process at its start.
func TestStartFunction_InBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		var tb recorder
		defer tb.end()
		log := tb.run(func() { localtest.StartFunction(&tb, localtest.Bootstrap{}) })
		if !strings.Contains(log, "inside of a testing/synctest bubble") {
			t.Errorf("log %q", log)
		}
	})
}

func TestKillAt_Refuses(t *testing.T) {
	t.Parallel()
	var tb recorder
	defer tb.end()
	f := localtest.StartFunction(&tb, localtest.Bootstrap{})
	tb.run(func() { f.KillAt("charged", 0) })
	if !strings.Contains(tb.log.String(), "nth is 0") {
		t.Errorf("log %q", &tb.log)
	}
}

package runtimeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func start(t *testing.T, cfg Config) *Function {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second // a busy machine is no fault
	}
	cfg.Env = append(cfg.Env, "GORACE=atexit_sleep_ms=0") // a process built with -race lingers else
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if t.Failed() {
			t.Logf("output:\n%s", f.Output())
		}
	})
	return f
}

func do(what, value string) Event {
	doc, err := json.Marshal(task{what, value})
	if err != nil {
		panic(err)
	}
	return Event{Payload: doc}
}

func invoke(t *testing.T, f *Function, ev Event) Response {
	t.Helper()
	r, err := f.Invoke(t.Context(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantPayload(t *testing.T, r Response, want string) {
	t.Helper()
	if r.Error != nil || string(r.Payload) != want {
		t.Errorf("answer %.200q, error %+v; want %q", r.Payload, r.Error, want)
	}
}

func wantError(t *testing.T, r Response, wantType, wantMessage string) {
	t.Helper()
	if r.Error == nil {
		t.Fatalf("answer %.200q, want error %s", r.Payload, wantType)
	}
	if r.Error.Type != wantType || !strings.Contains(r.Error.Message, wantMessage) {
		t.Errorf("error %+v, want type %q, message with %q", *r.Error, wantType, wantMessage)
	}
	var doc FunctionError
	if err := json.Unmarshal(r.Payload, &doc); err != nil || doc != *r.Error {
		t.Errorf("payload %s does not say the same as %+v", r.Payload, *r.Error)
	}
}

// outside is a server which the function calls; it tells of each call, and lets it wait.
func outside(t *testing.T) (url string, calls chan *call) {
	t.Helper()
	calls = make(chan *call)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := &call{gone: r.Context().Done(), proceed: make(chan struct{})}
		select {
		case calls <- c:
			select {
			case <-c.proceed:
			case <-c.gone:
			}
		case <-t.Context().Done():
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, calls
}

type call struct {
	gone    <-chan struct{} // the caller is dead
	proceed chan struct{}
}

func TestInvoke_Answer(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	first := invoke(t, f, do("echo", "<1>"))
	wantPayload(t, first, `"<1>"`)
	for range 5 {
		again := invoke(t, f, do("echo", "2"))
		wantPayload(t, again, `"2"`)
		if again.PID != first.PID {
			t.Errorf("process %d, want the idle one, %d", again.PID, first.PID)
		}
		if again.RequestID == first.RequestID || len(again.RequestID) != 36 {
			t.Errorf("request ids %q, %q: want fresh UUIDs", first.RequestID, again.RequestID)
		}
	}
}

// What the caller gave is the caller's again as soon as the call has returned.
func TestInvoke_KeepsNothingOfTheCallers(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	env := append(make([]string, 0, 2), "HOME=/as/given")
	f := start(t, Config{Env: env})
	env[0] = "HOME=/changed"
	ev := do("get", url)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() {
		_, err := f.Invoke(ctx, ev)
		returned <- err
	}()
	for len(f.alive()) == 0 {
		runtime.Gosched()
	}
	cancel() // the invocation has begun, and goes on; its process has yet to ask for it
	if err := <-returned; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	clear(ev.Payload)
	close((<-calls).proceed)
	var got struct{ Home string }
	if r := invoke(t, f, do("context", "")); json.Unmarshal(r.Payload, &got) != nil || got.Home != "/as/given" {
		t.Errorf("environment: %s", r.Payload)
	}
}

func TestInvoke_Context(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Timeout: time.Minute})
	before := time.Now()
	r := invoke(t, f, Event{Payload: do("context", "").Payload, RequestID: "retry-1", TenantID: "acme"})
	var got struct {
		ID, ARN, Tenant, Name, Home string
		Deadline                    int64
	}
	if err := json.Unmarshal(r.Payload, &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "retry-1" || r.RequestID != "retry-1" || got.Tenant != "acme" || got.ARN != FunctionARN || got.Name != functionName || got.Home != "" {
		t.Errorf("the handler saw %+v", got)
	}
	if d := time.UnixMilli(got.Deadline); d.Before(before.Add(time.Minute).Truncate(time.Millisecond)) || d.After(time.Now().Add(time.Minute)) {
		t.Errorf("deadline %v, started %v, want a minute later", d, before)
	}
}

func TestInvoke_FunctionErrors(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	wantError(t, invoke(t, f, do("decline", "stolen")), "cardDeclinedError", "card declined: stolen")
	wantError(t, invoke(t, f, do("exit", "")), "Runtime.ExitError", "Runtime exited with error: exit status 3")
	wantError(t, invoke(t, f, do("exit 0", "")), "Runtime.ExitError", "Runtime exited without providing a reason")
	wantError(t, invoke(t, f, do("large", "")), "Function.ResponseSizeTooLarge", "(6291556 bytes)")
	wantError(t, invoke(t, f, do("broken stream", "half")), "brokenError", "the stream broke")
	wantPayload(t, invoke(t, f, do("stream", "whole")), "whole")
}

func TestInvoke_AfterPanic(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	last := 0
	for range 5 {
		r := invoke(t, f, do("panic", "boom"))
		wantError(t, r, "string", "boom")
		if r.PID == last {
			t.Errorf("process %d answered after its panic", last)
		}
		last = r.PID
	}
	wantPayload(t, invoke(t, f, do("echo", "fine")), `"fine"`)
}

// An event in the hands of nobody is not lost: the process ends after its answer, without asking for
// the event that is already meant for it.
func TestInvoke_ProcessEndsBetweenEvents(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{Processes: 1, Env: []string{"MODE=one event", "URL=" + url}})
	first := invoke(t, f, Event{})
	wantPayload(t, first, "1")
	held := <-calls
	next := make(chan Response)
	go func() {
		r, err := f.Invoke(t.Context(), Event{})
		if err != nil {
			t.Error(err)
		}
		next <- r
	}()
	for s := f.alive()[0]; !s.busy(); {
		runtime.Gosched()
	}
	close(held.proceed)
	second := <-next
	wantPayload(t, second, "1")
	if second.PID == first.PID {
		t.Error("the process that had ended answered")
	}
}

func (s *sandbox) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.invocations) > 0
}

func TestInvoke_Timeout(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Timeout: 150 * time.Millisecond})
	r := invoke(t, f, do("hang", ""))
	wantError(t, r, "Sandbox.Timedout", "RequestId: "+r.RequestID+" Error: Task timed out after 0.15 seconds")
	wantGone(t, r.PID)
}

func TestInvoke_Concurrent(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := f.Invoke(t.Context(), do("get", url))
			if err != nil || r.Error != nil {
				t.Errorf("invocation %d: %v %+v", i, err, r.Error)
			}
		})
	}
	var held []*call // all 20 run at the same time
	for range 20 {
		held = append(held, <-calls)
	}
	for _, c := range held {
		close(c.proceed)
	}
	wg.Wait()
	for i := range 20 {
		wg.Go(func() {
			value := fmt.Sprintf("n%d", i)
			if r, err := f.Invoke(t.Context(), do("echo", value)); err != nil || string(r.Payload) != `"`+value+`"` {
				t.Errorf("invocation %d: %v, answer %q", i, err, r.Payload)
			}
		})
	}
	wg.Wait()
	if n := len(f.alive()); n != 20 {
		t.Errorf("%d processes, want 20: idle ones are used again", n)
	}
}

func TestInvoke_ProcessesLimit(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Processes: 2})
	var mu sync.Mutex
	pids := map[int]bool{}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			r, err := f.Invoke(t.Context(), do("echo", "x"))
			if err != nil || r.Error != nil {
				t.Errorf("%v %+v", err, r.Error)
			}
			mu.Lock()
			defer mu.Unlock()
			pids[r.PID] = true
		})
	}
	wg.Wait()
	if len(pids) > 2 {
		t.Errorf("%d processes, want at most 2", len(pids))
	}
}

func TestInvoke_ConcurrencyInOneProcess(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{Processes: 1, Concurrency: 4})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if r, err := f.Invoke(t.Context(), do("get", url)); err != nil || r.Error != nil {
				t.Errorf("%v %+v", err, r.Error)
			}
		})
	}
	var held []*call
	for range 4 {
		held = append(held, <-calls)
	}
	for _, c := range held {
		close(c.proceed)
	}
	wg.Wait()
}

func TestInvoke_BootstrapFails(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode string
		want []string
	}{
		{"exit", []string{"ended before it asked for an event: exit status 3", "no configuration"}},
		{"init error", []string{"exit status 4", `it reported {"errorType":"Extension.Crash"}`}},
		{"hang", []string{"did not ask for an event within 200ms"}},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			cfg := Config{Env: []string{"MODE=" + row.mode}}
			if row.mode == "hang" {
				cfg.InitTimeout = 200 * time.Millisecond
			}
			_, err := start(t, cfg).Invoke(t.Context(), do("echo", ""))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestInvoke_RefusesRequestID(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Timeout: time.Second})
	for _, id := range []string{"a/b", "ü", ".", ".."} {
		_, err := f.Invoke(t.Context(), Event{Payload: do("echo", "").Payload, RequestID: id})
		if err == nil || !strings.Contains(err.Error(), `"`+id+`"`) {
			t.Errorf("%s: error %v", id, err)
		}
	}
}

// The caller hangs up; the invocation goes on, and keeps its process busy.
func TestInvoke_CallerGone(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{Processes: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	hungUp := errors.New("hung up")
	done := make(chan error)
	go func() {
		_, err := f.Invoke(ctx, do("get", url))
		done <- err
	}()
	first := <-calls
	cancel(hungUp)
	if err := <-done; !errors.Is(err, hungUp) {
		t.Errorf("error %v, want %v", err, hungUp)
	}
	if _, err := f.Invoke(ctx, do("echo", "")); !errors.Is(err, hungUp) {
		t.Errorf("error %v, want %v", err, hungUp)
	}
	select {
	case <-first.gone:
		t.Error("the invocation ended with its caller")
	default:
	}
	next := make(chan Response)
	go func() {
		r, err := f.Invoke(t.Context(), do("echo", "next"))
		if err != nil {
			t.Error(err)
		}
		next <- r
	}()
	close(first.proceed)
	wantPayload(t, <-next, `"next"`)
}

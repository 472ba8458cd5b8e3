package runtimeapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// wantGone: the process has ended (whoever adopted a grandchild may not have reaped it).
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if s := state(t, pid); s != 0 && s != 'Z' && s != 'X' {
		t.Errorf("process %d lives, state %c", pid, s)
	}
}

// state is the letter of /proc/<pid>/stat, 0 for no such process.
func state(t *testing.T, pid int) byte {
	t.Helper()
	if runtime.GOOS != "linux" {
		p, err := os.FindProcess(pid)
		if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return 0
		}
		return '?'
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return after[0]
}

func TestReach_KillsAtNthCall(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	var reached atomic.Int64
	clients := make(chan (<-chan struct{}), 3)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		f.Reach("charged")
		f.Reach("another point")
		clients <- r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	if err := f.KillAt("charged", 2); err != nil {
		t.Fatal(err)
	}
	first := invoke(t, f, do("get", srv.URL))
	wantPayload(t, first, "null")
	second := invoke(t, f, do("get", srv.URL))
	wantError(t, second, "Runtime.ExitError", "RequestId: "+second.RequestID+" Error: Runtime exited with error: signal: killed")
	if second.PID != first.PID {
		t.Errorf("processes %d, %d, want one", first.PID, second.PID)
	}
	wantGone(t, second.PID)
	<-clients
	<-<-clients // the killed one's connection
	wantPayload(t, invoke(t, f, do("get", srv.URL)), "null")
	if n := reached.Load(); n != 3 {
		t.Errorf("reached %d times, want 3", n)
	}
	if err := f.KillAt("charged", 0); err == nil {
		t.Error("nth 0 was taken")
	}
}

func TestPoint_KillsTheProcessThatIsThere(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{})
	bystander := make(chan Response)
	go func() {
		r, err := f.Invoke(t.Context(), do("get", url))
		if err != nil {
			t.Error(err)
		}
		bystander <- r
	}()
	held := <-calls

	// Two kills at one point: calls 2 and 4 of five.
	for _, nth := range []int{2, 4} {
		if err := f.KillAt("b", nth); err != nil {
			t.Fatal(err)
		}
	}
	for i, kill := range []bool{false, true, false, true, false} {
		r := invoke(t, f, do("points", "a,b,c"))
		if kill {
			wantError(t, r, "Runtime.ExitError", "signal: killed")
			wantGone(t, r.PID)
			continue
		}
		if wantPayload(t, r, `"went on"`); t.Failed() {
			t.Fatalf("invocation %d", i)
		}
	}
	close(held.proceed)
	wantPayload(t, <-bystander, "null")
}

func TestPoint_InInit(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Env: []string{"MODE=init point"}})
	if err := f.KillAt("init", 1); err != nil {
		t.Fatal(err)
	}
	wantError(t, invoke(t, f, do("echo", "")), "Runtime.ExitError", "signal: killed")
	wantPayload(t, invoke(t, f, do("echo", "up")), `"up"`)
}

func TestKill_Idle(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	f.Kill() // nothing to do
	for range 3 {
		r := invoke(t, f, do("echo", "x"))
		wantPayload(t, r, `"x"`)
		f.Kill()
		wantGone(t, r.PID)
	}
}

func TestKill_TakesChildrenAlong(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("children of a process that ends by itself can be found on Linux only")
	}
	for _, end := range []string{"kill", "exit"} {
		url, calls := outside(t)
		f := start(t, Config{})
		invoke(t, f, do("child", url))
		child := <-calls
		if end == "kill" {
			f.Kill()
		} else {
			invoke(t, f, do("exit", ""))
		}
		<-child.gone
	}
}

func TestClose_LeavesNothing(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{})
	idle := invoke(t, f, do("echo", ""))
	busy := make(chan Response)
	go func() {
		r, err := f.Invoke(t.Context(), do("get", url))
		if err != nil {
			t.Error(err)
		}
		busy <- r
	}()
	<-calls
	f.Close()
	r := <-busy
	wantError(t, r, "Runtime.ExitError", "signal: killed")
	if after, err := f.Invoke(t.Context(), do("echo", "")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %+v, error %v", after, err)
	}
	wantGone(t, idle.PID)
	wantGone(t, r.PID)
	if n := len(f.alive()); n != 0 {
		t.Errorf("%d processes left", n)
	}
}

// A program that is killed cleans nothing up.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a parent's death is told to its children on Linux only")
	}
	url, calls := outside(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = []string{"MODE=parent", "URL=" + url}
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	function := <-calls
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-function.gone
	_ = parent.Wait() // killed
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{Concurrency: 2})
	late := make(chan Response)
	go func() {
		r, err := f.Invoke(t.Context(), do("get", url))
		if err != nil {
			t.Error(err)
		}
		late <- r
	}()
	held := <-calls
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	frozen := f.alive()[0].cmd.Process.Pid
	if s := state(t, frozen); runtime.GOOS == "linux" && s != 'T' {
		t.Errorf("state of the frozen process is %c", s)
	}
	close(held.proceed)

	// Others run meanwhile, and thaw only what is idle.
	other := invoke(t, f, do("echo", "1"))
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	again := invoke(t, f, do("echo", "2"))
	if other.PID == frozen || again.PID != other.PID {
		t.Errorf("processes: frozen %d, then %d, %d", frozen, other.PID, again.PID)
	}
	select {
	case r := <-late:
		t.Errorf("a frozen process answered: %+v", r)
	default:
	}
	if err := f.Thaw(); err != nil {
		t.Fatal(err)
	}
	r := <-late
	wantPayload(t, r, "null")
	if r.PID != frozen {
		t.Errorf("process %d answered, want %d", r.PID, frozen)
	}
}

func TestFreeze_KilledAtTimeout(t *testing.T) {
	t.Parallel()
	url, calls := outside(t)
	f := start(t, Config{Timeout: 300 * time.Millisecond})
	ended := make(chan Response, 1)
	go func() {
		r, err := f.Invoke(t.Context(), do("get", url))
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	<-calls
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	r := <-ended
	wantError(t, r, "Sandbox.Timedout", "Task timed out after 0.30 seconds")
	wantGone(t, r.PID)
}

// Whatever happens to the processes at once, every invocation ends as one of the two, and nothing is left.
func TestFunction_AllAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Processes: 3, Concurrency: 2})
	var callers, others sync.WaitGroup
	var answered atomic.Int64
	for i := range 6 {
		callers.Go(func() {
			for n := range 15 {
				if n%5 == 4 {
					f.Kill()
				}
				value := fmt.Sprintf("%d-%d", i, n)
				r, err := f.Invoke(t.Context(), do("echo", value))
				switch {
				case err != nil:
					t.Errorf("%s: %v", value, err)
				case r.Error != nil && r.Error.Type != "Runtime.ExitError":
					t.Errorf("%s: %v", value, *r.Error)
				case r.Error == nil && string(r.Payload) != `"`+value+`"`:
					t.Errorf("%s: answer %q", value, r.Payload)
				case r.Error == nil:
					answered.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	for _, disturb := range []func() error{f.Freeze, f.Thaw} {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := disturb(); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	callers.Wait()
	close(done)
	others.Wait()
	f.Close()
	if n := len(f.alive()); n != 0 || answered.Load() == 0 {
		t.Errorf("%d processes left, %d answers", n, answered.Load())
	}
}

func TestReach_NothingArmed(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	if err := f.KillAt("elsewhere", 1); err != nil {
		t.Fatal(err)
	}
	first := invoke(t, f, do("echo", ""))
	f.Reach("anywhere")
	if second := invoke(t, f, do("echo", "")); second.PID != first.PID {
		t.Errorf("process %d answered, want %d, which nothing should have killed", second.PID, first.PID)
	}
}

package runtimeapi

import (
	"runtime"
	"testing"
	"time"
)

// A process that is just starting a child does not stand still before that child has become a program of its own.
func TestFreeze_WhileItStartsChildren(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	invoke(t, f, do("start children", ""))
	for n := range 150 {
		frozen := make(chan error, 1)
		go func() { frozen <- f.Freeze() }()
		select {
		case err := <-frozen:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("freeze %d hangs", n+1)
		}
		if err := f.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that never stands still can be killed, others get events, and whoever freezes it returns at its end.
func TestFreeze_NeverStandsStill(t *testing.T) {
	t.Parallel()
	f := start(t, Config{})
	first := invoke(t, f, do("echo", ""))
	s := f.alive()[0]
	s.turn.Lock() // as a freeze that waits
	if !s.beginFreeze() {
		t.Fatal("a process that runs is not frozen")
	}
	if other := invoke(t, f, do("echo", "x")); other.PID == first.PID {
		t.Error("an event for a process that is being frozen")
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		f.Kill()
	}()
	for !s.hasEnded() {
		runtime.Gosched()
	}
	if runtime.GOOS == "linux" && state(t, first.PID) == 0 {
		t.Error("reaped while a freeze used its pid")
	}
	s.endFreeze(nil)
	s.turn.Unlock()
	<-killed
	wantGone(t, first.PID)
}

func (s *sandbox) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// An event that found no place but in a process that was being frozen gets it afterwards.
func TestFreeze_EventMeanwhile(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Processes: 1})
	first := invoke(t, f, do("echo", ""))
	s := f.alive()[0]
	s.turn.Lock() // as a freeze that waits
	if !s.beginFreeze() {
		t.Fatal("a process that runs is not frozen")
	}
	answered := make(chan Response, 1)
	go func() {
		r, err := f.Invoke(t.Context(), do("echo", "x"))
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	for range 1000 {
		runtime.Gosched() // the invocation comes to wait; if it does not, this shows nothing, and fails nothing
	}
	s.endFreeze(nil)
	s.turn.Unlock()
	if err := f.Freeze(); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-answered:
		if wantPayload(t, r, `"x"`); r.PID != first.PID {
			t.Errorf("process %d answered, want %d", r.PID, first.PID)
		}
	case <-time.After(20 * time.Second):
		t.Error("the event waits for ever")
	}
}

package runtimeapi

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// writerFunc is a writer of the test's.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// A writer that does not return delays the end of the process, and does not prevent it.
func TestOutput_WriterBlocks(t *testing.T) {
	t.Parallel()
	never, printed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := start(t, Config{Stdout: writerFunc(func(p []byte) (int, error) {
		once.Do(func() { close(printed) })
		<-never
		return len(p), nil
	})})
	defer close(never)
	r := invoke(t, f, do("print", "charged"))
	<-printed
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		f.Close()
	}()
	select {
	case <-closed:
		wantGone(t, r.PID)
	case <-time.After(20 * time.Second):
		t.Error("Close waits for a writer that blocks")
	}
}

func TestOutput_WriterKills(t *testing.T) {
	t.Parallel()
	var f *Function
	killed := make(chan struct{})
	f = start(t, Config{Stdout: writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "charged") {
			f.Reach("charged")
			close(killed)
		}
		return len(p), nil
	})})
	if err := f.KillAt("charged", 1); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = f.Invoke(t.Context(), do("print and hang", "charged")) }()
	select {
	case <-killed:
	case <-time.After(20 * time.Second):
		t.Fatal("Reach waits for the writer that calls it")
	}
	wantPayload(t, invoke(t, f, do("print", "again")), `"again"`)
}

// What a writer does not take is lost; the process is not.
func TestOutput_WriterFails(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	f := start(t, Config{Stdout: w})
	_ = r.CloseWithError(errors.New("full"))
	for range 3 {
		wantPayload(t, invoke(t, f, do("print", strings.Repeat("x", 1<<17))), `"`+strings.Repeat("x", 1<<17)+`"`)
	}
}

// What a process wrote arrives although it is gone by then.
func TestOutput_Complete(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	var got strings.Builder
	f := start(t, Config{Stdout: writerFunc(func(p []byte) (int, error) {
		<-proceed
		return got.Write(p)
	})})
	text := strings.Repeat("y", 60<<10) // a pipe holds it
	invoke(t, f, do("print", text))
	s := f.alive()[0]
	s.kill()
	for !s.hasEnded() {
		runtime.Gosched()
	}
	close(proceed)
	<-s.exited
	if got.String() != text+"\n" {
		t.Errorf("%d bytes arrived, want %d", got.Len(), len(text)+1)
	}
}

package runtimeapi

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipes carry what one process writes to its writers. They are not exec.Cmd's own, whose Wait waits for ever for a
// writer that blocks, or that itself waits for the end of the process.
type pipes struct {
	ours, theirs []*os.File
	copying      sync.WaitGroup
}

// open returns the process's ends.
func (p *pipes) open(stdout, stderr io.Writer) (out, err *os.File, failure error) {
	for _, w := range []io.Writer{stdout, stderr} {
		r, theirs, err := os.Pipe()
		if err != nil {
			p.started()
			p.close(0)
			return nil, nil, fmt.Errorf("pipe for the bootstrap's output: %w", err)
		}
		p.ours, p.theirs = append(p.ours, r), append(p.theirs, theirs)
		p.copying.Go(func() {
			_, _ = io.Copy(w, r)
			_, _ = io.Copy(io.Discard, r) // a writer that fails is no reason for the process to break
		})
	}
	return p.theirs[0], p.theirs[1], nil
}

// started closes this program's copies of the process's ends: the process has its own, or there is none.
func (p *pipes) started() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
}

// close is called when the process has ended. It waits for what is still to be read, but not for long: a grandchild
// that left the group may keep the pipes open, and a writer may not return.
func (p *pipes) close(patience time.Duration) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.copying.Wait()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
	}
	for _, f := range p.ours {
		_ = f.Close()
	}
}

// lockedWriter lets several processes share a writer.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// tail keeps the last limit bytes written.
type tail struct {
	limit int

	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

var (
	// errNotTaken: another process may have the event.
	errNotTaken = errors.New("the process ended before it took the event")
	errKilled   = errors.New("the process was killed before it asked for an event")
)

// sandbox is one process and its Runtime API server. It ends with its process.
type sandbox struct {
	f      *Function
	cmd    *exec.Cmd
	server *http.Server
	output pipes
	work   chan *invocation // events for the process; holds as many as can be reserved

	askOnce sync.Once
	asked   chan struct{} // closed at the first request for an event: the process is initialised
	exited  chan struct{} // closed when the process is gone and its output read, but for what a writer does not take
	exit    error         // how it ended; set before exited is closed

	turn     sync.Mutex     // one freeze or thaw at a time; taken before mu, and never by kill
	inFreeze sync.WaitGroup // the freeze under way: the process is not reaped before its end

	mu          sync.Mutex             // never held while something is waited for
	invocations map[string]*invocation // reserved or running, by request id
	stance      stance
	killed      bool   // by this package
	ended       bool   // its pid may soon belong to another process
	initError   string // what the process said of its own start
}

// start runs the bootstrap. The process outlives ctx.
func (f *Function) start(ctx context.Context) (*sandbox, error) {
	ctx = context.WithoutCancel(ctx)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the Runtime API: %w", err)
	}
	s := &sandbox{
		f:           f,
		cmd:         exec.CommandContext(ctx, f.cfg.Path, f.cfg.Args...),
		work:        make(chan *invocation, f.cfg.Concurrency),
		asked:       make(chan struct{}),
		exited:      make(chan struct{}),
		invocations: map[string]*invocation{},
	}
	s.server = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // a killed client is no news
	}
	s.cmd.Env = append(environment(f.cfg, listener.Addr().String()), f.cfg.Env...)
	s.cmd.SysProcAttr = processAttributes()
	if s.cmd.Stdout, s.cmd.Stderr, err = s.output.open(f.cfg.Stdout, f.cfg.Stderr); err != nil {
		_ = listener.Close()
		return nil, err
	}

	started := make(chan error)
	go func() {
		// The signal that takes the child along when this program dies is bound to the life of the
		// thread that started it: the thread is kept, and stays in wait.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		s.output.started()
		started <- err
		if err == nil {
			s.wait()
		}
	}()
	if err := <-started; err != nil {
		_ = listener.Close()
		s.output.close(0)
		return nil, fmt.Errorf("start the bootstrap: %w", err)
	}
	go func() { _ = s.server.Serve(listener) }() // returns when the server is closed
	return s, nil
}

// wait reaps the process and ends the sandbox.
func (s *sandbox) wait() {
	if awaitExit(s.cmd.Process.Pid) {
		// Not reaped yet, so that its pid still names the group: its children go with it.
		s.end(killGroup)
		s.inFreeze.Wait() // ends with the process
	}
	s.exit = s.cmd.Wait()
	s.end(nil)
	s.output.close(time.Second)
	_ = s.server.Close()
	s.f.remove(s) // first: whoever waited for the end finds a new process
	close(s.exited)
}

// end bars the pid from further use, after a last one.
func (s *sandbox) end(last func(*os.Process)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil {
		last(s.cmd.Process)
	}
	s.ended = true
}

// reserve gives inv a place, if there is one.
func (s *sandbox) reserve(inv *invocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, twin := s.invocations[inv.RequestID] // answers could not be told apart
	if s.ended || s.killed || twin || len(s.invocations) >= s.f.cfg.Concurrency {
		return false
	}
	if s.stance != running && (len(s.invocations) > 0 || s.thawLocked() != nil) {
		return false
	}
	inv.taken = false
	s.invocations[inv.RequestID] = inv
	return true
}

func (s *sandbox) release(inv *invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.invocations, inv.RequestID)
}

// serve hands a reserved event to the process and waits for its end.
func (s *sandbox) serve(inv *invocation) (Response, error) {
	if err := s.initialise(); errors.Is(err, errKilled) {
		return s.failedByExit(inv), nil
	} else if err != nil {
		return Response{}, err
	}
	inv.deadline = time.Now().Add(s.f.cfg.Timeout)
	s.work <- inv // has room for every reserved event
	timeout := time.NewTimer(s.f.cfg.Timeout)
	defer timeout.Stop()
	select {
	case r := <-inv.answer:
		return r, nil
	case <-timeout.C:
		if !inv.settle() {
			return <-inv.answer, nil
		}
		s.kill()
		<-s.exited
		return s.failed(inv, typeTimedOut, "Task timed out after %.2f seconds", s.f.cfg.Timeout.Seconds()), nil
	case <-s.exited:
		if !s.took(inv) {
			return Response{}, errNotTaken
		}
		if !inv.settle() {
			return <-inv.answer, nil
		}
		return s.failedByExit(inv), nil
	}
}

// initialise waits until the process has asked for its first event.
func (s *sandbox) initialise() error {
	timeout := time.NewTimer(s.f.cfg.InitTimeout)
	defer timeout.Stop()
	select {
	case <-s.asked:
		return nil
	case <-timeout.C:
		s.kill()
		<-s.exited
		return fmt.Errorf("bootstrap %s did not ask for an event within %v%s", s.f.cfg.Path, s.f.cfg.InitTimeout, s.told())
	case <-s.exited:
	}
	select {
	case <-s.asked:
		return errNotTaken
	default:
	}
	s.mu.Lock()
	killed := s.killed
	s.mu.Unlock()
	if killed {
		return errKilled
	}
	return fmt.Errorf("bootstrap %s ended before it asked for an event: %s%s", s.f.cfg.Path, s.cmd.ProcessState, s.told())
}

func (s *sandbox) took(inv *invocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inv.taken
}

func (s *sandbox) failed(inv *invocation, errorType, format string, args ...any) Response {
	r := inv.failed(errorType, format, args...)
	r.PID = s.cmd.Process.Pid
	return r
}

func (s *sandbox) failedByExit(inv *invocation) Response {
	if s.exit == nil {
		return s.failed(inv, typeExited, "Runtime exited without providing a reason")
	}
	return s.failed(inv, typeExited, "Runtime exited with error: %v", s.exit)
}

// told is what the process said about its failed start, as the end of an error text.
func (s *sandbox) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text string
	if s.initError != "" {
		text = "; it reported " + s.initError
	}
	if out := s.f.Output(); out != "" {
		text += "; it wrote:\n" + out
	}
	return text
}

// kill sends SIGKILL to the process's group: to it and to its children, but for one that has left the group. exited is
// closed when it is gone.
func (s *sandbox) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	if !s.ended {
		killGroup(s.cmd.Process)
	}
}

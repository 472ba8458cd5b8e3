// Package runtimeapi is a local Lambda: it runs a bootstrap as child processes, serves each of them
// the Lambda Runtime API on loopback, and ends them as Lambda would (time-out) or as a power cut
// would (SIGKILL at a named point).
//
// A [Function] hands invocations to sandboxes. A sandbox is one process with a Runtime API server of
// its own, so that whoever asks for an event, answers, or names a point is known by the address asked.
package runtimeapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrClosed is returned by Invoke after Close.
var ErrClosed = errors.New("function is closed")

// Config says what a function runs, and within which limits.
type Config struct {
	Path        string        // "": the running binary
	Args        []string      // without the program's name
	Env         []string      // added to Lambda's own variables; the last one of a name wins
	Timeout     time.Duration // of one invocation; 0: 3 s
	InitTimeout time.Duration // from the start to the first request for an event; 0: 10 s
	Processes   int           // at most at once; 0: 64
	Concurrency int           // invocations at once in one process; 0: 1
	ClockOffset time.Duration // of the clock that the processes are told to have
	Stdout      io.Writer     // nil: kept, see Function.Output
	Stderr      io.Writer     // nil: kept, see Function.Output
}

// Function runs a bootstrap for its invocations. Its methods may be called concurrently.
type Function struct {
	cfg     Config
	output  *tail
	points  points
	running sync.WaitGroup // one for each invocation that has begun

	mu        sync.Mutex
	sandboxes []*sandbox    // alive, the most recently used one last
	changed   chan struct{} // closed and replaced when a sandbox may have got free, or went away
	closed    bool
}

// New checks the configuration. The first process is started by the first invocation.
func New(cfg Config) (*Function, error) {
	if cfg.Path == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("path of the running binary: %w", err)
		}
		cfg.Path = self
	}
	path, err := exec.LookPath(cfg.Path)
	if err == nil {
		path, err = filepath.Abs(path) // the test may change its directory
	}
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	cfg.Path = path
	for name, texts := range map[string][]string{"Args": cfg.Args, "Env": cfg.Env} {
		for _, text := range texts {
			if strings.Contains(text, "\x00") {
				return nil, fmt.Errorf("config: %s has %q, must have no NUL: no process could be started", name, text)
			}
		}
	}
	if cfg.Timeout < 0 || cfg.InitTimeout < 0 || cfg.Processes < 0 || cfg.Concurrency < 0 {
		return nil, fmt.Errorf("config: Timeout %v, InitTimeout %v, Processes %d, Concurrency %d: none may be negative",
			cfg.Timeout, cfg.InitTimeout, cfg.Processes, cfg.Concurrency)
	}
	cfg.Args, cfg.Env = slices.Clone(cfg.Args), slices.Clone(cfg.Env)
	cfg.Timeout = cmp.Or(cfg.Timeout, 3*time.Second)
	cfg.InitTimeout = cmp.Or(cfg.InitTimeout, 10*time.Second)
	cfg.Processes = cmp.Or(cfg.Processes, 64)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 1)

	f := &Function{cfg: cfg, output: &tail{limit: 64 << 10}, changed: make(chan struct{})}
	// Several processes write to the same writer, and Stdout and Stderr may be one.
	lock := new(sync.Mutex)
	for _, w := range []*io.Writer{&f.cfg.Stdout, &f.cfg.Stderr} {
		if *w == nil {
			*w = f.output
		}
		*w = &lockedWriter{mu: lock, w: *w}
	}
	return f, nil
}

// Invoke sends one event and waits for its end: the answer, the time-out, or the death of the
// process, all of which are Responses. The error is for an event that could not be sent, and for a
// ctx that ended first: an invocation that has begun goes on without its caller, as on Lambda.
func (f *Function) Invoke(ctx context.Context, ev Event) (Response, error) {
	type end struct {
		r   Response
		err error
	}
	ev.RequestID = cmp.Or(ev.RequestID, NewUUID())
	ends := make(chan end, 1)
	if err := f.Begin(ctx, ev, func(r Response, err error) { ends <- end{r, err} }); err != nil {
		return Response{}, err
	}
	select {
	case e := <-ends:
		return e.r, e.err
	case <-ctx.Done():
		return Response{}, fmt.Errorf("invoke: waiting for the end of %s: %w", ev.RequestID, context.Cause(ctx))
	}
}

// Begin is Invoke without the wait: ended is called with its results, from another goroutine, unless Begin itself
// fails, and before Close returns. An event that no process has got a place for when ctx ends is given up.
func (f *Function) Begin(ctx context.Context, ev Event, ended func(Response, error)) error {
	ev.Payload = slices.Clone(ev.Payload) // the caller may be gone, and use it for something else
	ev.RequestID = cmp.Or(ev.RequestID, NewUUID())
	if url.PathEscape(ev.RequestID) != ev.RequestID || ev.RequestID == "." || ev.RequestID == ".." {
		// The process puts it into the path of its answer as it is.
		return fmt.Errorf("request id %q: must be able to stand in a URL's path as it is", ev.RequestID)
	}
	if !f.begin() {
		return fmt.Errorf("invoke: %w", ErrClosed)
	}
	go func() {
		defer f.running.Done()
		r, err := f.run(ctx, &invocation{Event: ev, answer: make(chan Response, 1)})
		if err != nil {
			r, err = Response{}, fmt.Errorf("invoke: %w", err)
		}
		ended(r, err)
	}()
	return nil
}

func (f *Function) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.running.Add(1)
	}
	return !f.closed
}

// run serves inv by one sandbox, or by the next where that one ended before it took the event: a
// process that panicked exits after it has answered, and may be given an event in between.
func (f *Function) run(ctx context.Context, inv *invocation) (Response, error) {
	err := errNotTaken
	// Each try that fails uses up a process, so that the last one was started for this event.
	for range f.cfg.Processes + 1 {
		var s *sandbox
		if s, err = f.take(ctx, inv); err != nil {
			break
		}
		var r Response
		r, err = s.serve(inv)
		f.release(s, inv)
		if !errors.Is(err, errNotTaken) {
			return r, err
		}
	}
	return Response{}, err
}

// take reserves a place for inv: in a running process that has one free, else in a new one, else
// in the first that gets free.
func (f *Function) take(ctx context.Context, inv *invocation) (*sandbox, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s, changed, err := f.tryTake(ctx, inv)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (f *Function) tryTake(ctx context.Context, inv *invocation) (*sandbox, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, ErrClosed
	}
	for i, s := range slices.Backward(f.sandboxes) {
		if s.reserve(inv) {
			f.sandboxes = append(slices.Delete(f.sandboxes, i, i+1), s)
			return s, nil, nil
		}
	}
	if len(f.sandboxes) >= f.cfg.Processes {
		return nil, f.changed, nil
	}
	// Under the lock, so that Kill and Close miss no process that is being started.
	s, err := f.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.reserve(inv)
	f.sandboxes = append(f.sandboxes, s)
	return s, nil, nil
}

func (f *Function) release(s *sandbox, inv *invocation) {
	s.release(inv)
	f.placesChanged()
}

// remove is called when the process of s is gone.
func (f *Function) remove(s *sandbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes = slices.DeleteFunc(f.sandboxes, func(other *sandbox) bool { return other == s })
	f.broadcast()
}

// placesChanged wakes who waits for a place.
func (f *Function) placesChanged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broadcast()
}

func (f *Function) broadcast() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Function) alive() []*sandbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sandboxes)
}

// Kill sends SIGKILL to every process's group and returns when the processes are gone.
func (f *Function) Kill() {
	all := f.alive()
	for _, s := range all {
		s.kill()
	}
	for _, s := range all {
		<-s.exited
	}
}

// Freeze stops every process where it is and returns when they stand still. A process with an
// invocation in hand stands until Thaw or its time-out; an idle one runs on when it is given an event.
func (f *Function) Freeze() error {
	var errs []error
	for _, s := range f.alive() {
		errs = append(errs, s.freeze())
	}
	f.placesChanged() // an idle process may be given an event again
	return errors.Join(errs...)
}

// Thaw lets every frozen process run on.
func (f *Function) Thaw() error {
	var errs []error
	for _, s := range f.alive() {
		errs = append(errs, s.thaw())
	}
	f.placesChanged()
	return errors.Join(errs...)
}

// Output is the end of what the processes wrote, as far as no writer was given for it.
func (f *Function) Output() string { return f.output.String() }

// Close kills every process's group, and returns when the processes are gone and every Invoke has its Response.
func (f *Function) Close() {
	f.mu.Lock()
	f.closed = true
	f.broadcast()
	f.mu.Unlock()
	f.Kill()
	f.running.Wait()
}

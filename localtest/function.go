package localtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// Bootstrap says what to run as the function. The zero value runs the test binary itself.
type Bootstrap struct {
	// Path is the program, as Lambda would run it: it asks the Runtime API for events. A relative one
	// starts from the directory in which StartFunction is called.
	// "" is the running binary: its TestMain (or main) has to call lambda.Start where the
	// environment has AWS_LAMBDA_RUNTIME_API.
	Path string
	Args []string

	// Env is added to Lambda's variables, as "NAME=value"; the last one of a name wins. Nothing else
	// of the test's environment reaches the process. Region and credentials are made up.
	Env []string

	// Timeout of one invocation, from the moment at which the process is ready for it. Default 3 s,
	// as Lambda's.
	Timeout time.Duration

	// Processes is how many sandboxes there may be at once. An invocation gets an idle one, else a
	// new one, else it waits. Default 64.
	Processes int

	// Concurrency is how many invocations one process may have at once; the process is told by
	// AWS_LAMBDA_MAX_CONCURRENCY. Default 1.
	Concurrency int

	// ClockOffset is how far the clock of the processes is off: what [Now] says there. The clock of a program that
	// asks somewhere else, and the deadlines of invocations, stay as they are. Default 0; may be negative.
	ClockOffset time.Duration

	// Stdout and Stderr get what the processes write. Default: the end of it is kept, and logged if
	// the test fails. Writes never overlap. They must not block, nor call methods of the Function: a
	// process that writes more waits for them, its end waits for one second, and then what they have
	// not taken is lost.
	Stdout, Stderr io.Writer
}

// Event is what an invocation brings.
type Event struct {
	Payload []byte // JSON

	// RequestID is what the handler sees as AwsRequestID. Default: a fresh UUID. A retry of an
	// asynchronous invocation has the one of the first try.
	RequestID string

	// TenantID is for a function with tenant isolation.
	TenantID string
}

// Response is the end of an invocation, as the caller of Lambda sees it.
type Response struct {
	Payload   []byte         // the handler's result; the error document where Error is set
	Error     *FunctionError // nil: success
	RequestID string
	PID       int // of the process that had the event: the same one again is a warm start
}

// FunctionError is an invocation that did not succeed. Types that no handler has:
//
//	Runtime.ExitError              the process ended within the invocation: it exited, or was killed
//	Sandbox.Timedout               the time-out; the process is gone
//	Function.ResponseSizeTooLarge  the answer is above 6,291,556 bytes
type FunctionError struct {
	Type    string // errorType: for a Go handler the name of the error's type
	Message string // errorMessage
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Function is a local Lambda function. Its methods may be called concurrently.
type Function struct {
	tb TB
	fn *runtimeapi.Function

	mu    sync.Mutex
	ended bool // the test is over: nobody may report to tb; guarded by mu
}

// StartFunction runs a bootstrap as Lambda does: real processes, which ask a Runtime API on loopback
// for events. It is for what a test within one process cannot show: that a process which is killed
// between two steps leaves a state with which the next one does the right thing.
//
// # Processes
//
// The first invocation starts a process. One that has answered is used again; a further one starts
// when all are busy. A panic ends the process, and the next invocation starts another one. At the
// end of tb every process is killed. On Linux bootstraps also die with a test that dies before that;
// what they have started does not.
//
// Killing and freezing reach every process of the function's process group: the bootstrap and what it
// has started. A child that leaves the group (setsid) is the function's own affair, and outlives it.
//
// # Time
//
// Deadlines are wall-clock time: at the time-out the process gets SIGKILL. Time does not stop
// between invocations, unless the test calls [Function.Freeze]. Clocks that differ are functions that
// differ in Bootstrap.ClockOffset.
//
// StartFunction must be called outside of a testing/synctest bubble, and fails the test inside: the
// bubble's time jumps ahead while everything in it waits, processes do not, and all time-outs would
// be over at once.
//
// # Points
//
// [Function.KillAt] arms a kill at a named point: a place in the test's own code that the processes
// cause to run, such as a fake of another service or a hook of the table ([Function.Reach]), or, where
// the test binary is its own bootstrap, a place in the function ([Point]).
//
// StartFunction fails the test if there is no such program, or b has something that cannot be.
func StartFunction(tb TB, b Bootstrap) *Function {
	tb.Helper()
	if inBubble() {
		tb.Fatalf("localtest: start function: called inside of a testing/synctest bubble, must be called outside: processes know no virtual time")
	}
	if b.Path == "" && os.Getenv(runtimeapi.PointsVariable) != "" {
		// Else each process would run the tests, and start processes.
		tb.Fatalf("localtest: this process is itself a function: its TestMain (or main) must call lambda.Start where AWS_LAMBDA_RUNTIME_API is set")
	}
	fn, err := runtimeapi.New(runtimeapi.Config{
		Path: b.Path, Args: b.Args, Env: b.Env,
		Timeout: b.Timeout, Processes: b.Processes, Concurrency: b.Concurrency, ClockOffset: b.ClockOffset,
		Stdout: b.Stdout, Stderr: b.Stderr,
	})
	if err != nil {
		tb.Fatalf("localtest: start function: %v", err)
	}
	f := &Function{tb: tb, fn: fn}
	tb.Cleanup(func() {
		fn.Close()
		f.mu.Lock()
		f.ended = true
		f.mu.Unlock()
		if t, ok := tb.(interface{ Failed() bool }); ok && t.Failed() && fn.Output() != "" {
			tb.Logf("localtest: the function wrote:\n%s", fn.Output())
		}
	})
	return f
}

// inBubble: the head of a goroutine's stack names its testing/synctest bubble, as in
// "goroutine 7 [running, synctest bubble 1]:". There is no function to ask.
func inBubble() bool {
	var stack [256]byte
	head, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), "]")
	return strings.Contains(head, ", synctest bubble ")
}

// errorf fails the test, unless it is over: a handler may still be in use then.
func (f *Function) errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.tb.Errorf(format, args...)
	}
}

// Invoke sends one event and waits for its end: the answer, the time-out, or the death of the
// process. All three are a Response.
//
// The error says that the event could not be sent: the function is closed, or the bootstrap ends, or
// stays silent for 10 s, before it asks for its first event; the text has what it wrote. Or it is
// that of ctx, which ended first: an invocation that has begun goes on without its caller.
func (f *Function) Invoke(ctx context.Context, ev Event) (Response, error) {
	r, err := f.fn.Invoke(ctx, runtimeapi.Event(ev))
	return Response{Payload: r.Payload, Error: (*FunctionError)(r.Error), RequestID: r.RequestID, PID: r.PID}, err
}

// Deliver sends the same event again until the function succeeds, as Lambda does for asynchronous invocations: with the
// same request id, after an error, a time-out or the death of the process. It returns the end of each try; the last one
// says how it went. tries is how many there are at most: 3 is what Lambda does unless the function is configured
// otherwise. Lambda waits one minute before the second try and two before the third; Deliver does not wait.
//
// SQS and streams are different: each delivery is an invocation of its own, by [Queue.Deliver] or [Function.Invoke], with a
// request id of its own, and an SQS message with a higher ApproximateReceiveCount.
//
// The error is that of Invoke, or says that tries is less than 1.
func (f *Function) Deliver(ctx context.Context, ev Event, tries int) ([]Response, error) {
	if tries < 1 {
		return nil, fmt.Errorf("deliver: tries is %d, must be 1 or more", tries)
	}
	ev.RequestID = cmp.Or(ev.RequestID, runtimeapi.NewUUID())
	var ends []Response
	for range tries {
		r, err := f.Invoke(ctx, ev)
		if err != nil {
			return ends, fmt.Errorf("deliver: %w", err)
		}
		ends = append(ends, r)
		if r.Error == nil {
			break
		}
	}
	return ends, nil
}

// Kill sends SIGKILL to every process, with its group, and returns when they are gone. The next
// invocation starts a new one.
func (f *Function) Kill() { f.fn.Kill() }

// Freeze stops every process where it is (SIGSTOP) and returns when they stand still (what they have
// started is stopped, too, and not waited for); on systems without signals it fails the test. A process with an invocation in hand stands until [Function.Thaw]
// or its time-out, and other invocations run in other processes meanwhile. An idle one runs on when it
// is given an event, as Lambda's do.
func (f *Function) Freeze() {
	f.tb.Helper()
	if err := f.fn.Freeze(); err != nil {
		f.tb.Fatalf("localtest: %v", err)
	}
}

// Thaw lets every frozen process run on.
func (f *Function) Thaw() {
	f.tb.Helper()
	if err := f.fn.Thaw(); err != nil {
		f.tb.Fatalf("localtest: %v", err)
	}
}

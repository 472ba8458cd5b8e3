package runtimeapi

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Event is what an invocation brings.
type Event struct {
	Payload   []byte
	RequestID string // "": a fresh UUID
	TenantID  string
}

// Response is the end of an invocation, as the caller of Lambda sees it.
type Response struct {
	Payload   []byte         // the handler's result, or the error document
	Error     *FunctionError // nil: success
	RequestID string
	PID       int // of the process
}

// FunctionError is an invocation that failed.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Types that Lambda gives, not the function.
const (
	typeTimedOut  = "Sandbox.Timedout"
	typeExited    = "Runtime.ExitError"
	typeTooLarge  = "Function.ResponseSizeTooLarge"
	typeUnhandled = "Unhandled"
)

// maxResponse is the largest answer of a buffered invocation, in bytes.
const maxResponse = 6291556

// Headers and trailers of the Runtime API.
const (
	headerRequestID    = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline     = "Lambda-Runtime-Deadline-Ms"
	headerFunctionARN  = "Lambda-Runtime-Invoked-Function-Arn"
	headerTraceID      = "Lambda-Runtime-Trace-Id"
	headerTenantID     = "Lambda-Runtime-Aws-Tenant-Id"
	trailerErrorType   = "Lambda-Runtime-Function-Error-Type"
	trailerErrorBase64 = "Lambda-Runtime-Function-Error-Body"
)

// invocation is an event on its way.
type invocation struct {
	Event
	deadline time.Time // set before a process can take it
	taken    bool      // a process has the event; guarded by the sandbox's mu

	// settled decides between an answer, the time-out and the end of the process: whoever sets it
	// says what the caller gets.
	settled atomic.Bool
	answer  chan Response // holds one: the process's own answer
}

func (inv *invocation) settle() bool { return inv.settled.CompareAndSwap(false, true) }

func (inv *invocation) failed(errorType, format string, args ...any) Response {
	e := FunctionError{Type: errorType, Message: fmt.Sprintf("RequestId: %s Error: ", inv.RequestID) + fmt.Sprintf(format, args...)}
	doc, err := json.Marshal(e)
	if err != nil {
		panic(err) // two strings: cannot happen
	}
	return Response{Payload: doc, Error: &e, RequestID: inv.RequestID}
}

// failedBy reads the error document that the function sent.
func (inv *invocation) failedBy(doc []byte) Response {
	e := FunctionError{Type: typeUnhandled}
	if err := json.Unmarshal(doc, &e); err != nil {
		e.Message = string(doc)
	}
	return Response{Payload: doc, Error: &e, RequestID: inv.RequestID}
}

// succeeded is the answer with this body, unless the trailers tell that it broke off: a handler that
// answers with an io.Reader can fail while it is read.
func (inv *invocation) succeeded(body []byte, trailer http.Header) Response {
	if trailer.Get(trailerErrorType) != "" {
		if doc, err := base64.StdEncoding.DecodeString(trailer.Get(trailerErrorBase64)); err == nil {
			return inv.failedBy(doc)
		}
	}
	return Response{Payload: body, RequestID: inv.RequestID}
}

// NewUUID is a fresh request id.
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newTraceID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", time.Now().Unix(), b[:12], b[12:])
}

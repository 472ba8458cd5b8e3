package localtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// inMemory is an HTTP client of the SDK that serves its requests itself, in the caller's goroutine.
type inMemory struct{ serve exchange }

// Do fails as an *http.Client on a real network does.
func (t inMemory) Do(r *http.Request) (*http.Response, error) {
	a, err := t.do(r)
	if err != nil {
		return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: err}
	}
	res := &http.Response{
		Status:        fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)),
		StatusCode:    a.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.head(),
		ContentLength: int64(len(a.Body)),
		Request:       r,
	}
	var body io.Reader = bytes.NewReader(a.Body)
	if a.truncated {
		body = io.MultiReader(bytes.NewReader(a.Body[:len(a.Body)/2]), brokenOff{})
	}
	res.Body = io.NopCloser(body)
	return res, nil
}

func (t inMemory) do(r *http.Request) (answer, error) {
	if err := r.Context().Err(); err != nil {
		return answer{}, err
	}
	operation, body, refusal := dynamo.ReadRequest(r)
	if refusal != nil {
		return answer{Reply: *refusal}, nil
	}
	a, err := t.serve(r.Context(), operation, body)
	if ended := r.Context().Err(); ended != nil {
		return answer{}, ended // whoever has hung up hears of nothing that came afterwards
	}
	if errors.Is(err, errCut) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return a, err
}

// brokenOff is the end of a body that is shorter than its Content-Length.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Listen serves the database on a free port of 127.0.0.1 until the end of the test, for child processes, and returns
// the URL to give to them as the endpoint. Faults and log are those of the in-memory transport; a cut connection is
// really reset. At the end every connection is closed, which ends what a fault makes hang, and no request, hooks
// included, is still being served afterwards.
func (db *DB) Listen(tb TB) string {
	tb.Helper()
	return serveLoopback(tb, db.Handler())
}

// Handler serves the database over HTTP, in DynamoDB's JSON protocol; signatures are not checked.
func (db *DB) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation, body, refusal := dynamo.ReadRequest(r)
		var a answer
		var err error
		if refusal != nil {
			a.Reply = *refusal
		} else {
			a, err = db.serve(r.Context(), operation, body)
		}
		if err != nil {
			reset(w)
			return
		}
		maps.Copy(w.Header(), a.head())
		w.WriteHeader(a.Status)
		if a.truncated {
			_, _ = w.Write(a.Body[:len(a.Body)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // closes the connection under the rest of the body
		}
		_, _ = w.Write(a.Body) // the caller may be gone
	})
}

// reset cuts the connection so that the caller sees a reset, not an orderly end.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close then sends RST
	}
	_ = conn.Close()
}

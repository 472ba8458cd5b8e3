package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"unicode/utf8"

	"github.com/oncekey/oncekey/idempotency"
)

// maxRequest is what API Gateway lets through, in bytes.
const maxRequest = 10 << 20

// Middleware is the contract for a net/http handler, in a Lambda function behind an adapter or in a server.
//
// There is no authoriser that it knows of: HTTPConfig.Request sets the scope, from what a handler before this one has
// put into the context. HTTPConfig.Operation defaults to the pattern of the ServeMux that the handler is registered with,
// and is required otherwise. The request's body is read whole, up to 10 MB, and the answer is held back until it is recorded:
// neither streams, nor can the connection be taken over; informational answers (1xx) and trailers are dropped.
//
// The handler's context ends before the request's, or before the lease where that has no deadline. A panic goes on.
func Middleware(r *idempotency.Runner, c HTTPConfig) func(http.Handler) http.Handler {
	w, err := newWeb(r, c)
	return func(next http.Handler) http.Handler {
		err := err // of this handler: another one made by the same middleware may be right
		if err == nil && next == nil {
			err = missing("next", "a handler is required")
		}
		return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if err != nil {
				misconfigured(req.Context(), c, err)
				problemMisconfigured.response("", 0).writeTo(rw)
				return
			}
			w.serveHTTP(rw, req, next)
		})
	}
}

func (w *web) serveHTTP(rw http.ResponseWriter, req *http.Request, next http.Handler) {
	q := &HTTPRequest{
		Method: req.Method, Route: routeOf(req.Pattern), Path: req.URL.EscapedPath(), Header: req.Header, Event: req,
	}
	q.query(req.URL.RawQuery)
	if w.passes(q) {
		next.ServeHTTP(rw, req)
		return
	}
	if req.PostForm != nil || req.MultipartForm != nil {
		misconfigured(req.Context(), w.cfg, errFormParsed) // what is left of the body would not tell two requests apart
		problemMisconfigured.response("", 0).writeTo(rw)
		return
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	b, err := io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
	if err == nil && len(b) > maxRequest {
		err = fmt.Errorf("the body is larger than %d bytes", maxRequest)
	}
	if err != nil {
		problemUnreadable.response(err.Error(), 0).writeTo(rw)
		return
	}
	q.Body = b
	first := &held{header: rw.Header().Clone()} // with what the handlers before this one have set, to add to
	res, own, err := w.serve(req.Context(), q, func(ctx context.Context) (response, error) {
		inner := req.Clone(ctx)
		inner.Body = io.NopCloser(bytes.NewReader(b))
		next.ServeHTTP(first, inner)
		return first.response(), nil
	})
	switch {
	case err != nil:
		w.cfg.Logger.ErrorContext(req.Context(), "idempotency: a request failed", "error", err)
		http.Error(rw, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	case own:
		first.writeTo(rw)
	default:
		res.writeTo(rw)
	}
}

var errFormParsed = errors.New("the form was parsed before the middleware: put the middleware before whatever reads the body")

// held is an answer that is not sent yet.
type held struct {
	header http.Header
	status int
	sent   http.Header // as it was when the status was set
	body   bytes.Buffer
}

func (h *held) Header() http.Header { return h.header }

func (h *held) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("idempotency: WriteHeader(%d): no such status", status)) // as net/http does
	}
	if h.status != 0 || status < 200 { // informational answers are not passed on
		return
	}
	h.status, h.sent = status, h.header.Clone()
}

func (h *held) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

func (h *held) response() response {
	h.WriteHeader(http.StatusOK)
	r := response{Status: h.status, Headers: h.sent, Body: h.body.String()}
	// As net/http would find it for the first answer: not where the handler has said that there is none.
	if _, set := r.Headers["Content-Type"]; !set && r.Headers.Get("Content-Encoding") == "" && h.body.Len() > 0 {
		r.Headers.Set("Content-Type", http.DetectContentType(h.body.Bytes()))
	}
	if !utf8.Valid(h.body.Bytes()) { // which JSON would change
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(h.body.Bytes()), true
	}
	return r
}

func (h *held) writeTo(rw http.ResponseWriter) {
	clear(rw.Header()) // the handler may have deleted some
	maps.Copy(rw.Header(), h.sent)
	rw.WriteHeader(h.status)
	_, _ = rw.Write(h.body.Bytes()) // the client may be gone
}

func (r response) writeTo(rw http.ResponseWriter) {
	b, err := body(r.Body, r.Base64)
	if err != nil { // it was recorded by this package
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	maps.Copy(rw.Header(), r.Headers)
	rw.WriteHeader(r.Status)
	_, _ = rw.Write(b) // the client may be gone
}

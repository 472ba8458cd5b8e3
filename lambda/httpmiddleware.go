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
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/oncekey/oncekey/idempotency"
)

// maxRequest is what API Gateway lets through, in bytes.
const maxRequest = 10 << 20

// Middleware is the contract for a net/http handler, in a Lambda function behind an adapter or in a server.
//
// There is no authoriser that it knows of: HTTPConfig.Request sets the scope, from what a handler before this one has
// put into the context. HTTPConfig.Operation defaults to the pattern of the ServeMux that the handler is registered with,
// and is required otherwise. The request's body is read whole, up to 10 MB, and the answer, of any length, is held back until
// it is recorded: neither streams, nor can the connection be taken over; informational answers (1xx) and trailers are dropped.
//
// A handler that does not know whether its effect has happened calls [OutcomeUnknown], since it can return no error. Its
// context ends when the client hangs up, as in net/http: an answer after that which would release the key leaves the outcome
// unknown. It also ends before the request's, or before the lease where that has no deadline. A panic goes on.
func Middleware(r *idempotency.Runner, c HTTPConfig) func(http.Handler) http.Handler {
	w, err := newWeb(r, c)
	return func(next http.Handler) http.Handler {
		err := err // of this handler: another one made by the same middleware may be right
		if err == nil && next == nil {
			err = missing("next", "a handler is required")
		}
		if err != nil {
			misconfigured(c, err) // when the process starts, too
		}
		return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if err != nil {
				misconfigured(c, err)
				problemMisconfigured.response("", 0).writeTo(rw)
				return
			}
			w.serveHTTP(rw, req, next)
		})
	}
}

func (w *web) serveHTTP(rw http.ResponseWriter, req *http.Request, next http.Handler) {
	q := &HTTPRequest{
		Method: req.Method, Route: routeOf(req.Pattern), Path: pathOf(req), Header: req.Header, Event: req,
	}
	q.query(req.URL.RawQuery)
	if w.passes(q) {
		next.ServeHTTP(rw, req.WithContext(context.WithValue(req.Context(), requestKey{}, q)))
		return
	}
	// With what the handlers before this one have set, to add to.
	first := &held{header: rw.Header().Clone(), outer: rw.Header().Clone()}
	res, own, err := w.serve(req.Context(), q, func() ([]byte, error) { return bodyOf(req) }, func(ctx context.Context) (response, error) {
		inner := req.Clone(ctx)
		inner.Body = io.NopCloser(bytes.NewReader(q.Body))
		defer func() { // net/http does so for the request that it knows, which is not this one
			if inner.MultipartForm != nil {
				_ = inner.MultipartForm.RemoveAll() // what cannot be removed is in nobody's way
			}
		}()
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

// pathOf is the path that the client has sent: http.StripPrefix and its like take parts off the URL's.
func pathOf(req *http.Request) string {
	if sent, err := url.ParseRequestURI(req.RequestURI); err == nil {
		return sent.EscapedPath()
	}
	return req.URL.EscapedPath() // of a request that was not received
}

// bodyOf reads the request's body whole. Its error is a *refused.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	if (req.PostForm != nil || req.MultipartForm != nil) && isForm(req.Header.Get("Content-Type")) {
		return nil, refuse(problemMisconfigured, "the form was parsed before the middleware: "+readBefore)
	}
	b, err := io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge || len(b) > maxRequest:
		return nil, &refused{problemUnreadable.as(http.StatusRequestEntityTooLarge), "the body is larger than the server takes", err}
	case err != nil: // the client may do better next time
		return nil, &refused{problemUnreadable.as(http.StatusRequestTimeout), "the body broke off", err}
	case len(b) == 0 && req.ContentLength > 0:
		return nil, refuse(problemMisconfigured, "the body was read before the middleware: "+readBefore)
	}
	return b, nil
}

// readBefore: what is left of the body would not tell two requests apart.
const readBefore = "put the middleware before whatever reads the body"

func isForm(contentType string) bool {
	kind := mediaType(contentType)
	return kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data"
}

// held is an answer that is not sent yet.
type held struct {
	header http.Header
	outer  http.Header // what the handlers before have set
	status int
	sent   http.Header // as it was when the status was set
	body   bytes.Buffer
}

func (h *held) Header() http.Header { return h.header }

func (h *held) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("idempotency: WriteHeader(%d): no such status", status)) // as net/http does
	}
	if status == http.StatusSwitchingProtocols {
		panic("idempotency: WriteHeader(101): the connection cannot be taken over")
	}
	if h.status != 0 || status < 200 { // informational answers are not passed on
		return
	}
	h.status, h.sent = status, h.header.Clone()
}

func (h *held) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if !h.hasBody() {
		return 0, http.ErrBodyNotAllowed
	}
	return h.body.Write(b)
}

// hasBody: the status is one of an answer with a body (RFC 9110, section 6.4.1).
func (h *held) hasBody() bool {
	return h.status != http.StatusNoContent && h.status != http.StatusNotModified
}

func (h *held) response() response {
	h.WriteHeader(http.StatusOK)
	r := response{Status: h.status, Headers: h.sent.Clone(), Body: h.body.String()}
	// As net/http would find it for the first answer: not where the handler has said that there is none.
	if _, set := r.Headers["Content-Type"]; !set && r.Headers.Get("Content-Encoding") == "" && h.body.Len() > 0 {
		r.Headers.Set("Content-Type", http.DetectContentType(h.body.Bytes()))
	}
	maps.DeleteFunc(r.Headers, func(name string, values []string) bool { // those are the handlers' before, each time anew
		outer, set := h.outer[name]
		return set && slices.Equal(values, outer)
	})
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

package idempotency

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// classOf walks an error's tree. A mark speaks for all that it wraps. Without one it is the table of doc.go, "What
// an error means": an error is Ambiguous if any part of its tree is a transport error that may have left this
// process, or the end of a context; what is known not to have left (dial, name look-up, a certificate) is Released
// together with all that it wraps; and so is every error that has nothing to do with a transport. Of several
// branches (errors.Join) the one that must not be run again decides.
//
// A client that sends again by itself can hide a first try behind the error of a second: net/http does so for a
// redirect and for a request with an Idempotency-Key header. Only the user knows; hence the rule to return
// [Unknown] for any error after an effect.
func classOf(err error) (class Class, marked bool) {
	class = Released
	switch e := err.(type) { //nolint:errorlint // one node of the tree at a time
	case nil:
		return Released, false
	case *markedError:
		return e.class, true
	case *StateError:
		// A nested operation of this library: its own record guards its effect, and the next run meets it there,
		// whatever its handler said.
		return Released, false
	case interface{ Unwrap() error }:
		class, marked = classOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			c, m := classOf(branch)
			class, marked = max(class, c), marked || m
		}
	}
	switch {
	case marked:
		return class, true
	case neverLeft(err):
		return Released, false
	case mayHaveLeft(err):
		return Ambiguous, false
	}
	return class, false
}

// neverLeft looks at this one error, not at what it wraps, and says that no request of it can have been received.
func neverLeft(err error) bool {
	switch e := err.(type) { //nolint:errorlint // one node of the tree at a time
	case *net.OpError:
		return e.Op == "dial"
	case *url.Error:
		// A request that was never built (Op "parse"), or one whose transport failed before it sent anything.
		return e.Op == "parse" || onlyNeverLeft(e.Err)
	case *smithyhttp.RequestSendError:
		return onlyNeverLeft(e.Err)
	case tls.RecordHeaderError:
		return e.Msg == "first record does not look like a TLS handshake" // later ones come after a request
	case *net.DNSError, *net.AddrError, *net.ParseError, net.UnknownNetworkError, net.InvalidAddrError,
		*tls.CertificateVerificationError,
		x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError:
		return true
	}
	return false
}

// onlyNeverLeft follows a chain down to a node that never left.
func onlyNeverLeft(err error) bool {
	for err != nil {
		if neverLeft(err) || beginsWith(err, unsent) {
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}

// mayHaveLeft looks at this one error, not at what it wraps.
func mayHaveLeft(err error) bool {
	isOneOf := func(sentinels ...error) bool { return slices.Contains(sentinels, err) }
	if _, tooLarge := err.(*http.MaxBytesError); tooLarge || isOneOf(http.ErrNotMultipart, http.ErrMissingBoundary) { //nolint:errorlint // one node of the tree at a time
		return false // of a request that was received
	}
	if isOneOf(context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // one node of the tree at a time
	case *url.Error, *net.OpError, *smithyhttp.RequestSendError, *smithy.DeserializationError, *smithy.CanceledError:
		return true
	case *aws.RequestCanceledError:
		return true
	case ratelimit.QuotaExceededError:
		return true
	case *retry.MaxAttemptsError:
		return e.Attempt > 1 // only the last try is shown, which says nothing of the earlier ones
	case syscall.Errno:
		return slices.Contains([]syscall.Errno{syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, syscall.ECONNABORTED}, e)
	case net.Error:
		if e.Timeout() {
			return true
		}
	}
	if ofTransport(err) {
		return true
	}
	// A remote 5xx, as the AWS SDK and many others report it.
	if r, ok := err.(interface{ HTTPStatusCode() int }); ok {
		return r.HTTPStatusCode() >= 500
	}
	if r, ok := err.(interface{ StatusCode() int }); ok {
		return r.StatusCode() >= 500
	}
	return false
}

// ofTransport knows the errors of HTTP/2 streams, of TLS and of bodies that break off, most of whose types have no
// exported name, by the package that declares them; and those that have no type at all by how their text begins.
func ofTransport(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "net/textproto":
		return t.Name() == "ProtocolError"
	case "net", "net/http", "golang.org/x/net/http2", "crypto/tls", "compress/flate":
		return true
	case "errors", "fmt":
		return (t.Name() == "errorString" || t.Name() == "wrapError") && beginsWith(err, untyped)
	}
	return false
}

// untyped are the beginnings of errors that net/http's client makes with errors.New, while it reads an answer.
var untyped = []string{
	"http2: ", "net/http: HTTP/1.x transport connection broken", "net/http: request canceled", "net/http: timeout",
	"net/http: server", "http: server", "http: unexpected EOF", "http: suspiciously long trailer",
	"malformed chunked encoding", "chunked ", "invalid byte in chunk length", "empty hex number for chunk length",
	"http chunk length", "invalid CR in chunked line", "header line too long", "gzip: ",
}

// unsent are the beginnings of errors of requests that net/http has not sent: it refused to, or found nobody to talk
// to.
var unsent = []string{
	"net/http: invalid header field", "net/http: invalid method", "http: no Host in request URL",
	"unsupported protocol scheme", "net/http: TLS handshake timeout",
}

func beginsWith(err error, prefixes []string) bool {
	text := err.Error()
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

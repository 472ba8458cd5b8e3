package idempotency

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// wantClass is the assertion of this file. H15 and rule 20 are what all of it is about: released is only what is
// known not to have left.
func wantClass(t *testing.T, err error, want Class) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, err := range []error{err, fmt.Errorf("pay: %w", err), errors.Join(errors.New("plain"), err)} {
		if got := (&Config{}).classify(err); got != want {
			t.Errorf("class %d, want %d, of %T: %v", got, want, err, err)
		}
	}
}

// loopback serves each connection with serve, until the test ends, and returns its address.
func loopback(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln := listen(t)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			serve(conn)
			_ = conn.Close()
		}
	}()
	return ln.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// refusing returns an address that nobody listens at.
func refusing(t *testing.T) string {
	t.Helper()
	ln := listen(t)
	_ = ln.Close()
	return ln.Addr().String()
}

// post sends a request as a handler would and reads the whole answer.
func post(ctx context.Context, client *http.Client, target string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader("amount=1"))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.ReadAll(res.Body)
	return err
}

func readRequest(conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

func freshClient(t *testing.T, transport *http.Transport) *http.Client {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// H15: the commonest double charge. The request was received; what came back does not tell what became of it.
func TestClassify_RealHTTPThatMayHaveLeft(t *testing.T) {
	t.Parallel()
	answer := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, text)
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"reset":               func(conn net.Conn) { readRequest(conn); _ = conn.(*net.TCPConn).SetLinger(0) },
		"closed":              readRequest,
		"closed at once":      func(net.Conn) {},
		"half a status line":  answer("HTTP/1.1 2"),
		"half a header":       answer("HTTP/1.1 200 OK\r\nContent-Le"),
		"half a body":         answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":"),
		"half a chunked body": answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"),
		"no HTTP":             answer("\x00\x01\x02\r\n\r\n"),
		"reset in the body": func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")(conn)
			_ = conn.(*net.TCPConn).SetLinger(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := "http://" + loopback(t, serve)
			wantClass(t, post(t.Context(), freshClient(t, &http.Transport{}), target), Ambiguous)
		})
	}
}

func TestClassify_RealHTTPTimeouts(t *testing.T) {
	t.Parallel()
	silent := func(conn net.Conn) { readRequest(conn); _, _ = conn.Read(make([]byte, 1)) }
	target := "http://" + loopback(t, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantClass(t, post(ctx, freshClient(t, &http.Transport{}), target), Ambiguous)

	slow := freshClient(t, &http.Transport{ResponseHeaderTimeout: 50 * time.Millisecond})
	wantClass(t, post(t.Context(), slow, "http://"+loopback(t, silent)), Ambiguous)

	limited := freshClient(t, &http.Transport{})
	limited.Timeout = 50 * time.Millisecond
	wantClass(t, post(t.Context(), limited, "http://"+loopback(t, silent)), Ambiguous)
	wantClass(t, post(t.Context(), limited, "http://"+loopback(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		_, _ = conn.Read(make([]byte, 1))
	})), Ambiguous)

	gone, hangUp := context.WithCancel(t.Context())
	wantClass(t, post(gone, freshClient(t, &http.Transport{}), "http://"+loopback(t, func(conn net.Conn) {
		readRequest(conn)
		hangUp()
		_, _ = conn.Read(make([]byte, 1))
	})), Ambiguous)
}

// An HTTP/2 stream that is reset, or a connection that is given up, while the answer's body is read: the error
// is no url.Error then.
func TestClassify_RealHTTP2(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"reset before the answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"reset in the body": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(handler)
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			wantClass(t, post(t.Context(), server.Client(), server.URL), Ambiguous)
		})
	}
}

func TestClassify_RealHTTPThatNeverLeft(t *testing.T) {
	t.Parallel()
	nobody := refusing(t)
	wantClass(t, post(t.Context(), freshClient(t, &http.Transport{}), "http://"+nobody), Released)
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", nobody)
	wantClass(t, err, Released)
	wantClass(t, post(t.Context(), freshClient(t, &http.Transport{}), "http://[::1"), Released)

	proxy := &url.URL{Scheme: "http", Host: nobody}
	wantClass(t, post(t.Context(), freshClient(t, &http.Transport{Proxy: http.ProxyURL(proxy)}), "https://127.0.0.1:1"), Released)

	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}}
	named := freshClient(t, &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext})
	wantClass(t, post(t.Context(), named, "http://payments.invalid"), Released)
	_, err = resolver.LookupHost(t.Context(), "payments.invalid")
	wantClass(t, err, Released)
}

func TestClassify_RealTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	server.StartTLS()
	t.Cleanup(server.Close)

	// The certificate is looked at before anything is sent.
	strict := freshClient(t, &http.Transport{})
	wantClass(t, post(t.Context(), strict, server.URL), Released)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	otherName := server.Client().Transport.(*http.Transport).Clone()
	otherName.TLSClientConfig.ServerName = "other.invalid"
	wantClass(t, post(t.Context(), freshClient(t, otherName), "https://127.0.0.1:"+port), Released)
	_, err := (&tls.Dialer{Config: &tls.Config{ServerName: "other.invalid"}}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	wantClass(t, err, Released)
}

// A TLS connection that breaks after the handshake has carried the request, whatever the error is called: the
// same type of error also comes of a handshake.
func TestClassify_RealTLSBrokenAfterTheRequest(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	conf := certified.TLS.Clone()
	conf.NextProtos = nil
	client := certified.Client().Transport.(*http.Transport).Clone()
	certified.Close()
	for name, garbage := range map[string]string{
		"a record of another version": "\x17\x01\x01\x00\x05abcde",
		"an oversized record":         "\x17\x03\x03\xff\xffabcde",
		"a record that is not ours":   "\x17\x03\x03\x00\x20" + strings.Repeat("x", 32),
		"plain HTTP":                  "HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := make(chan bool, 1)
			target := "https://" + loopback(t, func(conn net.Conn) {
				secure := tls.Server(conn, conf)
				req, err := http.ReadRequest(bufio.NewReader(secure))
				received <- err == nil && req.Method == http.MethodPost
				_, _ = io.WriteString(conn, garbage)
			})
			err := post(t.Context(), freshClient(t, client.Clone()), target)
			if !<-received {
				t.Fatal("the request was not received")
			}
			wantClass(t, err, Ambiguous)
		})
	}
}

// What the AWS SDK makes of the same faults, alone and after retries of its own.
func TestClassify_RealSDK(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", code, len(body), body)
		}
	}
	for _, row := range []struct {
		name     string
		serve    func(net.Conn) // nil: nobody listens
		attempts int
		want     Class
	}{
		{"400", status(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"no"}`), 1, Released},
		{"condition failed", status(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}`), 1, Released},
		{"500", status(500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"oh"}`), 1, Ambiguous},
		{"503", status(503, `busy`), 1, Ambiguous},
		{"500, twice", status(500, `{}`), 2, Ambiguous},
		{"a body that is no JSON", status(200, `{"Item":`), 1, Ambiguous},
		{"closed", readRequest, 1, Ambiguous},
		{"closed, twice", readRequest, 2, Ambiguous},
		{"refused", nil, 1, Released},
		{"refused, twice", nil, 2, Ambiguous}, // only the last try is shown
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			address := ""
			if row.serve == nil {
				address = refusing(t)
			} else {
				address = loopback(t, row.serve)
			}
			wantClass(t, callTable(t.Context(), t, address, row.attempts), row.want)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	silent := loopback(t, func(conn net.Conn) { readRequest(conn); _, _ = conn.Read(make([]byte, 1)) })
	wantClass(t, callTable(ctx, t, silent, 3), Ambiguous)
	ended, end := context.WithCancel(t.Context())
	end()
	wantClass(t, callTable(ended, t, silent, 1), Ambiguous)
}

func callTable(ctx context.Context, t *testing.T, address string, attempts int) error {
	t.Helper()
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://" + address), HTTPClient: freshClient(t, &http.Transport{}),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = attempts
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
	})
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String("ledger"), Key: item{"id": textValue("1")}})
	return err
}

type (
	statusError     struct{ code int } // as many clients report an answer
	httpStatusError struct{ code int }
	timeoutError    struct{ timeout bool }
	bothError       struct{ code int } // a client's one error type for both
)

func (e statusError) Error() string           { return fmt.Sprint("status ", e.code) }
func (e statusError) StatusCode() int         { return e.code }
func (e httpStatusError) Error() string       { return fmt.Sprint("status ", e.code) }
func (e httpStatusError) HTTPStatusCode() int { return e.code }
func (e timeoutError) Error() string          { return "time-out" }
func (e timeoutError) Timeout() bool          { return e.timeout }
func (e timeoutError) Temporary() bool        { return true }
func (e bothError) Error() string             { return fmt.Sprint("status ", e.code) }
func (e bothError) StatusCode() int           { return e.code }
func (e bothError) Timeout() bool             { return e.code == 504 }
func (e bothError) Temporary() bool           { return e.code >= 500 }

func TestClassify_Values(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	pipe := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	for _, row := range []struct {
		name string
		err  error
		want Class
	}{
		{"a plain error", errors.New("plain"), Released},
		{"the end of a context's time", context.DeadlineExceeded, Ambiguous},
		{"a cancelled context", context.Canceled, Ambiguous},
		{"EOF", io.EOF, Ambiguous},
		{"unexpected EOF", io.ErrUnexpectedEOF, Ambiguous},
		{"a closed pipe", io.ErrClosedPipe, Ambiguous},
		{"a closed connection", net.ErrClosed, Ambiguous},
		{"a poll deadline", os.ErrDeadlineExceeded, Ambiguous},
		{"reset", reset, Ambiguous},
		{"reset, bare", syscall.ECONNRESET, Ambiguous},
		{"broken pipe", pipe, Ambiguous},
		{"broken pipe, bare", os.NewSyscallError("write", syscall.EPIPE), Ambiguous},
		{"time-out, bare", syscall.ETIMEDOUT, Ambiguous},
		{"aborted, bare", syscall.ECONNABORTED, Ambiguous},
		{"no such file", os.NewSyscallError("open", syscall.ENOENT), Released},
		{"refused", refused, Released},
		{"refused, in a URL's error", &url.Error{Op: "Post", URL: "u", Err: refused}, Released},
		{"reset, in a URL's error", &url.Error{Op: "Post", URL: "u", Err: reset}, Ambiguous},
		{"a URL's error of something else", &url.Error{Op: "Post", URL: "u", Err: errors.New("http2: server sent GOAWAY")}, Ambiguous},
		{"a URL that does not parse", &url.Error{Op: "parse", URL: ":", Err: errors.New("missing scheme")}, Released},
		{"no such name", &net.DNSError{Err: "no such host", Name: "payments.invalid", IsNotFound: true}, Released},
		{"a name server's time-out", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, Released},
		{"a bad address", &net.AddrError{Err: "missing port", Addr: "x"}, Released},
		{"a network time-out", timeoutError{true}, Ambiguous},
		{"a net.Error that is no time-out", timeoutError{false}, Released},
		// A remote 5xx, by whichever method the client tells it.
		{"status 500", statusError{500}, Ambiguous},
		{"status 502", httpStatusError{502}, Ambiguous},
		{"status 503", statusError{503}, Ambiguous},
		{"status 504", httpStatusError{504}, Ambiguous},
		{"status 499", statusError{499}, Released},
		{"status 402", httpStatusError{402}, Released},
		{"status 0", statusError{0}, Released},
		{"status 500 of a net.Error", bothError{500}, Ambiguous},
		{"status 504 of a net.Error", bothError{504}, Ambiguous},
		{"status 402 of a net.Error", bothError{402}, Released},
		// The SDK's.
		{"a send error", &smithyhttp.RequestSendError{Err: errors.New("?")}, Ambiguous},
		{"a send error, reset", &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", Err: reset}}, Ambiguous},
		{"a send error, refused", &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", Err: refused}}, Released},
		{"an answer that cannot be read", &smithy.DeserializationError{Err: errors.New("?")}, Ambiguous},
		{"a call cancelled", &smithy.CanceledError{Err: errors.New("?")}, Ambiguous},
		{"a request cancelled", &aws.RequestCanceledError{Err: errors.New("?")}, Ambiguous},
		{"a request that cannot be written", &smithy.SerializationError{Err: errors.New("?")}, Released},
		{"a model's error", &types.ProvisionedThroughputExceededException{}, Released},
		{
			"the last of three tries refused",
			&retry.MaxAttemptsError{Attempt: 3, Err: &smithyhttp.RequestSendError{Err: refused}}, Ambiguous,
		},
		{
			"the only try refused",
			&retry.MaxAttemptsError{Attempt: 1, Err: &smithyhttp.RequestSendError{Err: refused}}, Released,
		},
		// Every branch counts.
		{"refused and reset", errors.Join(refused, reset), Ambiguous},
		{"refused and plain", errors.Join(refused, errors.New("plain")), Released},
		{"two wrapped", fmt.Errorf("%w after %w", refused, io.EOF), Ambiguous},
		{"a nested join", errors.Join(errors.New("plain"), errors.Join(errors.New("plain"), io.EOF)), Ambiguous},
		// A nested operation of this library: nothing was run, or its own record guards its effect.
		{"nested: in progress", &StateError{Err: ErrInProgress}, Released},
		{"nested: not recorded", &StateError{Err: fmt.Errorf("%w: %w", ErrNotRecorded, io.EOF)}, Released},
		{"nested: table unavailable", &StateError{Err: fmt.Errorf("%w: acquire: %w", ErrUnavailable, reset)}, Released},
		{"nested: no time", &StateError{Err: fmt.Errorf("%w: the context has ended: %w", ErrNoTime, context.DeadlineExceeded)}, Released},
		{"nested, and an effect of its own", errors.Join(&StateError{Err: ErrInProgress}, io.EOF), Ambiguous},
		{"nested: a refused request", invalid("Request.Key", "empty", "is required"), Released},
		{"nested: a replayed failure", &Failure{Type: "CardDeclined"}, Released},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			wantClass(t, row.err, row.want)
		})
	}
	if got := (&Config{}).classify(nil); got != Released {
		t.Errorf("no error has class %d", got)
	}
}

// An error whose Unwrap returns nil, or that is not comparable, is no reason to panic.
func TestClassify_OddErrors(t *testing.T) {
	t.Parallel()
	wantClass(t, hollowError{}, Released)
	wantClass(t, listErrors{errors.New("a"), io.EOF}, Ambiguous)
	wantClass(t, listErrors{}, Released)
	wantClass(t, &url.Error{Op: "Post"}, Ambiguous)
	wantClass(t, &net.OpError{Op: "read"}, Ambiguous)
	wantClass(t, &smithyhttp.RequestSendError{}, Ambiguous)
}

type hollowError struct{}

func (hollowError) Error() string { return "hollow" }
func (hollowError) Unwrap() error { return nil }

type listErrors []error

func (l listErrors) Error() string   { return "list" }
func (l listErrors) Unwrap() []error { return l }

func cancelledFor(codes ...string) error {
	var reasons []types.CancellationReason
	for _, code := range codes {
		reasons = append(reasons, types.CancellationReason{Code: &code})
	}
	return &types.TransactionCanceledException{CancellationReasons: reasons}
}

// What the table refuses for good is not sent again: the SDK names errors that DynamoDB's model does not know,
// such as a missing permission, by their code only.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want bool
	}{
		{answered(400, "AccessDeniedException"), true},
		{answered(400, "ValidationException"), true},
		{answered(403, "UnrecognizedClientException"), true},
		{answered(500, "Unheard"), false},
		{answered(408, "RequestTimeout"), false},
		{answered(400, "ThrottlingException"), false},
		{&types.ResourceNotFoundException{}, true},
		{fmt.Errorf("%w: attribute x", ErrBadRecord), true},
		{&types.InternalServerError{}, false},
		{&types.ProvisionedThroughputExceededException{}, false},
		{&types.RequestLimitExceeded{}, false},
		{&types.TransactionConflictException{}, false},
		{&types.TransactionInProgressException{}, false},       // it may be the earlier copy
		{&types.IdempotentParameterMismatchException{}, false}, // of one that may have committed
		{cancelledFor("None", "ThrottlingError"), false},       // worth another try
		{cancelledFor("None", "TransactionConflict"), false},   // so is this
		{cancelledFor("ConditionalCheckFailed", "None"), true}, // an answer
		{cancelledFor("None", "ValidationError"), true},        // which will not change
		{&types.ReplicatedWriteConflictException{}, false},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, false},
		{&smithy.GenericAPIError{Code: "InternalFailure", Fault: smithy.FaultServer}, false},
		{io.EOF, false},
	} {
		if got := refused(row.err); got != row.want {
			t.Errorf("%v: %t, want %t", row.err, got, row.want)
		}
	}
}

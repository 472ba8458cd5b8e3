package dynamo

import (
	"crypto/rand"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

const (
	targetPrefix = "DynamoDB_20120810."
	maxBody      = 16 << 20
)

// ReadRequest takes operation and body out of an HTTP request. If that is not possible, refusal is the answer.
// The signature is not looked at. A GET of the root is a health check, which the service answers as well.
func ReadRequest(r *http.Request) (operation string, body []byte, refusal *Reply) {
	root := r.URL.Path == "/" || r.URL.Path == ""
	if root && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return "", nil, &Reply{Status: http.StatusOK, Body: []byte("healthy: dynamodb.us-east-1.amazonaws.com "), text: true}
	}
	if r.Method != http.MethodPost {
		return "", nil, refuse(http.StatusMethodNotAllowed, "UnknownOperationException", "Only POST requests are served")
	}
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	if !ok {
		return "", nil, refuse(http.StatusBadRequest, "UnknownOperationException", "The header X-Amz-Target does not name an operation of DynamoDB")
	}
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
			return operation, nil, refuse(http.StatusBadRequest, "SerializationException", "The request body could not be read")
		}
	}
	if len(body) > maxBody {
		return operation, nil, refuse(http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", "The request body is larger than 16 MB")
	}
	return operation, body, nil
}

func refuse(status int, code, message string) *Reply {
	e := newError(code, "%s", message)
	e.namespace, e.status = service, status
	r := replyTo(e)
	return &r
}

// Header is what goes over the wire before the body.
func (r Reply) Header() http.Header {
	contentType := "application/x-amz-json-1.0"
	if r.text {
		contentType = "text/plain"
	}
	return http.Header{
		"Content-Type":     {contentType},
		"Content-Length":   {strconv.Itoa(len(r.Body))},
		"X-Amzn-Requestid": {rand.Text()},
		"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.Body)), 10)},
	}
}

// ServeHTTP answers a request with nothing in between.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation, body, refusal := ReadRequest(r)
	var reply Reply
	if refusal != nil {
		reply = *refusal
	} else {
		reply = e.Apply(e.Parse(operation, body))
	}
	maps.Copy(w.Header(), reply.Header())
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body) // the caller may be gone
}

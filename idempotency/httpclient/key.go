package httpclient

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// header is the name that the draft gives it.
const header = "Idempotency-Key"

// maxKey is how long a key may be for this module's servers, in bytes.
const maxKey = 255

type contextKey struct{}

// WithKey gives the requests made with the context a key: those of one logical request, that is, over all attempts of
// the caller's own. The key is at most 255 printable ASCII characters; others fail the request.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, contextKey{}, key)
}

// NewKey is a fresh key: a UUID of version 7 (RFC 9562), which begins with the time, so that a server can tell a key
// that is older than its window.
func NewKey() string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(time.Now().UnixMilli())) //nolint:gosec // after 1970
	copy(b[:6], millis[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// keyFor is the header's value for the request, "" if it has its own; keyed is false for one that goes through as it is.
func (t *Transport) keyFor(req *http.Request) (value string, keyed bool, err error) {
	if hasKey(req.Header) {
		return "", true, nil
	}
	if !slices.ContainsFunc(t.cfg.Methods, func(m string) bool { return strings.EqualFold(m, req.Method) }) {
		return "", false, nil
	}
	key, ok := req.Context().Value(contextKey{}).(string)
	if !ok {
		if redirected := keyOfRedirect(req); redirected != "" {
			return redirected, true, nil
		}
		key = NewKey()
	}
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	if t.cfg.Unquoted {
		return key, true, nil
	}
	return quoted(key), true, nil
}

// hasKey says whether anything would be sent by the header's name, in whatever spelling, since on the wire these are
// one. A name without values sends nothing, so it is no key: without one, the second try would be a second payment.
func hasKey(h http.Header) bool {
	for name, values := range h {
		if strings.EqualFold(name, header) && len(values) > 0 {
			return true
		}
	}
	return false
}

// keyOfRedirect is the key of the request that was answered with this redirect, which is the same logical request.
func keyOfRedirect(req *http.Request) string {
	if req.Response == nil || req.Response.Request == nil || req.Response.Request.Method != req.Method {
		return ""
	}
	return req.Response.Request.Header.Get(header)
}

func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("httpclient: the context's key has %d bytes, must have 1 to %d", len(key), maxKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("httpclient: the context's key has %q at byte %d, must be printable ASCII", key[i], i)
		}
	}
	return nil
}

// quoted is the key as a string of structured fields (RFC 9651).
func quoted(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

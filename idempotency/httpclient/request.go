package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ErrBody says that a request's body cannot be sent a second time: it has no GetBody. http.NewRequest sets it for a
// bytes.Buffer, bytes.Reader or strings.Reader. Nothing was sent.
var ErrBody = errors.New("httpclient: the request's body cannot be sent again: give it as a bytes.Reader, or set GetBody")

// check refuses what cannot be sent. net/http refuses it too, but its errors do not tell that no try will ever do.
func check(req *http.Request) error {
	if hasBody(req) && req.GetBody == nil {
		return ErrBody
	}
	if req.URL == nil {
		return errors.New("httpclient: the request's URL is nil, must have a scheme and a host")
	}
	if !overHTTP(req.URL) {
		return nil // what it takes, the Base knows
	}
	if req.URL.Host == "" {
		return fmt.Errorf("httpclient: the request's URL is %s, must have a host", req.URL.Redacted())
	}
	if req.Method != "" && !isToken(req.Method) {
		return fmt.Errorf("httpclient: the request's method is %q, must be a token", req.Method)
	}
	if req.Body == nil && req.ContentLength != 0 {
		return fmt.Errorf("httpclient: the request's ContentLength is %d, must be 0 without a body", req.ContentLength)
	}
	if err := checkFields("header", req.Header); err != nil {
		return err
	}
	return checkFields("trailer", req.Trailer)
}

// checkFields does not quote values: they may be secrets.
func checkFields(kind string, fields http.Header) error {
	for name, values := range fields {
		if !isToken(name) {
			return fmt.Errorf("httpclient: the request has a %s named %q, must be a token", kind, name)
		}
		for _, value := range values {
			if at := strings.IndexFunc(value, isControl); at >= 0 {
				return fmt.Errorf("httpclient: the request's %s %s has %q at byte %d, must have no control characters", kind, name, value[at], at)
			}
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

const tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isToken is the rule of RFC 9110, section 5.6.2, for methods and names of fields.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(tokens, r) })
}

func overHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper has to, also on errors
	}
}

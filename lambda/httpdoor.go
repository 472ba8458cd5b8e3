package lambda

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/oncekey/oncekey/idempotency"
)

// door is what sets a front door apart.
type door[In, Out any] struct {
	read   func(In) (q *HTTPRequest, body string, isBase64 bool) // q without its body
	parse  func(In, Out) response
	answer func(In, response) Out
}

// through puts the contract between a front door and its handler.
func through[In, Out any](r *idempotency.Runner, c HTTPConfig, d door[In, Out], h Handler[In, Out]) Handler[In, Out] {
	w, err := newWeb(r, c)
	if err == nil && h == nil {
		err = missing("h", "a handler is required")
	}
	if err != nil {
		misconfigured(c, err) // when the process starts, too
		return func(_ context.Context, in In) (Out, error) {
			misconfigured(c, err)
			return d.answer(in, problemMisconfigured.response("", 0)), nil
		}
	}
	return func(ctx context.Context, in In) (out Out, _ error) {
		q, text, isBase64 := d.read(in)
		if w.passes(q) {
			return h(context.WithValue(ctx, requestKey{}, q), in)
		}
		var first Out
		res, own, err := w.serve(ctx, q, func() ([]byte, error) { return body(text, isBase64) }, func(ctx context.Context) (response, error) {
			var err error
			if first, err = h(ctx, in); err != nil {
				return response{}, err
			}
			return d.parse(in, first), nil
		})
		switch {
		case err != nil:
			return out, answer(err, own, !own)
		case own:
			return first, nil // as it came, headers that are not recorded included
		}
		return d.answer(in, res), nil
	}
}

// misconfigured tells the log of a setting that cannot be right. The client hears that it is so, at every request.
func misconfigured(c HTTPConfig, err error) {
	newLogger(c).Error("idempotency: answered with a problem", "code", problemMisconfigured.code, "error", err)
}

// body is the request's, decoded.
func body(text string, isBase64 bool) ([]byte, error) {
	if !isBase64 {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, refuse(problemUnreadable, "the body is marked as base64 and is none")
	}
	return b, nil
}

// query sets the parameters of a query string. Of one that cannot be decoded the text counts, too, or two different
// ones could look the same.
func (q *HTTPRequest) query(raw string) {
	var err error
	if q.Query, err = url.ParseQuery(raw); err != nil {
		q.rawQuery = raw
	}
}

// headersOf puts the headers of an event under canonical names; multi wins where there are both.
func headersOf(single map[string]string, multi map[string][]string) http.Header {
	h := http.Header{}
	for name, values := range multi {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	if len(multi) == 0 {
		for name, v := range single {
			h.Add(name, v)
		}
	}
	return h
}

// merged are an answer's headers in two forms, under the handler's own names, as a REST API sends them: the values of both, a
// value that is in both once.
func merged(single map[string]string, multi map[string][]string) http.Header {
	h := listed(single)
	for name, values := range multi {
		if v, both := single[name]; both && !slices.Contains(values, v) {
			values = append(slices.Clone(values), v)
		}
		h[name] = values
	}
	return h
}

// listed are headers of one value a name.
func listed(single map[string]string) http.Header {
	h := make(http.Header, len(single))
	for name, v := range single {
		h[name] = []string{v}
	}
	return h
}

// joined are headers of one value a name.
func joined(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		out[name] = strings.Join(values, ", ")
	}
	return out
}

// iamIdentity names the caller of a signed request by its ARN, an assumed role without its session. All users of a
// Cognito identity pool have one ARN, so that it names nobody.
func iamIdentity(arn string) string {
	if prefix, role, assumed := strings.Cut(arn, ":assumed-role/"); assumed {
		role, session, _ := strings.Cut(role, "/")
		if session == "CognitoIdentityCredentials" {
			return ""
		}
		arn = prefix + ":assumed-role/" + role
	}
	return identity("iam", arn)
}

// identity names a caller by what vouches for it; "" for nobody. Each part but the last has its length before it, so
// that no two callers share a name.
func identity(kind string, parts ...string) string {
	last := len(parts) - 1
	if parts[last] == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(kind + ":")
	for _, p := range parts[:last] {
		fmt.Fprintf(&b, "%d:%s:", len(p), p)
	}
	b.WriteString(parts[last])
	return b.String()
}

package idempotency

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// GlobalScope as a [Request.Scope] says that every caller shares the operation's keys.
const GlobalScope = "*"

// AnyInput as a [Request.Input] switches the fingerprint off: any request with the key gets its outcome.
const AnyInput = anyInput(0)

type anyInput int

// NoWait as a [Request.Wait] says that this request does not wait, whatever Config.Wait says.
const NoWait time.Duration = math.MinInt64

// Request says which logical request this is. Operation, Scope, Key and Input are required by [Do]; package
// lambda's wrappers fill in what they know.
type Request struct {
	// Operation names what is done, such as "create-payment". It is stored in clear, and it is part of the
	// record's identity: renaming it makes every key run again. At most 255 bytes of printable text.
	Operation string

	// Scope says whose key it is: the tenant or the authenticated caller. Two scopes never meet. Take it from
	// the authoriser, never from the request's body: a stranger who names another's scope could replay that
	// one's answers. [GlobalScope] for keys that all callers share. At most 1024 bytes; stored hashed.
	Scope string

	// Key is the caller's idempotency key. At most 255 bytes; stored hashed.
	Key string

	// Input is what has to be equal in a retry. Its fingerprint is bound to the key, and another one is refused
	// with [ErrMismatch]. A json.RawMessage is compared as JSON, any other value as the JSON of what is set in
	// it (see the package comment). Leave out what differs from try to try, such as a timestamp, by giving a
	// struct of the fields that matter. [AnyInput] accepts any. Only the hash is stored.
	Input any

	// Ref is how a person finds the business object of an unknown outcome, such as "order 17". It is stored and
	// shown in clear, so it must not be a secret. Optional; at most 255 bytes of printable text.
	Ref string

	// Retention, Wait and OnUnknown override the Runner's Config where they are not zero. [NoWait] is no wait at all.
	Retention time.Duration
	Wait      time.Duration
	OnUnknown OnUnknown

	// Rebuild makes the answer that a retry gets of the reference that the handler has stored with [StoreRef]: a value which
	// encodes as the handler's result does. Behind an HTTP wrapper that is what lambda.HTTPAnswer makes. Its error comes as
	// [ErrUnavailable]: nothing was run, and the retry can come again.
	Rebuild func(ctx context.Context, ref string) (any, error)

	// ReadFirst asks for the outcome by an eventually consistent read before anything is written. It is for a request that
	// was most likely answered already: its replay then costs half a read unit each 4 KB of the record, instead of the
	// write units of a condition that fails. Where there is no outcome to be read, the read has been in vain: below about one
	// retry in ten requests it costs more than it saves (README has the figures).
	ReadFirst bool

	// Tx promises what the handler's effects are; see [Claimed] and [SingleShot]. Zero promises nothing: what the handler
	// stages ([TxFrom]) commits with the outcome all the same.
	Tx TxMode
}

// fill returns the request with the Runner's settings filled in, or what is wrong with it.
func (r *Runner) fill(req Request) (Request, error) {
	if r == nil {
		return req, invalid("Runner", "nil", "make one with New")
	}
	if r.table.client == nil {
		return req, invalid("Runner", "the zero value", "make one with New")
	}
	if err := validText("Request.Operation", req.Operation); err != nil {
		return req, err
	}
	if err := validSecretText("Request.Scope", req.Scope, "name the caller, or say GlobalScope", maxScope); err != nil {
		return req, err
	}
	if err := validSecretText("Request.Key", req.Key, "the caller's key is required", MaxKey); err != nil {
		return req, err
	}
	if req.Ref != "" {
		if err := validText("Request.Ref", req.Ref); err != nil {
			return req, err
		}
	}
	if err := validDuration("Request.Retention", req.Retention); err != nil {
		return req, err
	}
	if err := validRetention("Request.Retention", req.Retention); err != nil {
		return req, err
	}
	if req.Wait != NoWait {
		if err := validDuration("Request.Wait", req.Wait); err != nil {
			return req, err
		}
	}
	if req.Retention == 0 {
		req.Retention = r.cfg.Retention
	}
	if req.Wait == 0 {
		req.Wait = r.cfg.Wait
	}
	req.Wait = max(req.Wait, 0) // NoWait
	if req.OnUnknown == 0 {
		req.OnUnknown = r.cfg.OnUnknown
	}
	if req.Tx < 0 || req.Tx > SingleShot {
		return req, invalid("Request.Tx", strconv.Itoa(int(req.Tx)), "must be 0, Claimed or SingleShot")
	}
	return req, validPolicy("Request.OnUnknown", req.OnUnknown)
}

// fingerprint returns the input's fingerprint by that function; "" under AnyInput.
func (req *Request) fingerprint(of func(any) (string, error)) (string, error) {
	switch req.Input.(type) {
	case nil:
		return "", invalid("Request.Input", "nil", "give what has to be equal in a retry, or say AnyInput")
	case anyInput:
		return "", nil
	}
	fp, err := of(req.Input)
	if err != nil {
		return "", &FieldError{Field: "Request.Input", Value: fmt.Sprintf("a %T", req.Input), Rule: err.Error(), Err: err}
	}
	return fp, nil
}

// validText is for what is stored and shown in clear.
func validText(field, s string) error {
	if len(s) > MaxKey {
		return invalid(field, fmt.Sprintf("%d bytes long", len(s)), fmt.Sprintf("at most %d bytes are allowed", MaxKey))
	}
	return validPrintable(field, s)
}

func validPrintable(field, s string) error {
	switch {
	case s == "":
		return invalid(field, "empty", "is required")
	case !utf8.ValidString(s):
		return invalid(field, fmt.Sprintf("%q", s), "must be valid UTF-8")
	}
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return invalid(field, fmt.Sprintf("%q", s), "must be printable: no control characters, nor invisible ones")
		}
	}
	return nil
}

// validSecretText is for what is hashed and never shown; any bytes will do.
func validSecretText(field, s, rule string, limit int) error {
	switch {
	case s == "":
		return invalid(field, "empty", rule)
	case len(s) > limit:
		return invalid(field, fmt.Sprintf("%d bytes long", len(s)), fmt.Sprintf("at most %d bytes are allowed", limit))
	}
	return nil
}

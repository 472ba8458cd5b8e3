package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// encode is JSON as Lambda's runtime encodes a result: without HTML escapes, so that a replay has the same bytes.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// jsonValue keeps bytes that are no text as bytes: a string would come back changed.
func jsonValue(data []byte) types.AttributeValue {
	if utf8.Valid(data) {
		return textValue(string(data))
	}
	return &types.AttributeValueMemberB{Value: data}
}

// replay hands out a recorded outcome. A result that does not fit into T, since a deploy has changed the type, is
// an error and leaves the record alone (C35).
func replay[T any](ctx context.Context, c *call, rec *record) (Result[T], error) {
	res := Result[T]{Replayed: true, CompletedAt: rec.completed}
	bad := func(err error) (Result[T], error) {
		return res, c.stateError(err, rec)
	}
	data, err := c.bytes(ctx, rec)
	if err != nil {
		return bad(err)
	}
	recorded := data
	if rec.status == failed {
		var f recordedFailure
		if err := decode(data, &f); err != nil {
			return bad(fmt.Errorf("%w: its failure cannot be decoded: %w", ErrBadRecord, undecoded(err)))
		}
		c.remember(rec, recorded)
		res.Class = Recorded
		return res, c.r.failure(&Failure{Type: f.Type, Message: f.Message, Data: f.Data})
	}
	if rec.body.encoding.reference {
		if data, err = c.rebuild(ctx, string(data)); err != nil {
			return bad(err)
		}
	}
	var value T
	if err := c.r.resultOf(reflect.TypeFor[T]()).decode(data, &value); err != nil {
		return bad(fmt.Errorf("%w: its result cannot be decoded: %w", ErrBadRecord, undecoded(err)))
	}
	c.remember(rec, recorded)
	res.Value = value
	return res, nil
}

// ownUnread is the answer to a request whose own outcome may be the one that is recorded and cannot be read now: "nothing was run"
// would be wrong, and is not repeated from the cause. It can ask again.
func (c *call) ownUnread(rec *record, cause error) error {
	if state, ok := cause.(*StateError); ok { //nolint:errorlint // replay's own
		cause = state.Err
	}
	reason := strings.TrimPrefix(cause.Error(), ErrUnavailable.Error()+": ")
	state := c.stateError(fmt.Errorf("%w: it is recorded, and cannot be read now: %s", ErrNotRecorded, reason), rec)
	state.RetryAfter = retryAfter()
	return state
}

// tellReplay tells the observer that an outcome was handed out, or why it could not be.
func (c *call) tellReplay(ctx context.Context, rec *record, err error) {
	kind := KindReplayed
	if c.hit {
		kind = KindCached
	}
	state, ok := err.(*StateError) //nolint:errorlint // ours, not one that a user's failure wraps
	switch {
	case !ok:
		err = nil // the recorded failure is the answer
	case badRecord(state), errors.Is(state, ErrUnavailable), errors.Is(state, errBodyLost), errors.Is(state, ErrNotRecorded), isFieldError(state):
		kind = KindStoreFailure
	}
	c.emit(ctx, kind, rec.number, c.begun, err)
}

// isFieldError: there is no Request.Rebuild.
func isFieldError(err error) bool {
	_, ok := errors.AsType[*FieldError](err)
	return ok
}

// recordedFailure is a [Failure] in the record.
type recordedFailure struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// failureResult is what is recorded of a terminal failure.
func failureResult(err error) (res result) {
	f := failureOf(err)
	res.data, res.err = encode(recordedFailure{Type: f.Type, Message: f.Message, Data: f.Data})
	return res
}

// failure is what a replayed terminal failure is to the user: their own error if they can rebuild it.
func (r *Runner) failure(f *Failure) error {
	if r.cfg.Failure != nil {
		if err := r.cfg.Failure(f); err != nil {
			return unmarked(err)
		}
	}
	return f
}

// undecoded says where JSON and a type differ, and not what is there: that is the caller's, perhaps sealed, and not for a log.
// Unwrap has it.
func undecoded(err error) error {
	if err == nil {
		return nil
	}
	return decodeError{err}
}

type decodeError struct{ err error }

func (e decodeError) Error() string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](e.err); ok {
		return fmt.Sprintf("%s is not a %s, at byte %d", cmp.Or(t.Field, "it"), t.Type, t.Offset)
	}
	if t, ok := errors.AsType[*json.SyntaxError](e.err); ok {
		return fmt.Sprintf("it is no JSON, at byte %d", t.Offset)
	}
	return fmt.Sprintf("a %T", e.err)
}

func (e decodeError) Unwrap() error { return e.err }

// decode reads JSON without losing digits of numbers that go into an interface.
func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

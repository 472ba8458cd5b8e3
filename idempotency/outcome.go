package idempotency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxBody is the longest outcome, in bytes, that is stored in the record itself. DynamoDB's limit for an item is
// 400 KB with all names; what is left pays for the other attributes at their longest.
const maxBody = 400<<10 - 8<<10

var errTooLong = fmt.Errorf("the outcome is over %d bytes and is not stored", maxBody)

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

// bodyValue is the outcome as it is stored: as text where it is text, which a person can read in the console.
func (t *table) bodyValue(data []byte) (types.AttributeValue, error) {
	if len(data) > maxBody {
		return nil, errTooLong
	}
	return jsonValue(data), nil
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
func replay[T any](c *call, rec *record) (Result[T], error) {
	res := Result[T]{Replayed: true, CompletedAt: rec.completed}
	bad := func(err error) (Result[T], error) {
		return res, c.stateError(err, rec)
	}
	if rec.noBody {
		return bad(ErrNoBody)
	}
	if rec.status == failed {
		var f recordedFailure
		if err := decode(rec.data, &f); err != nil {
			return bad(fmt.Errorf("%w: its failure cannot be decoded: %w", ErrBadRecord, err))
		}
		res.Class = Recorded
		return res, c.r.failure(&Failure{Type: f.Type, Message: f.Message, Data: f.Data})
	}
	var value T
	if err := decode(rec.data, &value); err != nil {
		return bad(fmt.Errorf("%w: its result cannot be decoded: %w", ErrBadRecord, err))
	}
	res.Value = value
	return res, nil
}

// tellReplay tells the observer that an outcome was handed out, or why it could not be.
func (c *call) tellReplay(ctx context.Context, rec *record, err error) {
	kind := KindReplayed
	state, ok := err.(*StateError) //nolint:errorlint // ours, not one that a user's failure wraps
	switch {
	case !ok:
		err = nil // the recorded failure is the answer
	case badRecord(state):
		kind = KindStoreFailure
	}
	c.emit(ctx, kind, rec.number, c.begun, err)
}

// recordedFailure is a [Failure] in the record.
type recordedFailure struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// encodeFailure is what is recorded of a terminal failure.
func encodeFailure(err error) ([]byte, error) {
	f := failureOf(err)
	return encode(recordedFailure{Type: f.Type, Message: f.Message, Data: f.Data})
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

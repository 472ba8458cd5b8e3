package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestStateError_Text(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("CET", 3600))
	for _, row := range []struct {
		err  StateError
		want []string
		not  []string
	}{
		{
			StateError{Err: ErrInProgress, ID: "op#1", Ref: "order 17", Attempt: 2, LeaseEnd: end},
			[]string{"in progress", "record op#1", `ref "order 17"`, "attempt 2", "lease until 2026-03-01T12:00:00Z"},
			[]string{"ways out"},
		},
		{StateError{Err: ErrMismatch, ID: "op#1"}, []string{"reused", "op#1"}, []string{"ref", "attempt", "lease until", "winner"}},
		// The one refusal that a person has to settle names both ways out, and what to look for.
		{
			StateError{Err: fmt.Errorf("%w: again", ErrOutcomeUnknown), ID: "op#1", Ref: "order 17"},
			[]string{"outcome unknown: again", "record op#1", `ref "order 17"`, "two ways out", "Runner.Resolve", "OnUnknown", "Rerun"},
			nil,
		},
		{
			StateError{Err: ErrLeaseLost, ID: "op#1", Winner: &Failure{Type: "CardDeclined", Message: "declined"}},
			[]string{"lease lost", "winner's outcome: declined"},
			[]string{"ways out"},
		},
	} {
		text := row.err.Error()
		for _, part := range row.want {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not contain %q", text, part)
			}
		}
		for _, part := range row.not {
			if strings.Contains(text, part) {
				t.Errorf("%q contains %q", text, part)
			}
		}
	}
}

func TestStateError_Unwrap(t *testing.T) {
	t.Parallel()
	cause := &url.Error{Op: "Post", URL: "u", Err: io.EOF}
	var err error = &StateError{Err: fmt.Errorf("%w: %w", ErrNotRecorded, cause), ID: "op#1"}
	err = fmt.Errorf("payment: %w", err)
	if !errors.Is(err, ErrNotRecorded) || !errors.Is(err, io.EOF) {
		t.Error("the sentinel and its cause are not reachable")
	}
	if e, ok := errors.AsType[*StateError](err); !ok || e.ID != "op#1" {
		t.Error("the details are not reachable")
	}
	err = &StateError{Err: ErrLeaseLost, Winner: &Failure{Type: "CardDeclined"}}
	if f, ok := errors.AsType[*Failure](err); !ok || f.Type != "CardDeclined" || !errors.Is(err, ErrLeaseLost) {
		t.Error("the winner's failure is not reachable")
	}
}

func TestSentinels_AreDistinctAndSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	all := []error{
		ErrInProgress, ErrMismatch, ErrOutcomeUnknown, ErrLeaseLost, ErrNotRecorded, ErrUnavailable, ErrNoTime,
		ErrNotFound, ErrNoBody, ErrBadRecord,
	}
	texts := map[string]bool{}
	for i, err := range all {
		if !strings.HasPrefix(err.Error(), "idempotency: ") || texts[err.Error()] {
			t.Errorf("text is %q", err)
		}
		texts[err.Error()] = true
		for j, other := range all {
			if errors.Is(err, other) != (i == j) {
				t.Errorf("%q is %q", err, other)
			}
		}
	}
}

// The kinds of errors that a handler returns as Terminal.
type (
	declinedError struct{ Code string }
	pointerError  struct {
		Code   string
		hidden int
	}
	namedError  struct{ A chan int }
	textError   string
	arrayErrors [2]int

	// InvokeResponse_Error looks like the error document of Lambda's runtime.
	InvokeResponse_Error struct { //nolint:staticcheck // the name is what is tested
		Message    string `json:"errorMessage"`
		Type       string `json:"errorType"`
		ShouldExit bool   `json:"-"`
	}
)

func (e declinedError) Error() string        { return "declined: " + e.Code }
func (e *pointerError) Error() string        { return "pointer: " + e.Code }
func (e namedError) Error() string           { return "named" }
func (e namedError) ErrorType() string       { return "Payments.Named" }
func (e textError) Error() string            { return string(e) }
func (e arrayErrors) Error() string          { return fmt.Sprint([2]int(e)) }
func (e InvokeResponse_Error) Error() string { return fmt.Sprintf("%#v", e) }

// What is recorded of a terminal failure: the name that Lambda reports for the outermost type, the text, and
// the error's own JSON where there is any.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  error
		want Failure
	}{
		{"a value", declinedError{"51"}, Failure{"declinedError", "declined: 51", []byte(`{"Code":"51"}`)}},
		{"a pointer", &pointerError{"51", 1}, Failure{"pointerError", "pointer: 51", []byte(`{"Code":"51"}`)}},
		{"a pointer to a value's type", &declinedError{"51"}, Failure{"declinedError", "declined: 51", []byte(`{"Code":"51"}`)}},
		{"errors.New", errors.New("plain"), Failure{"errorString", "plain", nil}},
		{"wrapped", fmt.Errorf("pay: %w", declinedError{"51"}), Failure{"wrapError", "pay: declined: 51", nil}},
		{"joined", errors.Join(declinedError{"51"}, io.EOF), Failure{"joinError", "declined: 51\nEOF", nil}},
		{"named by itself, not encodable", namedError{}, Failure{"Payments.Named", "named", nil}},
		{"a string", textError("no \xff UTF-8"), Failure{"textError", "no \uFFFD UTF-8", []byte(`"no \ufffd UTF-8"`)}},
		{"an array", arrayErrors{1, 2}, Failure{"arrayErrors", "[1 2]", []byte(`[1,2]`)}},
		{
			"Lambda's document",
			InvokeResponse_Error{Message: "declined", Type: "CardDeclined"},
			Failure{"CardDeclined", "declined", []byte(`{"errorMessage":"declined","errorType":"CardDeclined"}`)},
		},
		{
			// The runtime knows it as a value only; behind a pointer it is a type like any other.
			"Lambda's document behind a pointer", &InvokeResponse_Error{Message: "declined", Type: "CardDeclined"},
			Failure{
				"InvokeResponse_Error", InvokeResponse_Error{Message: "declined", Type: "CardDeclined"}.Error(),
				[]byte(`{"errorMessage":"declined","errorType":"CardDeclined"}`),
			},
		},
	} {
		f := failureOf(row.err)
		if f.Type != row.want.Type || f.Message != row.want.Message || string(f.Data) != string(row.want.Data) {
			t.Errorf("%s: got %q, %q, %s", row.name, f.Type, f.Message, f.Data)
		}
		// What is recorded comes back as it was.
		data, err := encode(f)
		if err != nil {
			t.Fatal(err)
		}
		var back Failure
		if err := decode(data, &back); err != nil || back.Type != f.Type || back.Message != f.Message || string(back.Data) != string(f.Data) {
			t.Errorf("%s: replayed as %+v, %v", row.name, back, err)
		}
		if back.Error() != f.Message || back.ErrorType() != f.Type {
			t.Errorf("%s: methods say %q, %q", row.name, back.Error(), back.ErrorType())
		}
	}
}

// A type that only has the name of Lambda's document is a type like any other.
func TestFailureOf_OnlyTheNameOfLambdasDocument(t *testing.T) {
	t.Parallel()
	type InvokeResponse_Error struct{ error } //nolint:staticcheck // the name is what is tested
	f := failureOf(InvokeResponse_Error{errors.New("plain")})
	if f.Type != "InvokeResponse_Error" || f.Message != "plain" {
		t.Errorf("got type %q, message %q", f.Type, f.Message)
	}
}

// A handler that gives back a failure it got by a replay of a nested operation, as its own final answer, keeps
// that one's name, text and data: the same user's error can be rebuilt from both.
func TestFailureOf_AFailure(t *testing.T) {
	t.Parallel()
	first := failureOf(declinedError{"51"})
	second := failureOf(first)
	if second.Type != first.Type || second.Message != first.Message || string(second.Data) != string(first.Data) {
		t.Errorf("got %q, %q, %s; want %q, %q, %s", second.Type, second.Message, second.Data, first.Type, first.Message, first.Data)
	}
}

type longNameError struct{ name string }

func (e longNameError) Error() string     { return "m" }
func (e longNameError) ErrorType() string { return e.name }

// Each part of a failure is bounded, so that one fits into an item whatever the handler returns (C17).
func TestFailureOf_IsBounded(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"text":       textError(strings.Repeat("x", failureLimit+1)),
		"multi-byte": textError(strings.Repeat("€", failureLimit/3+1)),
		"invalid":    textError(strings.Repeat("\xff", failureLimit)),
		"controls":   errors.New(strings.Repeat("\x01", 1<<20)),
		"both":       declinedError{strings.Repeat("\x01", failureLimit/6-10)},
		"long type":  longNameError{strings.Repeat("n", 1<<20)},
	} {
		f := failureOf(err)
		if len(f.Message) > failureLimit || len(f.Data) > failureLimit || !utf8.ValidString(f.Message) {
			t.Errorf("%s: %d bytes of text, %d of data, valid %t", name, len(f.Message), len(f.Data), utf8.ValidString(f.Message))
		}
		data, err := encode(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > maxInline {
			t.Errorf("%s: %d bytes do not fit into the record", name, len(data))
		}
	}
	if f := failureOf(textError(strings.Repeat("x", failureLimit))); len(f.Message) != failureLimit {
		t.Errorf("a text at the limit has %d bytes", len(f.Message))
	}
	whole := textError(strings.Repeat("x", failureLimit-2)) // and two quotes
	if f := failureOf(whole); f.Data == nil || !json.Valid(f.Data) {
		t.Error("data at the limit is left out")
	}
}

// Config.Failure rebuilds the user's own error, or leaves it to the Failure.
func TestRunnerFailure(t *testing.T) {
	t.Parallel()
	recorded := failureOf(declinedError{"51"})
	rebuild := func(f *Failure) error {
		if f.Type != "declinedError" {
			return nil
		}
		var e declinedError
		if err := json.Unmarshal(f.Data, &e); err != nil {
			return err
		}
		return e
	}
	r := unitRunner(t, Config{Failure: rebuild})
	if err := r.failure(recorded); !errors.Is(err, declinedError{"51"}) {
		t.Errorf("got %v", err)
	}
	other := &Failure{Type: "other", Message: "m"}
	if err := r.failure(other); !errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
	if err := unitRunner(t, Config{}).failure(recorded); !errors.Is(err, recorded) {
		t.Errorf("got %v", err)
	}
}

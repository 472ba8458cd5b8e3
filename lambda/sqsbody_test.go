package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// decodes counts how often a body is decoded.
type decodes struct{ text string }

// UnmarshalJSON notes a text and that it was read.
func (d *decodes) UnmarshalJSON(data []byte) error {
	d.text = string(data)
	decodedBodies.Add(1)
	return nil
}

// MarshalJSON gives the text back.
func (d decodes) MarshalJSON() ([]byte, error) { return []byte(d.text), nil }

var decodedBodies atomic.Int64 // by TestSQSBody_DecodedOnce alone

// request and handler get one and the same value.
func TestSQSBody_DecodedOnce(t *testing.T) {
	t.Parallel()
	before := decodedBodies.Load()
	f := newFixture(t, idempotency.Config{})
	var asked, ran string
	request := func(_ context.Context, m events.SQSMessage, d decodes) (idempotency.Request, error) {
		asked = d.text
		return idempotency.Request{Key: m.MessageId}, nil
	}
	h := lambda.SQSBody(f.Runner, quiet(lambda.Batch{Operation: "ship"}), request, func(_ context.Context, d decodes) error {
		ran = d.text
		return nil
	})
	if got := handsOver(t, h, sqsMessage("1", `{"a":1}`)); got != "" || asked != `{"a":1}` || ran != asked {
		t.Errorf("failed %q; request got %s, handler %s", got, asked, ran)
	}
	if n := decodedBodies.Load() - before; n != 1 {
		t.Errorf("the body was decoded %d times, want once", n)
	}
}

// What a body is to a handler that takes anything, and whether it is one at all.
func TestSQSBody_Decoding(t *testing.T) {
	t.Parallel()
	const broken = "broken"
	for body, want := range map[string]any{
		`9007199254740993`:             json.Number("9007199254740993"),
		`1.10`:                         json.Number("1.10"),
		`[12345678901234567890.5e-3]`:  []any{json.Number("12345678901234567890.5e-3")},
		`{"n":0.10000000000000000001}`: map[string]any{"n": json.Number("0.10000000000000000001")},
		"  \"x\" \n":                   "x",
		`null`:                         nil,
		``:                             broken,
		` `:                            broken,
		`{`:                            broken,
		`order 17`:                     broken,
		`{"a":1} {"a":2}`:              broken,
		`{"a":1}}`:                     broken,
		`"x" trailing`:                 broken,
		"\ufeff{}":                     broken,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			var why error
			runs := 0
			var got any
			b := lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = err }}
			h := lambda.SQSBody(f.Runner, b, nil, func(_ context.Context, v any) error {
				runs++
				got = v
				return nil
			})
			failed := handsOver(t, h, sqsMessage("1", body))
			if want == broken {
				if failed != "1" || runs != 0 || why == nil || !strings.Contains(why.Error(), "lambda: the body cannot be decoded: ") || len(f.db.Calls("")) != 0 {
					t.Errorf("failed %q: %v; %d runs, want a message that cannot be read", failed, why, runs)
				}
				return
			}
			if failed != "" || runs != 1 || !reflect.DeepEqual(got, want) {
				t.Errorf("failed %q: %v; the handler got %#v, want %#v", failed, why, got, want)
			}
		})
	}
}

// null leaves a T as it is; but no handler gets a nil pointer.
func TestSQSBody_Null(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var got []string
	b := lambda.Batch{Operation: "ship", Failed: func(_ context.Context, id string, err error) { got = append(got, id+" "+err.Error()) }}
	byValue := lambda.SQSBody(f.Runner, b, nil, func(_ context.Context, o order) error { got = append(got, fmt.Sprint(o)); return nil })
	byPointer := lambda.SQSBody(f.Runner, b, nil, func(_ context.Context, o *order) error { got = append(got, fmt.Sprint(o)); return nil })
	raw := lambda.SQSBody(f.Runner, b, nil, func(_ context.Context, o json.RawMessage) error { got = append(got, string(o)); return nil })
	for i, h := range []sqsHandler{byValue, byPointer, raw} {
		want := ""
		if i == 1 {
			want = "1"
		}
		id := strconv.Itoa(i)
		if failed := handsOver(t, h, sqsMessage(id, "null")); failed != want {
			t.Errorf("%d: failed %q, want %q", i, failed, want)
		}
	}
	if failed := handsOver(t, byValue, sqsMessage("0", "null")); failed != "" {
		t.Errorf("a replay failed")
	}
	if want := "{  0}|1 lambda: the body cannot be decoded: it is null, and no handler gets a nil pointer|null"; strings.Join(got, "|") != want {
		t.Errorf("the handlers got %q, want %q", strings.Join(got, "|"), want)
	}
}

// Two numbers that a float64 would not tell apart are two inputs.
func TestSQSBody_DigitsAreCompared(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.SQSBody(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(context.Context, map[string]any) error { return nil })
	if got := handsOver(t, h, sqsMessage("1", `{"n":9007199254740992}`)); got != "" {
		t.Errorf("failed %q", got)
	}
	if got := handsOver(t, h, sqsMessage("1", `{"n":9007199254740993}`)); got != "1" {
		t.Errorf("failed %q, want 1: it is another amount", got)
	}
}

// C29: what the handler does to its value does not change what the key is bound to.
func TestSQSBody_HandlerChangesTheBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	runs := 0
	h := lambda.SQSBody(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(_ context.Context, v map[string]any) error {
		runs++
		v["a"], v["c"] = "changed", "new"
		return nil
	})
	for range 2 {
		if got := handsOver(t, h, sqsMessage("1", `{"a":"b"}`)); got != "" {
			t.Errorf("failed %q", got)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs, want 1", runs)
	}
}

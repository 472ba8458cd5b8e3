package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// C31: a replay has the very bytes of the first answer.
func TestWrap_ReplayHasTheSameBytes(t *testing.T) {
	t.Parallel()
	t.Run("zero number", sameBytes(0, `0`))
	t.Run("negative zero", sameBytes(math.Copysign(0, -1), `-0`))
	t.Run("empty string", sameBytes("", `""`))
	t.Run("false", sameBytes(false, `false`))
	t.Run("nil pointer", sameBytes((*order)(nil), `null`))
	t.Run("nil slice", sameBytes([]int(nil), `null`))
	t.Run("empty slice", sameBytes([]int{}, `[]`))
	t.Run("nil map", sameBytes(map[string]int(nil), `null`))
	t.Run("empty map", sameBytes(map[string]int{}, `{}`))
	t.Run("no result", sameBytes(struct{}{}, `{}`))
	t.Run("zero struct", sameBytes(order{}, `{"id":"","customer":"","amount":0}`))
	t.Run("nil any", sameBytes[any](nil, `null`))
	t.Run("empty any", sameBytes[any]([]string{}, `[]`))
	t.Run("bytes", sameBytes([]byte{0xff, 0}, `"/wA="`))
	t.Run("HTML", sameBytes("<a href='x'>&</a>\u2028", `"<a href='x'>&</a>\u2028"`))
	t.Run("HTML in any", sameBytes[any](map[string]any{"<": "&"}, `{"<":"&"}`))
	t.Run("raw JSON", sameBytes(json.RawMessage(`{"b": 1.0, "a": "<"}`), `{"b":1.0,"a":"<"}`))
	t.Run("large integer", sameBytes(int64(math.MaxInt64), `9223372036854775807`))
	t.Run("large integer in any", sameBytes[any](map[string]any{"n": int64(math.MaxInt64)}, `{"n":9223372036854775807}`))
	t.Run("digits in any", sameBytes[any](json.Number("1.10"), `1.10`))
	t.Run("struct in any", sameBytes(map[string]any{"o": order{ID: "o"}}, `{"o":{"amount":0,"customer":"","id":"o"}}`))
	t.Run("float", sameBytes(1e21, `1e+21`))
	t.Run("time", sameBytes(time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)), `"2026-01-02T03:04:05.000000006+01:00"`))
	t.Run("HTTP response", sameBytes(events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: `{"<":1}`, Cookies: []string{}},
		`{"statusCode":201,"headers":null,"multiValueHeaders":null,"body":"{\"<\":1}","cookies":[]}`))
}

func sameBytes[Out any](out Out, want string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		r := newFixture(t, idempotency.Config{})
		runs := 0
		h := lambda.Wrap(r.Runner, fixed, func(context.Context, struct{}) (Out, error) {
			runs++
			return out, nil
		})
		first, replay := invoke(t, h, `{}`), invoke(t, h, `{}`)
		if first != (reply{payload: want}) {
			t.Errorf("first = %+v, want %s", first, want)
		}
		if replay != first {
			t.Errorf("replay = %+v, want %+v", replay, first)
		}
		if runs != 1 {
			t.Errorf("the handler ran %d times, want 1", runs)
		}
	}
}

// C32: what turns out not to be encodable once the handler has run is known to be done, and does not run again.
func TestWrap_ResultCannotBeEncoded(t *testing.T) {
	t.Parallel()
	type cycle struct{ Next *cycle }
	loop := &cycle{}
	loop.Next = loop
	t.Run("NaN", notEncodable(math.NaN()))
	t.Run("infinity in any", notEncodable[any](math.Inf(1)))
	t.Run("channel in any", notEncodable[any](make(chan int)))
	t.Run("func in any", notEncodable(map[string]any{"f": func() {}}))
	t.Run("cyclic pointer", notEncodable(loop))
	t.Run("raw JSON that is none", notEncodable(json.RawMessage(`{`)))
	t.Run("stream in any", notEncodable[any](strings.NewReader("stream")))
}

func notEncodable[Out any](out Out) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		r := newFixture(t, idempotency.Config{})
		runs := 0
		h := lambda.Wrap(r.Runner, fixed, func(context.Context, struct{}) (Out, error) {
			runs++
			return out, nil
		})
		// The first caller gets the handler's result: Lambda's runtime sends the stream, and says of the rest that it
		// cannot encode it.
		got, err := h(localtest.Invocation(t, time.Minute), struct{}{})
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", out) {
			t.Errorf("first: %#v, %v, want the handler's result, %#v", got, err, out)
		}
		if got := errorType(t, invoke(t, h, `{}`)); got != "IdempotencyNoBody" {
			t.Errorf("second: errorType %q, want IdempotencyNoBody", got)
		}
		if runs != 1 {
			t.Errorf("the handler ran %d times, want 1", runs)
		}
	}
}

type upload struct {
	Name string
	Body io.Reader
}

type encodeOnly struct{}

func (encodeOnly) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

// C32: what can be told from the type is refused when wrapping. The handler never runs.
func TestWrap_RefusesWhatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	t.Run("reader", refuses[io.Reader]("idempotency: result is a io.Reader: a stream cannot be recorded and replayed"))
	t.Run("buffer", refuses[*bytes.Buffer]("idempotency: result is a *bytes.Buffer: a stream cannot be recorded and replayed"))
	t.Run("streaming response", refuses[*events.LambdaFunctionURLStreamingResponse]("idempotency: result is a *events.LambdaFunctionURLStreamingResponse: a stream cannot be recorded and replayed"))
	t.Run("reader inside", refuses[upload]("idempotency: result.Body is a io.Reader: a stream cannot be recorded and replayed"))
	t.Run("channel", refuses[chan int]("idempotency: result is a chan int: JSON has no such value"))
	t.Run("func", refuses[[]func()]("idempotency: result is a func(): JSON has no such value"))
	t.Run("interface", refuses[map[string]error]("idempotency: result[] is a error: JSON does not tell which type to read an interface back as"))
	t.Run("keys", refuses[map[float64]int]("idempotency: result is a map[float64]int: JSON has no such keys"))
	t.Run("encodes only", refuses[encodeOnly]("idempotency: result is a lambda_test.encodeOnly: encodes itself as JSON and has no UnmarshalJSON to be read back by"))
}

func refuses[Out any](want string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		t.Parallel()
		r := newFixture(t, idempotency.Config{})
		h := lambda.Wrap(r.Runner, func(context.Context, order) (idempotency.Request, error) {
			t.Error("a request was asked for: it was not decided when wrapping")
			return idempotency.Request{}, nil
		}, mustNotRun[order, Out](t))
		wantInvalid(t, h, want)
		if n := len(r.db.Calls("PutItem")); n != 0 {
			t.Errorf("%d acquires, want none", n)
		}
	}
}

func wantInvalid[In, Out any](t *testing.T, h lambda.Handler[In, Out], want string) {
	t.Helper()
	for range 2 { // every invocation
		var in In
		_, err := h(localtest.Invocation(t, time.Minute), in)
		if err == nil || err.Error() != want {
			t.Errorf("err = %v\nwant  %s", err, want)
		}
		if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
			t.Errorf("err = %#v, want a FieldError in it", err)
		}
	}
	if got := errorType(t, invoke(t, h, `{}`)); got != "IdempotencyInvalid" {
		t.Errorf("errorType %q, want IdempotencyInvalid", got)
	}
}

func TestWrap_RefusesNil(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{}).Runner
	h := mustNotRun[order, int](t)
	event := func(ctx context.Context, o order) error {
		_, err := h(ctx, o)
		return err
	}
	const (
		noRunner  = "idempotency: the wrapper's r is nil: make a Runner with idempotency.New"
		noRequest = "idempotency: the wrapper's request is nil: a function that names the request of an event is required"
		noHandler = "idempotency: the wrapper's h is nil: a handler is required"
	)
	wantInvalid(t, lambda.Wrap(nil, fixed, h), noRunner)
	wantInvalid(t, lambda.Wrap(r, nil, h), noRequest)
	wantInvalid(t, lambda.Wrap[order, int](r, fixed, nil), noHandler)
	wantInvalid(t, lambda.Event(nil, fixed, event), noRunner)
	wantInvalid(t, lambda.Event(r, nil, event), noRequest)
	wantInvalid(t, lambda.Event[order](r, fixed, nil), noHandler)
}

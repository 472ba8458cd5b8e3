package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

type (
	boxed     struct{ v any } // an any behind a codec of its own
	rawText   struct{ s string }
	onlyReads struct{ Cents int }
	onlyText  int
	chain     struct {
		Next *chain `json:"n,omitempty"`
	}
)

func (b boxed) MarshalJSON() ([]byte, error)     { return json.Marshal(b.v) }
func (b *boxed) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &b.v) }

func (r rawText) MarshalJSON() ([]byte, error)     { return []byte(`"` + r.s + `"`), nil }
func (r *rawText) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &r.s) }

func (o *onlyReads) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	_, err := fmt.Sscanf(text, "%d", &o.Cents)
	return err
}

func (o *onlyText) UnmarshalText(data []byte) error {
	_, err := fmt.Sscanf(string(data), "C%d", (*int)(o))
	return err
}

// encoded is what Lambda's runtime makes of a result.
func encoded(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// faithful says that the first caller and the replay get the same bytes.
func faithful[T any](value T) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		var answers []string
		for range 2 {
			res, err := ask(t, f, value)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, encoded(t, res.Value))
		}
		if answers[0] != answers[1] {
			t.Errorf("first answer %.200s, replay %.200s", answers[0], answers[1])
		}
		f.wantRuns(t, 1)
	}
}

// withoutBody says that the first caller gets the handler's own value, and whoever comes later that it is done; the
// event says why.
func withoutBody[T any](value T) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		res, err := ask(t, f, value)
		if err != nil {
			t.Fatal(err)
		}
		if reader, ok := any(value).(io.Reader); ok {
			if any(res.Value) != any(reader) {
				t.Errorf("the first caller got %v", res.Value)
			}
		} else if encoded(t, res.Value) != encoded(t, value) {
			t.Error("the first caller got another value than the handler's")
		}
		seen := f.seen()
		if last := seen[len(seen)-1]; last.Kind != idempotency.KindCompleted || last.Err == nil {
			t.Errorf("event %q, %v; want completed and why without a body", last.Kind, last.Err)
		}
		_, err = ask(t, f, value)
		wantErr(t, err, idempotency.ErrNoBody)
		f.wantRuns(t, 1)
	}
}

func ask[T any](t *testing.T, f *fixture, value T) (idempotency.Result[T], error) {
	t.Helper()
	return idempotency.Do(localtest.Invocation(t, 3*time.Second), f.worker(t).runner, request("k"), func(context.Context) (T, error) {
		f.runs.Add(1)
		return value, nil
	})
}

// C31, C32, I3: types with codecs of their own, open ones and recursive ones may be read back as something else than was
// written, or not at all.
func TestResults_ReadBackDifferently(t *testing.T) {
	t.Parallel()
	exact, _, err := big.ParseFloat("0.1234567890123456789012345678901234567890", 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	deep := &chain{}
	for range 10001 {
		deep = &chain{deep}
	}
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := map[time.Time]int{noon: 1, noon.In(time.FixedZone("also UTC", 0)): 2}
	if len(clock) != 2 {
		t.Fatal("the keys have met already")
	}
	for name, test := range map[string]func(*testing.T, *fixture){
		"a number behind a codec":     faithful(boxed{json.Number("12345678901234567890")}),
		"the same in a struct":        faithful(struct{ Box boxed }{boxed{json.Number("12345678901234567890")}}),
		"more digits than are read":   faithful(exact),
		"no UTF-8, from a codec":      faithful(rawText{"a\xffb"}),
		"no UTF-8, from a string":     faithful("a\xffb"),
		"keys that meet":              faithful(clock),
		"keys that meet, from UTF-8":  faithful(map[string]int{"a\xff": 1, "a\xfe": 2}),
		"an any":                      faithful[any](map[string]any{"z": 1e21, "a": json.RawMessage("1.0"), "s": struct{ Z, A int }{1, 2}}),
		"a list":                      faithful(&chain{&chain{}}),
		"deeper than can be read":     withoutBody(deep),
		"read in another form":        withoutBody(onlyReads{5}),
		"read in another form, text":  withoutBody(onlyText(5)),
		"a stream behind an any":      withoutBody[any](strings.NewReader("once")),
		"what cannot be encoded, any": func(t *testing.T, f *fixture) { t.Helper(); noForm(t, f) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
		})
	}
}

func noForm(t *testing.T, f *fixture) {
	t.Helper()
	ch := make(chan int)
	res, err := ask[any](t, f, ch)
	if err != nil || res.Value != any(ch) {
		t.Errorf("the first caller got %v, %v", res.Value, err)
	}
	_, err = ask[any](t, f, ch)
	wantErr(t, err, idempotency.ErrNoBody)
}

// C32: of a struct that shows no field nothing would be recorded.
func TestResults_NoExportedField(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		_, err := ask(t, f, struct{ id int }{17})
		if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || !strings.Contains(field.Rule, "no exported field") {
			t.Errorf("got %v", err)
		}
		// Inside of another type it may be what nobody needs back, such as a mutex or the SDK's metadata.
		if err := idempotency.Replayable[[]struct{ A struct{ id int } }](); err != nil {
			t.Errorf("the same inside of another type: %v", err)
		}
		if err := idempotency.Replayable[struct{}](); err != nil {
			t.Errorf("a struct without any field: %v", err)
		}
		f.wantRuns(t, 0)
		f.wantCalls(t)
	})
}

// C35: a replay that cannot be read is told as the failure that it is, and one without a body as a replay, with its reason.
func TestResults_ReplayIsToldAsItWas(t *testing.T) {
	t.Parallel()
	lookup := func(t *testing.T, f *fixture) error {
		t.Helper()
		_, err := idempotency.Lookup[int](localtest.Invocation(t, time.Second), f.worker(t).runner, request("k"))
		return err
	}
	do := func(t *testing.T, f *fixture) error { t.Helper(); _, err := ask(t, f, 17); return err }
	for name, tt := range map[string]struct {
		first func(*testing.T, *fixture) error
		again func(*testing.T, *fixture) error
		kind  idempotency.Kind
		err   error
	}{
		"read back":             {do, do, idempotency.KindReplayed, nil},
		"another type":          {func(t *testing.T, f *fixture) error { t.Helper(); _, err := ask(t, f, "x"); return err }, do, idempotency.KindStoreFailure, idempotency.ErrBadRecord},
		"another type, look-up": {func(t *testing.T, f *fixture) error { t.Helper(); _, err := ask(t, f, "x"); return err }, lookup, idempotency.KindStoreFailure, idempotency.ErrBadRecord},
		"no body":               {func(t *testing.T, f *fixture) error { t.Helper(); _, err := ask[any](t, f, make(chan int)); return err }, do, idempotency.KindReplayed, idempotency.ErrNoBody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				if err := tt.first(t, f); err != nil {
					t.Fatal(err)
				}
				f.quiet()
				err := tt.again(t, f)
				if !errors.Is(err, tt.err) {
					t.Errorf("got %v, want %v", err, tt.err)
				}
				f.wantKinds(t, tt.kind)
				if seen := f.seen(); !errors.Is(seen[0].Err, tt.err) {
					t.Errorf("event with %v, want %v", seen[0].Err, tt.err)
				}
			})
		})
	}
}

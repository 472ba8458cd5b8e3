package idempotency

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

type (
	panickingError struct{ Code string }
	loudError      struct{ text string }
)

func (e panickingError) Error() string                { return "declined: " + e.Code }
func (e panickingError) MarshalJSON() ([]byte, error) { panic("nil map") }

func (e loudError) Error() string                { return e.text }
func (e loudError) ErrorType() string            { return e.text }
func (e loudError) MarshalJSON() ([]byte, error) { return encode(strings.Repeat("x", failureLimit-2)) }

// A recorded failure can be read in the console, and by another language: its data is JSON, not base64.
func TestFailure_RecordedForm(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`{"type":"declinedError","message":"declined: <51>","data":{"Code":"<51>"}}`: declinedError{"<51>"},
		`{"type":"errorString","message":"plain"}`:                                   errors.New("plain"),
		`{"type":"T","message":"m","data":[1]}`:                                      &Failure{Type: "T", Message: "m", Data: []byte("[1]")},
	} {
		if res := failureResult(err); res.err != nil || strings.ReplaceAll(strings.ReplaceAll(string(res.data), `\u003c`, "<"), `\u003e`, ">") != want {
			t.Errorf("got %s, %v; want %s", res.data, res.err, want)
		}
	}
}

// A failure that is passed on has the same bounds as any other.
func TestFailure_PassedOnIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 400<<10)
	f := failureOf(&Failure{Type: long, Message: long, Data: []byte(`"` + long + `"`)})
	if len(f.Type) != failureTypeLimit || len(f.Message) != failureLimit || f.Data != nil {
		t.Errorf("%d bytes of type, %d of message, %d of data", len(f.Type), len(f.Message), len(f.Data))
	}
	given := &Failure{Type: "T", Message: "m", Data: []byte("no JSON")}
	if f := failureOf(given); f.Data != nil || string(given.Data) != "no JSON" {
		t.Errorf("data %q, the caller's %q", f.Data, given.Data)
	}
}

// C17, C33: whatever the handler returns as its failure is replayed: six bytes for each character, and a MarshalJSON
// that panics.
func TestFailure_AlwaysReplayed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x01", failureLimit)
	for name, err := range map[string]error{
		"escapes":     loudError{long},
		"passed on":   &Failure{Type: long, Message: long, Data: []byte(`"` + strings.Repeat("x", failureLimit-2) + `"`)},
		"panicking":   panickingError{"51"},
		"no JSON":     &Failure{Type: "T", Message: "m", Data: []byte("{")},
		"no UTF-8":    errors.New(strings.Repeat("\xff", failureLimit)),
		"wrapped one": errors.Join(panickingError{"51"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := localtest.Start(t)
			r, newErr := New(db.Client(), Config{Table: db.CreateTable(t, Table("records", Schema{}))})
			if newErr != nil {
				t.Fatal(newErr)
			}
			run := func(context.Context) (int, error) { return 0, Terminal(err) }
			if _, first := Do(t.Context(), r, good(nil), run); !errors.Is(first, err) {
				t.Errorf("the first caller got %.200v", first)
			}
			_, again := Do(t.Context(), r, good(nil), run)
			failure, ok := errors.AsType[*Failure](again)
			if want := failureOf(err); !ok || failure.Type != want.Type || failure.Message != want.Message || string(failure.Data) != string(want.Data) {
				t.Errorf("replayed as %.200v", again)
			}
		})
	}
	if f := failureOf(panickingError{"51"}); f.Type != "panickingError" || f.Message != "declined: 51" || f.Data != nil {
		t.Errorf("got %+v", f)
	}
}

// What Config.Failure rebuilds goes to the caller without a mark, as the first caller got it: its type's name
// goes to Lambda.
func TestFailure_RebuiltIsUnmarked(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(error) error{"terminal": Terminal, "unknown": Unknown, "twice": func(err error) error { return Safe(Terminal(err)) }} {
		r := unitRunner(t, Config{Failure: func(f *Failure) error { return mark(declinedError{f.Message}) }})
		if err := r.failure(&Failure{Type: "declinedError", Message: "51"}); err != (declinedError{"51"}) { //nolint:errorlint // the outermost type counts
			t.Errorf("%s: got %#v", name, err)
		}
	}
}

package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

type chargeResult struct {
	ID     string           `json:"id"`
	Amount int64            `json:"amount"`
	Tags   map[string]any   `json:"tags,omitempty"`
	Next   *chargeResult    `json:"next,omitempty"`
	At     time.Time        `json:"at"`
	Limits map[int][]string `json:"limits"`
}

// stepped runs a step that returns value in a run that is released, then in one that gets the record, and says that both
// got want, and that what JSON makes of it is what the first run got, too.
func stepped[T any](value, want T) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, runs := newFixture(t), 0
			for i := range 2 {
				_, err := f.worker(t).do(localtest.Invocation(t, time.Second), request("k"), func(ctx context.Context) (string, error) {
					got, err := idempotency.Step(ctx, "step", func(context.Context) (T, error) { runs++; return value, nil })
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("run %d: %#v, error %v; want %#v", i, got, err, want)
					}
					return "", errPlain
				})
				wantErr(t, err, errPlain)
			}
			if runs != 1 {
				t.Errorf("ran %d times", runs)
			}
		})
	}
}

// What a step returns is read back as it was, as JSON shows it: the first run gets what the next one will.
func TestStep_Results(t *testing.T) {
	t.Parallel()
	full := chargeResult{
		ID: "ch_1", Amount: 1<<62 + 1, At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Next: &chargeResult{ID: "<&>"},
		Limits: map[int][]string{1: nil, 2: {}},
	}
	t.Run("struct", stepped(full, full))
	t.Run("pointer", stepped(&full, &full))
	t.Run("nil pointer", stepped[*chargeResult](nil, nil))
	t.Run("nil map", stepped[map[string]int](nil, nil))
	t.Run("nil slice", stepped[[]string](nil, nil))
	t.Run("nil any", stepped[any](nil, nil))
	t.Run("empty text", stepped("", ""))
	t.Run("zero", stepped(0, 0))
	t.Run("nothing", stepped(struct{}{}, struct{}{}))
	t.Run("bytes", stepped([]byte{0, 0xff}, []byte{0, 0xff}))
	t.Run("no UTF-8", stepped("a\xffb", "a\ufffdb"))
	t.Run("number in any", stepped[any](uint64(18446744073709551615), json.Number("18446744073709551615")))
	t.Run("struct in any", stepped[any](map[string]int{"n": 1}, map[string]any{"n": json.Number("1")}))
	t.Run("raw JSON", stepped(json.RawMessage(`{"a": 1}`), json.RawMessage(`{"a":1}`)))
}

// unread is a type whose values may be written and not be read back, or not be written.
type unread struct{ fails string }

func (u unread) MarshalJSON() ([]byte, error) {
	if u.fails == "written" {
		return nil, errPlain
	}
	return []byte(`"x"`), nil
}

func (u *unread) UnmarshalJSON([]byte) error { return errPlain }

// wantUnrecorded says that a step's error is that of one that has run and is not recorded, and nothing else.
func wantUnrecorded(t *testing.T, w *worker, err error) {
	t.Helper()
	wantErr(t, err, idempotency.ErrNotRecorded)
	if class := idempotency.ClassOf(w.runner, err); class != idempotency.Ambiguous {
		t.Errorf("the error means %v, want Ambiguous", class)
	}
	st, ok := errors.AsType[*idempotency.StateError](err)
	if !ok || st.ID == "" || st.Attempt == 0 || st.RetryAfter != 0 || !strings.Contains(err.Error(), `"charge"`) {
		t.Errorf("error %v (%+v)", err, st)
	}
}

// What has no JSON, or cannot be read back, has happened all the same: the outcome is unknown.
func TestStep_ResultWithoutJSON(t *testing.T) {
	t.Parallel()
	loop := &cycle{}
	loop.Next = loop
	for name, step := range map[string]func(context.Context) error{
		"chan in any": unstepped[any](make(chan int)),
		"cycle":       unstepped(loop),
		"not written": unstepped(unread{"written"}),
		"not read":    unstepped(unread{"read"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t)
				_, err := w.do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
					err := step(ctx)
					wantUnrecorded(t, w, err)
					return "", err
				})
				wantErr(t, err, idempotency.ErrNotRecorded)
				f.wantCalls(t, "PutItem", "UpdateItem")
				wantSteps(t, f.wantStatus(t, req, "UNKNOWN"))
			})
		})
	}
}

func unstepped[T any](value T) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := idempotency.Step(ctx, "charge", func(context.Context) (T, error) { return value, nil })
		return err
	}
}

// maxSteps is what all steps of a record have together: names and JSON.
const maxSteps = 392 << 10

// The limit counts all steps of the record, those of earlier attempts too. What is just below it fits into the item.
func TestStep_TooLarge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before int  // bytes of a step before it
		run    bool // which is of the same run; else of the attempt before
		bytes  int  // of this one
		fits   bool
	}{
		{"one", 0, false, maxSteps, true},
		{"one too large", 0, false, maxSteps + 1, false},
		{"two", maxSteps / 2, false, maxSteps / 2, true},
		{"two too large", maxSteps / 2, false, maxSteps/2 + 1, false},
		{"two of a run", maxSteps / 2, true, maxSteps / 2, true},
		{"two too large of a run", maxSteps / 2, true, maxSteps/2 + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				w := f.worker(t)
				sized := func(ctx context.Context, name string, bytes int) error {
					_, err := idempotency.Step(ctx, name, s.does(strings.Repeat("x", bytes-len(name)-len(`""`))))
					return err
				}
				before := func(ctx context.Context) (string, error) {
					if err := sized(ctx, "before", tt.before); err != nil {
						t.Error(err)
					}
					return "", errPlain
				}
				if tt.before > 0 && !tt.run {
					_, _ = w.do(localtest.Invocation(t, 3*time.Second), req, before)
				}
				f.quiet()
				_, err := w.do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
					if tt.run {
						_, _ = before(ctx)
						f.quiet()
					}
					err := sized(ctx, "charge", tt.bytes)
					if tt.fits {
						return "", errors.Join(err, errPlain)
					}
					wantUnrecorded(t, w, err)
					return "", err
				})
				want := []string{}
				if tt.before > 0 {
					want = append(want, "before")
				}
				if tt.fits {
					wantErr(t, err, errPlain)
					wantSteps(t, f.wantStatus(t, req, "RELEASED"), append(want, "charge")...)
					return
				}
				wantErr(t, err, idempotency.ErrNotRecorded)
				wantSteps(t, f.wantStatus(t, req, "UNKNOWN"), want...)
			})
		})
	}
}

// C35: a deploy has changed the step's type. What the step has done stays done and recorded, and nothing runs; the release
// before still reads it.
func TestStep_AnotherType(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]handler{
		"other type":   func(ctx context.Context) (string, error) { return "", unstepped(17)(ctx) },
		"other struct": func(ctx context.Context) (string, error) { return "", unstepped(struct{ Number int }{17})(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				w := f.worker(t, rerun)
				_, _ = w.do(localtest.Invocation(t, time.Second), req, charging(s, fails(errPlain)))
				_, err := w.do(localtest.Invocation(t, time.Second), req, h)
				wantErr(t, err, idempotency.ErrBadRecord)
				if st, ok := errors.AsType[*idempotency.StateError](err); !ok || !strings.Contains(err.Error(), `"charge"`) || st.ID == "" {
					t.Errorf("error %v", err)
				}
				wantSteps(t, f.wantStatus(t, req, "UNKNOWN"), "charge")
				res, err := w.do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
				wantAnswer(t, res, err, "ch_1", false)
				s.wantEffects(t, 1)
			})
		})
	}
}

// A record whose steps are damaged is not understood, and nothing runs.
func TestStep_DamagedSteps(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]item{
		"a text":       {"steps": text("charge")},
		"of numbers":   {"steps": &numbers},
		"of no JSON":   {"steps": stepsOf("charge", "{")},
		"of two JSONs": {"steps": stepsOf("charge", `"a" "b"`)},
		"empty":        {"steps": stepsOf("charge", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, fails(errPlain)))
				f.edit(t, req, bad)
				_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
				wantErr(t, err, idempotency.ErrBadRecord)
				s.wantEffects(t, 1)
			})
		})
	}
}

var numbers = types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"charge": number(1)}}

func stepsOf(name, data string) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{name: text(data)}}
}

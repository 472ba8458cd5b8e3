package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// side is the other side of a step. It counts what has happened there.
type side struct{ atomic.Int32 }

// does is a step's function with an effect.
func (s *side) does(value string) handler {
	return func(context.Context) (string, error) { s.Add(1); return value, nil }
}

func (s *side) wantEffects(tb testing.TB, want int) {
	tb.Helper()
	if got := int(s.Load()); got != want {
		tb.Errorf("%d effects, want %d", got, want)
	}
}

// charging is a handler of one step, named charge, that then goes on.
func charging(s *side, then handler) handler {
	return func(ctx context.Context) (string, error) {
		charge, err := idempotency.Step(ctx, "charge", s.does("ch_1"))
		if err != nil {
			return "", err
		}
		value, err := then(ctx)
		return charge + value, err
	}
}

// stepNames are those that the record holds; nil if it has no map for them.
func stepNames(it item) []string {
	m, _ := it["steps"].(*types.AttributeValueMemberM)
	if m == nil {
		return nil
	}
	names := []string{}
	for name := range m.Value {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func wantSteps(tb testing.TB, it item, want ...string) {
	tb.Helper()
	if got := stepNames(it); !slices.Equal(got, want) {
		tb.Errorf("steps %q are recorded, want %q", got, want)
	}
}

// leftBy are the ways in which an attempt leaves its steps to the next one.
var leftBy = []struct {
	name  string
	h     handler // nil: its worker dies
	prior bool
}{
	{"released", fails(errPlain), false},
	{"unknown", fails(idempotency.Unknown(errPlain)), true},
	{"crashed", nil, true},
}

// A step is recorded once, whatever becomes of the attempts after it: each gets what was recorded, and runs nothing. The
// outcome takes its place.
func TestStep_NextAttempts(t *testing.T) {
	t.Parallel()
	for _, first := range leftBy {
		for _, second := range leftBy {
			t.Run(first.name+"/"+second.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req, charges, mails, seen := newFixture(t), request("k"), &side{}, &side{}, &witness{}
					attempt := func(then handler, mail string) {
						w := f.worker(t, rerun)
						w.abandon(localtest.Invocation(t, time.Second), req, seen.then(charging(charges, func(ctx context.Context) (string, error) {
							if mail != "" {
								if _, err := idempotency.Step(ctx, mail, mails.does("sent")); err != nil {
									return "", err
								}
							}
							if then == nil {
								w.die()
							}
							return then(ctx)
						})))
						pass(4 * time.Second)
					}
					attempt(first.h, "")
					it := f.record(t, req)
					wantSteps(t, it, "charge")
					if ext, ok := it["ext"].(*types.AttributeValueMemberBOOL); !ok || !ext.Value {
						t.Errorf("ext is %v", it["ext"])
					}
					attempt(second.h, "mail")
					wantSteps(t, f.record(t, req), "charge", "mail")
					if p := seen.last().Prior; first.prior != (p != nil) || p != nil && !slices.Equal(p.Steps, []string{"charge"}) {
						t.Errorf("prior %+v", p)
					}
					f.quiet()
					res, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, seen.then(charging(charges, returns(""))))
					wantAnswer(t, res, err, "ch_1", false)
					f.wantCalls(t, "PutItem", "UpdateItem", "UpdateItem")
					if p := seen.last().Prior; (first.prior || second.prior) != (p != nil) || p != nil && !slices.Equal(p.Steps, []string{"charge", "mail"}) {
						t.Errorf("prior %+v", p)
					}
					charges.wantEffects(t, 1)
					mails.wantEffects(t, 1)
					if it := f.wantStatus(t, req, "COMPLETED"); it.has("steps") {
						t.Errorf("the outcome keeps the steps: %v", it)
					}
				})
			})
		}
	}
}

// Each step is one call more. One that is recorded costs none.
func TestStep_Calls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		h := func(end error) handler {
			return func(ctx context.Context) (string, error) {
				for _, name := range []string{"a", "b", "c"} {
					if _, err := idempotency.Step(ctx, name, s.does(name)); err != nil {
						return "", err
					}
				}
				return "ok", end
			}
		}
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, h(errPlain))
		wantErr(t, err, errPlain)
		f.wantCalls(t, "PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem")
		f.quiet()
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, h(nil))
		f.wantCalls(t, "PutItem", "UpdateItem", "UpdateItem")
		s.wantEffects(t, 3)
	})
}

// The handler's own error is the step's, and the name can be used again in the same run; another failure is no record.
func TestStep_ItsOwnError(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"plain": errPlain, "terminal": idempotency.Terminal(errPlain), "unknown": idempotency.Unknown(errPlain)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
					for range 2 {
						value, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "half", failure })
						if err != failure || value != "half" { //nolint:errorlint // untouched
							t.Errorf("%q, error %v; want the step's own", value, err)
						}
						wantSteps(t, f.record(t, req))
					}
					return charging(s, returns(""))(ctx)
				})
				wantAnswer(t, res, err, "ch_1", false)
				s.wantEffects(t, 1)
				f.wantCalls(t, "PutItem", "GetItem", "GetItem", "UpdateItem", "UpdateItem")
			})
		})
	}
}

// refusal of a step before its function runs.
type refusal struct {
	name, field string
	step        func(ctx context.Context, fn handler) error
}

func named(name string) func(context.Context, handler) error {
	return func(ctx context.Context, fn handler) error {
		_, err := idempotency.Step(ctx, name, fn)
		return err
	}
}

var refusals = []refusal{
	{"empty name", "Step's name", named("")},
	{"long name", "Step's name", named(strings.Repeat("n", 256))},
	{"control character", "Step's name", named("a\nb")},
	{"no UTF-8", "Step's name", named("a\xff")},
	{"no function", "Step's fn", func(ctx context.Context, _ handler) error {
		_, err := idempotency.Step[string](ctx, "charge", nil)
		return err
	}},
	{"nothing to find with", "StepOrFind's find", func(ctx context.Context, fn handler) error {
		_, err := idempotency.StepOrFind(ctx, "charge", nil, fn)
		return err
	}},
	{"nobody's context", "Step's ctx", func(_ context.Context, fn handler) error {
		return named("charge")(context.Background(), fn)
	}},
	{"unreplayable", "result", func(ctx context.Context, fn handler) error {
		_, err := idempotency.Step(ctx, "charge", func(ctx context.Context) (chan int, error) { _, err := fn(ctx); return nil, err })
		return err
	}},
	{"twice", "Step's name", func(ctx context.Context, fn handler) error {
		if _, err := idempotency.Step(ctx, "charge", returns("once")); err != nil {
			return err
		}
		return named("charge")(ctx, fn)
	}},
	{"inside itself", "Step's name", func(ctx context.Context, fn handler) error {
		_, err := idempotency.Step(ctx, "charge", func(ctx context.Context) (string, error) { return "", named("charge")(ctx, fn) })
		return err
	}},
}

// What can be no step is refused before its function runs, in a run as in a test of a bare handler.
func TestStep_Refused(t *testing.T) {
	t.Parallel()
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := newFixture(t), &side{}
				for _, ctx := range []context.Context{nil, idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t", Number: 1})} {
					h := func(ctx context.Context) (string, error) { return "", tt.step(ctx, s.does("done")) }
					var err error
					if ctx == nil {
						_, err = f.worker(t).do(localtest.Invocation(t, time.Second), request("k"), h)
					} else {
						_, err = h(ctx)
					}
					if e, ok := errors.AsType[*idempotency.FieldError](err); !ok || e.Field != tt.field {
						t.Errorf("error %v, want a FieldError of %s", err, tt.field)
					}
				}
				s.wantEffects(t, 0)
			})
		})
	}
}

// A name that an earlier attempt has recorded is used once in a run, too.
func TestStep_RecordedNameTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, fails(errPlain)))
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, charging(s, returns(""))))
		if e, ok := errors.AsType[*idempotency.FieldError](err); !ok || e.Field != "Step's name" {
			t.Errorf("error %v", err)
		}
		s.wantEffects(t, 1)
	})
}

// The single shot has no record to write to.
func TestStep_SingleShot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		req.Tx = idempotency.SingleShot
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
		if e, ok := errors.AsType[*idempotency.FieldError](err); !ok || e.Field != "Step's ctx" || !strings.Contains(e.Rule, "claim") {
			t.Errorf("error %v", err)
		}
		s.wantEffects(t, 0)
		if it := f.record(t, req); it != nil {
			t.Errorf("there is a record: %v", it)
		}
	})
}

package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Steps of one run run side by side, none waits for another one's function, and all are recorded.
func TestStep_SideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		const n = 24
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint("step ", i))
		}
		slices.Sort(want)
		h := func(end error, meet func()) handler {
			return func(ctx context.Context) (string, error) {
				errs := make([]error, n)
				var group sync.WaitGroup
				for i, name := range want {
					group.Go(func() {
						var value string
						value, errs[i] = idempotency.Step(ctx, name, func(ctx context.Context) (string, error) {
							meet()
							return s.does("value of " + name)(ctx)
						})
						if value != "value of "+name {
							t.Errorf("%s got %q", name, value)
						}
					})
				}
				group.Wait()
				return "ok", errors.Join(append(errs, end)...)
			}
		}
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, h(errPlain, barrier(n)))
		wantErr(t, err, errPlain)
		wantSteps(t, f.wantStatus(t, req, "RELEASED"), want...)
		f.quiet()
		res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, h(nil, func() { t.Error("ran again") }))
		wantAnswer(t, res, err, "ok", false)
		s.wantEffects(t, n)
		f.wantCalls(t, "PutItem", "UpdateItem", "UpdateItem")
	})
}

// One name side by side is one effect.
func TestStep_OneNameSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
			var refused sync.WaitGroup
			refused.Add(1)
			return idempotency.Step(ctx, "charge", func(ctx context.Context) (string, error) {
				go func() {
					defer refused.Done()
					_, err := idempotency.Step(ctx, "charge", s.does("twice"))
					if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
						t.Errorf("error %v", err)
					}
				}()
				refused.Wait()
				return s.does("ch_1")(ctx)
			})
		})
		if err != nil {
			t.Error(err)
		}
		s.wantEffects(t, 1)
	})
}

// What a handler leaves running can begin no step once it has returned: nobody would know of it.
func TestStep_AfterTheHandler(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]handler{"result": returns("ok"), "error": fails(errPlain), "panic": func(context.Context) (string, error) { panic("lost") }} {
		for _, ctxs := range []string{"its context", "one without an end"} {
			t.Run(name+"/"+ctxs, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req, s := newFixture(t), request("k"), &side{}
					w := f.worker(t)
					var left context.Context
					during := errors.New("not asked")
					ending := nth("UpdateItem", 1, func() { _, during = idempotency.Step(left, "charge", s.does("ch_1")) })
					w.before = func(op string) error { ending(op); return nil }
					func() {
						defer func() { _ = recover() }()
						_, _ = w.do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
							if left = ctx; ctxs != "its context" {
								left = context.WithoutCancel(ctx)
							}
							return end(ctx)
						})
					}()
					_, after := idempotency.Step(left, "charge", s.does("ch_1"))
					for when, err := range map[string]error{"while the end is written": during, "after it": after} {
						if e, ok := errors.AsType[*idempotency.FieldError](err); !ok || e.Field != "Step's ctx" {
							t.Errorf("%s: error %v, want a FieldError of Step's ctx", when, err)
						}
					}
					s.wantEffects(t, 0)
				})
			})
		}
	}
}

// A panic or Goexit in a step goes through, and leaves an unknown without its name; so does one after a recorded step,
// with its name.
func TestStep_Panic(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(){"panic": func() { panic(errPlain) }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				w, through := f.worker(t, rerun), make(chan any, 1)
				go func() {
					defer func() { through <- recover() }()
					_, _ = w.do(localtest.Invocation(t, time.Second), req, charging(s, func(ctx context.Context) (string, error) {
						return idempotency.Step(ctx, "mail", func(context.Context) (string, error) { s.Add(1); die(); return "", nil })
					}))
				}()
				if got := <-through; name == "panic" && got != errPlain || name == "Goexit" && got != nil { //nolint:errorlint // the very value
					t.Errorf("what went through is %v", got)
				}
				wantSteps(t, f.wantStatus(t, req, "UNKNOWN"), "charge")
				asked := 0
				res, err := w.do(localtest.Invocation(t, time.Second), req, charging(s, func(ctx context.Context) (string, error) {
					return idempotency.StepOrFind(ctx, "mail", func(context.Context) (string, bool, error) { asked++; return " sent", true, nil }, s.does("twice"))
				}))
				wantAnswer(t, res, err, "ch_1 sent", false)
				s.wantEffects(t, 2)
				if asked != 1 {
					t.Errorf("find was asked %d times", asked)
				}
			})
		})
	}
}

// A step in an operation inside a handler belongs to that operation: the inner key's record has it.
func TestStep_OfAnOperationInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, outer, inner, s := newFixture(t), request("outer"), request("inner"), &side{}
		w := f.worker(t)
		_, err := w.do(localtest.Invocation(t, 10*time.Second), outer, charging(s, func(ctx context.Context) (string, error) {
			res, err := w.do(ctx, inner, charging(s, fails(errPlain)))
			return res.Value, err
		}))
		wantErr(t, err, errPlain)
		wantSteps(t, f.record(t, outer), "charge")
		wantSteps(t, f.record(t, inner), "charge")
		s.wantEffects(t, 2)
	})
}

// Rule 13: with a recorded step a claimed transaction that crashes is an unknown like any other; without one the next
// request runs.
func TestStep_InAClaimedTransaction(t *testing.T) {
	t.Parallel()
	for _, stepped := range []bool{true, false} {
		t.Run(fmt.Sprint(stepped), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				req.Tx = idempotency.Claimed
				w := f.worker(t)
				w.abandon(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
					if stepped {
						_, _ = idempotency.Step(ctx, "charge", s.does("ch_1"))
					}
					w.die()
					return "", nil
				})
				pass(4 * time.Second)
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
				s.wantEffects(t, 1)
				if stepped {
					wantErr(t, err, idempotency.ErrOutcomeUnknown)
					res, err = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
				}
				wantAnswer(t, res, err, "ch_1", false)
				s.wantEffects(t, 1)
			})
		})
	}
}

// Names are the user's: what means something in an expression means nothing here.
func TestStep_Names(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		names := []string{"#steps", ":mine", "a.b", "a[0]", "SET x = y", "größe €", "status", strings.Repeat("n", 255)}
		h := func(end error) handler {
			return func(ctx context.Context) (string, error) {
				for _, name := range names {
					if value, err := idempotency.Step(ctx, name, s.does(name)); err != nil || value != name {
						t.Errorf("%q: %q, error %v", name, value, err)
					}
				}
				return "ok", end
			}
		}
		_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, h(errPlain))
		it := f.record(t, req)
		if got, want := stepNames(it), slices.Sorted(slices.Values(names)); !reflect.DeepEqual(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, h(nil))
		s.wantEffects(t, len(names))
	})
}

// A step has run and its result is not there, or it is still running: a handler that says otherwise, by an error without the
// step's mark, does not let the next request run it again (I5).
func TestStep_OpenAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"not recorded": false, "still running": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				finish, ended := make(chan struct{}), make(chan struct{})
				_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
					if running {
						began := make(chan struct{})
						go func() {
							defer close(ended)
							_, _ = idempotency.Step(ctx, "charge", func(context.Context) (string, error) { close(began); <-finish; return "ch_1", nil })
						}()
						<-began
						return "", errPlain
					}
					close(ended)
					f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied})
					_, _ = idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil })
					return "", errPlain
				})
				wantErr(t, err, errPlain)
				f.wantStatus(t, req, "UNKNOWN")
				close(finish)
				<-ended
			})
		})
	}
}

// What a step's function stages would be lost where the step is not run again: there is nothing to stage it on.
func TestStep_StagesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.worker(t).must(localtest.Invocation(t, 3*time.Second), t, request("k"), func(ctx context.Context) (string, error) {
		return idempotency.Step(ctx, "charge", func(inside context.Context) (string, error) {
			if idempotency.TxFrom(inside) != nil || idempotency.TxFrom(ctx) == nil || idempotency.AttemptFrom(inside) == nil {
				t.Error("a step has a transaction, or no attempt")
			}
			return "ch_1", nil
		})
	})
}

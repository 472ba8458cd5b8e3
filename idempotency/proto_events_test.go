package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Words that must not leave the process: in no event, no error and no item.
const (
	canaryKey    = "canary-key-4711"
	canaryScope  = "canary-scope-4711"
	canaryInput  = "canary-input-4711"
	canarySecret = "canary-secret-4711"
)

// I11: raw keys, scopes, inputs and secrets are neither stored nor shown, whatever happens.
func TestEvents_NothingLeaks(t *testing.T) {
	t.Parallel()
	leaky := idempotency.Request{Operation: "charge", Scope: canaryScope, Key: canaryKey, Input: map[string]string{"card": canaryInput}}
	check := func(t *testing.T, where string, v any) {
		t.Helper()
		for _, text := range []string{fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v)} {
			for _, word := range []string{canaryKey, canaryScope, canaryInput, canarySecret} {
				if strings.Contains(text, word) {
					t.Errorf("%s shows %s: %s", where, word, text)
				}
			}
		}
	}
	ask := func(req idempotency.Request) idempotency.Request {
		mine := leaky
		if fmt.Sprint(req.Input) != fmt.Sprint(request("").Input) {
			mine.Input = map[string]string{"card": canaryInput + "1"}
		}
		return mine
	}
	for _, p := range paths {
		for _, fault := range append([]localtest.FaultKind{0, localtest.AccessDenied}, localtest.RequestLost, localtest.Throttled) {
			for secretName, set := range map[string]option{"plain": refuse, "hmac": secrets([]byte(canarySecret))} {
				t.Run(fmt.Sprintf("%s/%s/%s", p.name, fault, secretName), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f := newFixture(t)
						if secretName == "plain" {
							p.found(t, f, leaky)
						}
						w := f.worker(t, p.policy, set)
						w.sent = func(in any) {
							switch in := in.(type) {
							case *dynamodb.PutItemInput:
								for name, v := range in.Item {
									check(t, "the item's "+name, item{name: v}.text(name))
								}
							case *dynamodb.UpdateItemInput:
								for name, v := range in.ExpressionAttributeValues {
									check(t, "the update's "+name, item{name: v}.text(name))
								}
							}
						}
						if fault != 0 {
							f.inject("PutItem", fault, forever)
							f.inject("UpdateItem", fault, forever)
						}
						_, err := w.do(localtest.Invocation(t, 3*time.Second), ask(p.ask(request("k"))), p.h)
						if err != nil {
							check(t, "the error", err)
							check(t, "the error", err.Error())
							if st, ok := errors.AsType[*idempotency.StateError](err); ok {
								check(t, "the state", *st)
							}
						}
						for _, e := range f.seen() {
							check(t, "the event", e)
							if e.Err != nil {
								check(t, "the event's error", e.Err.Error())
							}
						}
						for _, c := range f.db.Calls("") {
							check(t, "the call", c)
						}
					})
				})
			}
		}
	}
}

// What is refused before anything is asked shows no key either, and asks nothing.
func TestEvents_RefusedRequestsLeakNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		long := idempotency.Request{Operation: "charge", Scope: "s", Key: strings.Repeat(canaryKey, 20), Input: 1}
		wide := idempotency.Request{Operation: "charge", Scope: strings.Repeat(canaryScope, 70), Key: "k", Input: 1}
		for _, req := range []idempotency.Request{long, wide} {
			_, err := w.do(localtest.Invocation(t, time.Second), req, returns("ok"))
			if _, ok := errors.AsType[*idempotency.FieldError](err); !ok || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
		}
		f.wantCalls(t)
		f.wantRuns(t, 0)
	})
}

// The observer is told in the request's goroutine and with its context, after the step that it is told of.
func TestEvents_ContextAndOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		type mark struct{}
		var order []string
		w := f.worker(t, func(s *settings) {
			s.Observe = func(ctx context.Context, e idempotency.Event) {
				if ctx.Value(mark{}) != "mine" {
					t.Errorf("event %s has another context", e.Kind)
				}
				order = append(order, string(e.Kind))
			}
		})
		w.after = func(operation string) { order = append(order, operation) }
		ctx := context.WithValue(localtest.Invocation(t, time.Second), mark{}, "mine")
		_, _ = w.do(ctx, request("k"), func(context.Context) (string, error) {
			order = append(order, "handler")
			return "ok", nil
		})
		if want := []string{"PutItem", "acquired", "handler", "UpdateItem", "completed"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

// A throttled request's reads are told of, too.
func TestEvents_ReadUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, withoutRetries, func(s *settings) { s.Inline = 10 << 10 })
		w.must(localtest.Invocation(t, time.Second), t, request("k"), returns(noise(10<<10)))
		f.quiet()
		f.inject("PutItem", localtest.Throttled, 1)
		w.must(localtest.Invocation(t, time.Second), t, request("k"), returns(""))
		if e := f.seen()[0]; e.Kind != idempotency.KindReplayed || e.ReadUnits != 3 || e.WriteUnits != 0 {
			t.Errorf("event %+v, want 3 read units for 10 KB", e)
		}
	})
}

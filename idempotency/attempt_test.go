package idempotency

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestAttemptFrom_OutsideOfAHandlerIsNil(t *testing.T) {
	t.Parallel()
	a := AttemptFrom(t.Context())
	if a != nil {
		t.Fatalf("got %+v", a)
	}
	for name, call := range map[string]func(){
		"DownstreamKey":  func() { a.DownstreamKey("charge") },
		"DownstreamUUID": func() { a.DownstreamUUID("charge") },
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.Contains(text, "nil Attempt") || !strings.Contains(text, "WithAttempt") {
					t.Errorf("%s panics with %q, want an explanation and the way out", name, text)
				}
			}()
			call()
			t.Errorf("%s of a nil Attempt made a key", name)
		}()
	}
}

// A bare handler in a test gets what Do would give it.
func TestWithAttempt(t *testing.T) {
	t.Parallel()
	prior := &Prior{Number: 1, Started: time.Unix(1, 0), LeaseEnd: time.Unix(2, 0), Steps: []string{"charge"}}
	given := Attempt{Token: "T1", Number: 2, Fence: 3, Prior: prior}
	ctx := WithAttempt(t.Context(), given)
	a := AttemptFrom(ctx)
	if a == nil || a.Token != "T1" || a.Number != 2 || a.Fence != 3 || !reflect.DeepEqual(a.Prior, prior) {
		t.Fatalf("got %+v", a)
	}
	key, uuid := a.DownstreamKey("charge"), a.DownstreamUUID("charge")
	again := AttemptFrom(WithAttempt(context.Background(), Attempt{Token: "T1", Number: 5}))
	if again.DownstreamKey("charge") != key || again.DownstreamUUID("charge") != uuid {
		t.Error("the keys depend on more than the token and the name")
	}
	if other := AttemptFrom(WithAttempt(ctx, Attempt{Token: "T2"})); other.Token != "T2" || other.DownstreamKey("charge") == key {
		t.Errorf("another token: got %+v", other)
	}
	if a.DownstreamKey("refund") == key || a.DownstreamUUID("refund") == uuid {
		t.Error("two names have one key")
	}
	if given.id != "" {
		t.Error("the caller's attempt was changed")
	}
}

// The handler's context carries the owning attempt, and the same request has the same keys in every attempt.
func TestAttempt_KeysOfARequestDoNotDependOnTheAttempt(t *testing.T) {
	t.Parallel()
	keys := func(cfg Config) (token, key, uuid string, fence int64) {
		r := unitRunner(t, cfg)
		_, err := Do(t.Context(), r, good(nil), func(ctx context.Context) (int, error) {
			a := AttemptFrom(ctx)
			token, key, uuid, fence = a.Token, a.DownstreamKey("charge"), a.DownstreamUUID("charge"), a.Fence
			if a.Number != 1 || a.Prior != nil {
				t.Errorf("attempt is %+v", a)
			}
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return token, key, uuid, fence
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	token, key, uuid, fence := keys(Config{Now: func() time.Time { return start }})
	// H14, rule 19: the fence is the window's start and the number.
	if fence != start.UnixMilli()*1024+1 {
		t.Errorf("fence is %d", fence)
	}
	token2, key2, uuid2, fence2 := keys(Config{Now: func() time.Time { return start.Add(48 * time.Hour) }})
	if key != key2 || uuid != uuid2 || fence2 <= fence {
		t.Errorf("key %q, then %q; UUID %q, then %q; fence %d, then %d", key, key2, uuid, uuid2, fence, fence2)
	}
	// H16, rule 21: a token is fresh for each run.
	if token == token2 || len(token) < 26 {
		t.Errorf("tokens are %q and %q", token, token2)
	}
}

// unitAttempt runs a request against a table that answers so, and returns the attempt that the handler got.
func unitAttempt(t *testing.T, cfg Config, answer func(input any) (item, error)) (*Attempt, []Event) {
	t.Helper()
	var events []Event
	cfg.Table, cfg.Observe = "records", func(_ context.Context, e Event) { events = append(events, e) }
	r, err := New(&unitClient{answer: answer}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var got *Attempt
	_, err = Do(t.Context(), r, good(nil), func(ctx context.Context) (int, error) {
		got = AttemptFrom(ctx)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, events
}

// Rule 8: an acquire that replaces an unknown whose window is over says so, to the observer and to the handler;
// one that replaces an outcome has nothing to say.
func TestAttempt_PriorOfAReplacedUnknown(t *testing.T) {
	t.Parallel()
	for _, st := range []status{inProgress, unknown, completed, failed, released} {
		old := unitItem(st)
		old[attrPriorNumber], old[attrPriorStarted], old[attrPriorLease] = numberValue(1), numberValue(5000), numberValue(6000)
		a, events := unitAttempt(t, Config{}, func(input any) (item, error) {
			if _, ok := input.(*dynamodb.PutItemInput); ok {
				return old, nil
			}
			return nil, nil
		})
		if events[0].Kind != KindExpired || a.Number != 1 {
			t.Errorf("%s: observed %s, attempt %d", st, events[0].Kind, a.Number)
		}
		if st != inProgress && st != unknown {
			if a.Prior != nil {
				t.Errorf("%s: prior is %+v", st, a.Prior)
			}
			continue
		}
		if p := a.Prior; p == nil || p.Number != 2 || p.Started.UnixMilli() != 5000 || p.LeaseEnd.UnixMilli() != 1_700_000_060_000 {
			t.Errorf("%s: prior is %+v", st, p)
		}
	}
}

// H7, rule 5: what counts after a take-over is the item that it has made. A step that the late owner has
// recorded between the look and the take-over is in it.
func TestAttempt_PriorIsOfTheItemTakenOver(t *testing.T) {
	t.Parallel()
	seen := unitItem(unknown)
	seen["expiration"] = numberValue(4_000_000_000)
	delete(seen, attrValidation)
	a, events := unitAttempt(t, Config{OnUnknown: Rerun}, func(input any) (item, error) {
		switch in := input.(type) {
		case *dynamodb.PutItemInput:
			return nil, conditionFailed(seen)
		case *dynamodb.UpdateItemInput:
			if in.ReturnValues != types.ReturnValueAllNew {
				return nil, nil // the completion
			}
			made := unitItem(inProgress)
			made[attrAttempt] = in.ExpressionAttributeValues[":mine"]
			made[attrNumber] = numberValue(3)
			made[attrPriorNumber], made[attrPriorStarted], made[attrPriorLease] = numberValue(2), numberValue(5000), numberValue(6000)
			made[attrSteps] = &types.AttributeValueMemberM{Value: item{"charge": textValue("ch_1")}}
			return made, nil
		}
		return nil, nil
	})
	if events[0].Kind != KindTakenOver || a.Number != 3 || a.Fence != 1_700_000_000_000*1024+3 {
		t.Errorf("observed %s, attempt %+v", events[0].Kind, a)
	}
	if p := a.Prior; p == nil || p.Number != 2 || len(p.Steps) != 1 || p.Steps[0] != "charge" || p.Started.UnixMilli() != 5000 {
		t.Errorf("prior is %+v", p)
	}
}

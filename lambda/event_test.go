package lambda_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// twins are two invocations of one asynchronous event: the first is at work for 20 s and ends as first does, the second
// begins after a second and has left until its deadline, none if it is zero. It returns the second one's answer.
func twins(t *testing.T, cfg idempotency.Config, change func(*idempotency.Request), left time.Duration, first error) (took time.Duration, runs int, err error) {
	t.Helper()
	f := newFixture(t, cfg)
	consume := lambda.Event(f.Runner, func(ctx context.Context, o order) (idempotency.Request, error) {
		req, err := fixed(ctx, o)
		if change != nil {
			change(&req)
		}
		return req, err
	}, func(context.Context, order) error {
		if runs++; runs > 1 {
			return nil
		}
		<-time.After(20 * time.Second)
		return first
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = consume(localtest.Invocation(t, time.Minute), order{})
	}()
	<-time.After(time.Second)
	ctx := t.Context()
	if left > 0 {
		ctx = localtest.Invocation(t, left)
	}
	began := time.Now()
	_, err = consume(ctx, order{})
	took = time.Since(began)
	<-ended
	return took, runs, err
}

// An event that comes while its twin is at work has two more tries at most: it waits, as long as there is time.
func TestEvent_WaitsForItsTwin(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	wait := func(d time.Duration) func(*idempotency.Request) {
		return func(req *idempotency.Request) { req.Wait = d }
	}
	for name, tt := range map[string]struct {
		cfg         idempotency.Config
		change      func(*idempotency.Request)
		left        time.Duration
		first       error
		runs        int
		want        error
		least, most time.Duration
	}{
		"it completes":           {left: minute, runs: 1, least: 19 * time.Second, most: 22 * time.Second},
		"it completes, no limit": {runs: 1, least: 19 * time.Second, most: 22 * time.Second},
		"it releases":            {left: minute, first: errDown, runs: 2, least: 19 * time.Second, most: 22 * time.Second},
		"it fails for good":      {left: minute, first: idempotency.Terminal(errDown), runs: 1, want: errRecorded, least: 19 * time.Second, most: 22 * time.Second},
		"it leaves it unknown":   {left: minute, first: idempotency.Unknown(errDown), runs: 1, want: idempotency.ErrOutcomeUnknown, least: 19 * time.Second, most: 22 * time.Second},
		"unknown, and rerun":     {cfg: idempotency.Config{OnUnknown: idempotency.Rerun}, left: minute, first: idempotency.Unknown(errDown), runs: 2, least: 19 * time.Second, most: 22 * time.Second},
		"time is over":           {left: 10 * time.Second, runs: 1, want: idempotency.ErrInProgress, least: 8 * time.Second, most: 10*time.Second - 1},
		"the Runner waits less":  {cfg: idempotency.Config{Wait: time.Second}, left: minute, runs: 1, least: 19 * time.Second, most: 22 * time.Second},
		"no wait":                {change: wait(idempotency.NoWait), left: minute, runs: 1, want: idempotency.ErrInProgress},
		"no wait, of a Runner that does": {
			cfg: idempotency.Config{Wait: minute}, change: wait(idempotency.NoWait), left: minute, runs: 1, want: idempotency.ErrInProgress,
		},
		"a wait of its own": {change: wait(5 * time.Second), left: minute, runs: 1, want: idempotency.ErrInProgress, least: 5 * time.Second, most: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				took, runs, err := twins(t, tt.cfg, tt.change, tt.left, tt.first)
				if tt.want == errRecorded { //nolint:errorlint // the very one
					if document, ok := errors.AsType[messages.InvokeResponse_Error](err); !ok || document.Message != errDown.Error() {
						t.Errorf("error %v, want the twin's failure", err)
					}
				} else if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if runs != tt.runs || took < tt.least || took > tt.most {
					t.Errorf("%d runs, answered after %s; want %d, within %s to %s", runs, took, tt.runs, tt.least, tt.most)
				}
			})
		})
	}
}

// errRecorded stands for what is made of the twin's recorded failure.
var errRecorded = errors.New("the twin's failure")

// A caller who waits for an answer is told at once, unless the Runner or the request says otherwise.
func TestWrap_DoesNotWaitByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pay lambda.Handler[order, int]
		runs := 0
		pay = lambda.Wrap(newFixture(t, idempotency.Config{}).Runner, fixed, func(context.Context, order) (int, error) {
			runs++
			began := time.Now()
			_, err := pay(localtest.Invocation(t, time.Minute), order{})
			if !errors.Is(err, idempotency.ErrInProgress) || time.Since(began) != 0 {
				t.Errorf("the twin: %v after %s", err, time.Since(began))
			}
			return runs, nil
		})
		if got, err := pay(localtest.Invocation(t, time.Minute), order{}); got != 1 || err != nil || runs != 1 {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// Event's arguments are checked as Wrap's are.
func TestEvent_MadeWrongly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{}).Runner
	h := func(context.Context, order) error { t.Error("the handler ran"); return nil }
	for name, consume := range map[string]lambda.Handler[order, struct{}]{
		"r":       lambda.Event(nil, fixed[order], h),
		"request": lambda.Event(r, nil, h),
		"h":       lambda.Event(r, fixed[order], nil),
	} {
		_, err := consume(localtest.Invocation(t, time.Second), order{})
		if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "the wrapper's "+name {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// The error of a request function goes back as it is.
func TestEvent_RequestsOwnErrorGoesBack(t *testing.T) {
	t.Parallel()
	consume := lambda.Event(newFixture(t, idempotency.Config{}).Runner, func(context.Context, order) (idempotency.Request, error) {
		return idempotency.Request{}, errDown
	}, func(context.Context, order) error { t.Error("the handler ran"); return nil })
	if _, err := consume(localtest.Invocation(t, time.Second), order{}); err != errDown { //nolint:errorlint // as it is
		t.Errorf("err = %v", err)
	}
}

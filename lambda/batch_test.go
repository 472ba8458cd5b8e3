package lambda_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// hooks note what they are told, as "Failed 1".
type hooks struct {
	mu   sync.Mutex
	told []string
	why  error // the last one's
}

func (l *hooks) note(hook, id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, hook+" "+id)
	l.why = err
}

func (l *hooks) failed(_ context.Context, id string, err error) { l.note("Failed", id, err) }

// asks is the hook of that name, which answers drop.
func (l *hooks) asks(hook string, drop bool) func(context.Context, string, error) bool {
	return func(_ context.Context, id string, err error) bool {
		l.note(hook, id, err)
		return drop
	}
}

// scene is a message "1" with the body "b" on its way through [lambda.SQSBody], and what happens elsewhere.
type scene struct {
	*testing.T
	fixture
}

// elsewhere is another delivery of the message, whose handler is fn. It may take over an unknown outcome.
func (s *scene) elsewhere(fn func(context.Context) (any, error)) {
	req := idempotency.Request{Operation: "ship", Scope: queueARN, Key: "1", Input: "b", OnUnknown: idempotency.Rerun}
	_, _ = idempotency.Do(localtest.Invocation(s, 10*time.Second), s.Runner, req, fn)
}

// ends is elsewhere with a handler that returns err, or what a batch's handler has to return.
func (s *scene) ends(err error) {
	s.elsewhere(func(context.Context) (any, error) { return struct{}{}, err })
}

// works is elsewhere with a handler that is still at work.
func (s *scene) works() {
	go s.elsewhere(func(ctx context.Context) (any, error) {
		<-ctx.Done()
		return struct{}{}, errors.New("elsewhere")
	})
	synctest.Wait()
}

// tooLong is elsewhere with a result that is not stored.
func (s *scene) tooLong() {
	s.elsewhere(func(context.Context) (any, error) { return strings.Repeat("x", 8<<20), nil })
}

// outlives lets the lease of the handler that calls it end.
func (s *scene) outlives() { <-time.After(time.Minute) }

// cutOff lets no outcome be recorded.
func (s *scene) cutOff() {
	s.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Times: -1})
}

// C42, C21: what becomes of one message, and who is told. A message that is not surely done comes again; a hook is asked
// about one that failed for good or cannot be read, and only about that; Failed is told of all that come again.
func TestBatch_Verdicts(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("own")
	returns := func(err error) sceneHandler { return func(context.Context, *scene) error { return err } }
	late := func(meanwhile func(*scene), err error) sceneHandler {
		return func(_ context.Context, s *scene) error {
			s.outlives()
			meanwhile(s)
			return err
		}
	}
	const asksTerminal, asksUndecodable = "Terminal", "Undecodable"
	for name, c := range map[string]struct {
		before  func(*scene)
		handler sceneHandler // nil: must not run
		body    string       // default "b"
		request error        // of the request function
		asks    string       // the hook whose answer counts
		why     error        // what the hooks are told; nil with neither asks nor text: the message is done with
		text    string       // a part of that
	}{
		"success":           {handler: returns(nil)},
		"replay":            {before: func(s *scene) { s.ends(nil) }},
		"run after release": {before: func(s *scene) { s.ends(errOwn) }, handler: returns(nil)},

		"failure for good":           {handler: returns(idempotency.Terminal(errOwn)), asks: asksTerminal, why: errOwn},
		"replay of one":              {before: func(s *scene) { s.ends(idempotency.Terminal(errOwn)) }, asks: asksTerminal, text: "own"},
		"done, outcome not stored":   {before: (*scene).tooLong, asks: asksTerminal, why: idempotency.ErrNoBody},
		"body that is not JSON":      {body: `{`, asks: asksUndecodable, text: "unexpected EOF"},
		"body of another type":       {body: `7`, asks: asksUndecodable, text: "it is not a string, at byte 1"},
		"request function's error":   {request: errOwn, asks: asksUndecodable, why: errOwn},
		"a FieldError of the same":   {request: &idempotency.FieldError{Field: "order", Rule: "is required"}, asks: asksUndecodable, text: "order"},
		"request the library denies": {request: errKeyless, text: "Request.Key"},

		"failure":                   {handler: returns(errOwn), why: errOwn},
		"failure marked safe":       {handler: returns(idempotency.Safe(errOwn)), why: errOwn},
		"unknown":                   {handler: returns(idempotency.Unknown(errOwn)), why: errOwn},
		"end of time":               {handler: func(ctx context.Context, s *scene) error { <-ctx.Done(); return ctx.Err() }, why: context.DeadlineExceeded},
		"refused as unknown":        {before: func(s *scene) { s.ends(idempotency.Unknown(errOwn)) }, why: idempotency.ErrOutcomeUnknown},
		"in progress elsewhere":     {before: (*scene).works, why: idempotency.ErrInProgress},
		"key of another body":       {before: func(s *scene) { s.ends(nil) }, body: `"c"`, why: idempotency.ErrMismatch},
		"table down":                {before: func(s *scene) { s.db.Inject(localtest.Fault{Kind: localtest.AccessDenied, Times: -1}) }, why: idempotency.ErrUnavailable},
		"success not recorded":      {handler: func(ctx context.Context, s *scene) error { s.cutOff(); return nil }, why: idempotency.ErrNotRecorded},
		"failure not recorded":      {handler: func(ctx context.Context, s *scene) error { s.cutOff(); return idempotency.Terminal(errOwn) }, why: idempotency.ErrNotRecorded},
		"release not recorded":      {handler: func(ctx context.Context, s *scene) error { s.cutOff(); return errOwn }, why: errOwn},
		"result of another release": {before: func(s *scene) { s.elsewhere(func(context.Context) (any, error) { return "text", nil }) }, why: idempotency.ErrBadRecord},

		"late, winner done":                       {handler: late(func(s *scene) { s.ends(nil) }, nil)},
		"late failure, winner done":               {handler: late(func(s *scene) { s.ends(nil) }, errOwn)},
		"late failure for good, winner done":      {handler: late(func(s *scene) { s.ends(nil) }, idempotency.Terminal(errOwn))},
		"late unknown, winner done":               {handler: late(func(s *scene) { s.ends(nil) }, idempotency.Unknown(errOwn))},
		"late, winner failed for good":            {handler: late(func(s *scene) { s.ends(idempotency.Terminal(errOwn)) }, nil), asks: asksTerminal, text: "own"},
		"late, winner done and not stored":        {handler: late((*scene).tooLong, nil), asks: asksTerminal, why: idempotency.ErrNoBody},
		"late, winner at work":                    {handler: late((*scene).works, nil), why: idempotency.ErrLeaseLost},
		"late, winner released":                   {handler: late(func(s *scene) { s.ends(errors.New("x")) }, nil), why: idempotency.ErrLeaseLost},
		"late failure, winner at work":            {handler: late((*scene).works, errOwn), why: errOwn},
		"late failure for good, winner at work":   {handler: late((*scene).works, idempotency.Terminal(errOwn)), why: idempotency.ErrLeaseLost},
		"late failure for good, winner released":  {handler: late(func(s *scene) { s.ends(errors.New("x")) }, idempotency.Terminal(errOwn)), why: idempotency.ErrLeaseLost},
		"late, nobody took over":                  {handler: late(func(*scene) {}, nil)},
		"late failure for good, nobody took over": {handler: late(func(*scene) {}, idempotency.Terminal(errOwn)), asks: asksTerminal, why: errOwn},

		// The states of an operation inside the handler are the handler's errors.
		"inner operation not stored":                    {handler: inner("not stored"), why: idempotency.ErrNoBody},
		"inner operation not stored, which is for good": {handler: func(ctx context.Context, s *scene) error { return idempotency.Terminal(inner("not stored")(ctx, s)) }, asks: asksTerminal, why: idempotency.ErrNoBody},
		"inner operation lost":                          {handler: inner("lost"), why: idempotency.ErrLeaseLost},
		"inner operation for good":                      {handler: inner("for good"), text: "inner"},
		"inner failure, outer success":                  {handler: inner("ignored")},
	} {
		for answer, drop := range map[string]bool{"nobody": false, "drop": true, "keep": false} {
			t.Run(name+"/"+answer, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log hooks
					b := lambda.Batch{Operation: "ship", Failed: log.failed}
					if answer != "nobody" {
						b.Terminal, b.Undecodable = log.asks(asksTerminal, drop), log.asks(asksUndecodable, drop)
					}
					s := &scene{T: t, fixture: newFixture(t, idempotency.Config{})}
					runs := 0
					h := lambda.SQSBody(s.Runner, b, func(_ context.Context, m events.SQSMessage, _ string) (idempotency.Request, error) {
						if errors.Is(c.request, errKeyless) {
							return idempotency.Request{}, nil
						}
						return idempotency.Request{Key: m.MessageId}, c.request
					}, func(ctx context.Context, _ string) error {
						if runs++; c.handler == nil {
							t.Error("the handler ran")
							return nil
						}
						return c.handler(ctx, s)
					})
					if c.before != nil {
						c.before(s)
					}
					body := c.body
					if body == "" {
						body = `"b"`
					}
					failed := handOver(localtest.Invocation(t, 10*time.Second), t, h, sqsMessage("1", body))
					s.db.ClearFaults()

					var told []string
					done := c.asks == "" && c.why == nil && c.text == ""
					switch {
					case c.asks == asksTerminal && answer == "nobody":
						done = true // it would fail the same way each time
					case c.asks != "" && answer != "nobody":
						done = drop
						told = append(told, c.asks+" 1")
					}
					want := ""
					if !done {
						want = "1"
						told = append(told, "Failed 1")
					}
					if failed != want || !slices.Equal(log.told, told) {
						t.Errorf("failed %q, want %q; told %q, want %q: %v", failed, want, log.told, told, log.why)
					}
					if len(told) > 0 && (c.why != nil && !errors.Is(log.why, c.why) || !strings.Contains(text(log.why), c.text)) {
						t.Errorf("told of %v, want %v %s", log.why, c.why, c.text)
					}
					if (runs == 1) != (c.handler != nil) {
						t.Errorf("%d runs", runs)
					}
				})
			})
		}
	}
}

// sceneHandler is what the message's handler does.
type sceneHandler func(context.Context, *scene) error

// errKeyless lets the request function leave its key empty.
var errKeyless = errors.New("without a key")

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// inner is a handler that returns the error of an operation inside it, which ends as is said.
func inner(how string) sceneHandler {
	return func(ctx context.Context, s *scene) error {
		req := idempotency.Request{Operation: "pay", Scope: queueARN, Key: "1", Input: "b", OnUnknown: idempotency.Rerun}
		do := func(ctx context.Context, fn func() (string, error)) error {
			_, err := idempotency.Do(ctx, s.Runner, req, func(context.Context) (string, error) { return fn() })
			return err
		}
		switch how {
		case "not stored":
			_ = do(ctx, func() (string, error) { return strings.Repeat("x", 8<<20), nil })
			return do(ctx, func() (string, error) { return "", nil })
		case "lost":
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return do(short, func() (string, error) {
				<-time.After(4 * time.Second)
				_ = do(ctx, func() (string, error) { return "", idempotency.Terminal(errors.New("winner")) })
				return "", nil
			})
		case "for good":
			_ = do(ctx, func() (string, error) { return "", idempotency.Terminal(errors.New("inner")) })
			return do(ctx, func() (string, error) { return "", nil }) // a replayed failure is a mark to nobody
		default:
			_ = do(ctx, func() (string, error) { return "", idempotency.Terminal(errors.New("inner")) })
			return nil
		}
	}
}

// Without hooks the log tells of every message that comes again and of those that failed for good; of those that were not
// started the number only. Of what is done it tells nothing. Not parallel: the default logger is everybody's.
func TestBatch_Log(t *testing.T) { //nolint:paralleltest // see above
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	defer slog.SetDefault(before)

	f := newFixture(t, idempotency.Config{})
	h := lambda.SQSBody(f.Runner, lambda.Batch{Operation: "ship"}, nil, func(_ context.Context, body string) error {
		switch body {
		case "fails":
			return errors.New("no stock")
		case "for good":
			return idempotency.Terminal(errors.New("no such article"))
		}
		return nil
	})
	failed := handsOver(
		t, h, fifoMessage("g", "1", `"ok"`), fifoMessage("g", "2", `"for good"`), fifoMessage("g", "3", `"fails"`), fifoMessage("g", "4", `"ok"`),
		fifoMessage("g", "5", `"ok"`), fifoMessage("h", "6", `{`), fifoMessage("i", "7", `"ok"`),
	)
	if failed != "3 4 5 6" {
		t.Errorf("failed %q", failed)
	}
	want := `level=WARN msg="lambda: the message has failed for good and is acknowledged" operation=ship message=2 error="no such article"
level=ERROR msg="lambda: the message has failed and comes again" operation=ship message=3 error="no stock"
level=ERROR msg="lambda: the message has failed and comes again" operation=ship message=6 error="lambda: the body cannot be decoded: unexpected EOF"
level=WARN msg="lambda: messages were not started and come again: one before them has failed, or too little time was left" operation=ship messages=2 of=7
`
	if got := log.String(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
	log.Reset()
	if failed := handsOver(t, h, fifoMessage("g", "1", `"ok"`), fifoMessage("i", "7", `"ok"`), fifoMessage("i", "8", `"ok"`)); failed != "" || log.Len() > 0 {
		t.Errorf("failed %q; of what is done the log says\n%s", failed, log.String())
	}
	told := lambda.Batch{Operation: "ship", Failed: func(context.Context, string, error) {}, Terminal: func(context.Context, string, error) bool { return true }}
	h = lambda.SQS(f.Runner, told, byBody, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "for good" {
			return idempotency.Terminal(errors.New("no such article"))
		}
		return errors.New("no stock")
	})
	if failed := handsOver(t, h, fifoMessage("g", "1", "for good"), fifoMessage("g", "2", "fails"), fifoMessage("g", "3", "")); failed != "2 3" || log.Len() > 0 {
		t.Errorf("failed %q; of what the hooks are told the log says\n%s", failed, log.String())
	}
}

// Failed takes all that the log would say, ErrSkipped for each that was not started among it; it does not hear the other hooks'.
func TestBatch_FailedIsToldOfSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	errs := map[string]error{}
	b := lambda.Batch{Operation: "ship", Failed: func(_ context.Context, id string, err error) { errs[id] = err }}
	errOwn := errors.New("own")
	h := lambda.SQS(f.Runner, b, nil, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "fails" {
			return errOwn
		}
		return nil
	})
	if got := handsOver(t, h, fifoMessage("g", "1", ""), fifoMessage("g", "2", "fails"), fifoMessage("g", "3", ""), fifoMessage("h", "4", "")); got != "2 3" {
		t.Errorf("failed %q", got)
	}
	if len(errs) != 2 || errs["2"] != errOwn || !errors.Is(errs["3"], lambda.ErrSkipped) || errors.Is(errs["3"], errOwn) || !strings.Contains(text(errs["3"]), ": 2, which comes before it, has failed") { //nolint:errorlint // as it is
		t.Errorf("told of %v", errs)
	}
}

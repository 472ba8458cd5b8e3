package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

type declinedError struct {
	Code string `json:"code"`
}

func (e *declinedError) Error() string { return "card declined: " + e.Code }

type soldOutError string

type namedError struct{}

func (namedError) Error() string     { return "m" }
func (namedError) ErrorType() string { return "Payments.Named" }

// lookalike has the JSON of an error document and is none.
type lookalike messages.InvokeResponse_Error

func (e lookalike) Error() string { return e.Message }

func (e soldOutError) Error() string { return string(e) }

// A terminal failure is the same document to Lambda's caller, the first time and every time after it.
func TestWrap_ReplayedFailureHasTheSameDocument(t *testing.T) {
	t.Parallel()
	frame := &messages.InvokeResponse_Error_StackFrame{Path: "pay.go", Line: 7, Label: "pay"}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"pointer", &declinedError{"51"}, `{"errorMessage":"card declined: 51","errorType":"declinedError"}`},
		{"value", soldOutError("no more"), `{"errorMessage":"no more","errorType":"soldOutError"}`},
		{"errors.New", errors.New("<no> & \"never\""), `{"errorMessage":"\u003cno\u003e \u0026 \"never\"","errorType":"errorString"}`},
		{"wrapped", fmt.Errorf("pay: %w", &declinedError{"51"}), `{"errorMessage":"pay: card declined: 51","errorType":"wrapError"}`},
		{"joined", errors.Join(errors.New("a"), errors.New("b")), `{"errorMessage":"a\nb","errorType":"joinError"}`},
		{
			"document",
			messages.InvokeResponse_Error{Type: "Declined", Message: "by the bank"},
			`{"errorMessage":"by the bank","errorType":"Declined"}`,
		},
		{
			"document with a stack",
			messages.InvokeResponse_Error{Type: "Declined", Message: "m", StackTrace: []*messages.InvokeResponse_Error_StackFrame{frame}},
			`{"errorMessage":"m","errorType":"Declined","stackTrace":[{"path":"pay.go","line":7,"label":"pay"}]}`,
		},
		{ // the runtime knows the document by value only
			"wrapped document", fmt.Errorf("pay: %w", messages.InvokeResponse_Error{Type: "Declined", Message: "m"}),
			`{"errorMessage":"pay: messages.InvokeResponse_Error{Message:\"m\", Type:\"Declined\", StackTrace:[]*messages.InvokeResponse_Error_StackFrame(nil), ShouldExit:false}","errorType":"wrapError"}`,
		},
		{
			"pointer to a document", &messages.InvokeResponse_Error{Type: "Declined", Message: "m"},
			`{"errorMessage":"messages.InvokeResponse_Error{Message:\"m\", Type:\"Declined\", StackTrace:[]*messages.InvokeResponse_Error_StackFrame(nil), ShouldExit:false}","errorType":"InvokeResponse_Error"}`,
		},
		{
			"lookalike of a document",
			lookalike{Type: "Declined", Message: "m", StackTrace: []*messages.InvokeResponse_Error_StackFrame{frame}},
			`{"errorMessage":"m","errorType":"lookalike"}`,
		},
		{"names itself", namedError{}, `{"errorMessage":"m","errorType":"Payments.Named"}`},
		{"wrapped error that names itself", fmt.Errorf("pay: %w", namedError{}), `{"errorMessage":"pay: m","errorType":"wrapError"}`},
		{"failure of an operation inside", &idempotency.Failure{Type: "declinedError", Message: "m"}, `{"errorMessage":"m","errorType":"declinedError"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, idempotency.Config{})
			runs := 0
			h := lambda.Wrap(r.Runner, fixed, func(context.Context, order) (string, error) {
				runs++
				return "", idempotency.Terminal(tt.err)
			})
			first, replay := invoke(t, h, `{}`), invoke(t, h, `{}`)
			if first.document != tt.want {
				t.Errorf("first  = %s\nwant     %s", first.document, tt.want)
			}
			if replay.document != tt.want {
				t.Errorf("replay = %s\nwant     %s", replay.document, tt.want)
			}
			if runs != 1 {
				t.Errorf("the handler ran %d times, want 1", runs)
			}
		})
	}
}

func TestWrap_HandlersErrorGoesBackUntouched(t *testing.T) {
	t.Parallel()
	want := &declinedError{"51"}
	for name, mark := range map[string]func(error) error{
		"unmarked": func(err error) error { return err },
		"terminal": idempotency.Terminal,
		"unknown":  idempotency.Unknown,
		"safe":     idempotency.Safe,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, idempotency.Config{})
			h := lambda.Wrap(r.Runner, fixed, func(context.Context, order) (string, error) { return "half", mark(want) })
			got, err := h(localtest.Invocation(t, time.Minute), order{})
			if err != error(want) || got != "" { //nolint:errorlint // as it is
				t.Errorf("h = %q, %#v, want the handler's error itself and no result", got, err)
			}
		})
	}
}

func TestWrap_FailureIsRebuilt(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{Failure: func(f *idempotency.Failure) error {
		if f.Type == "declinedError" {
			return &declinedError{"rebuilt"}
		}
		return nil
	}})
	h := lambda.Wrap(r.Runner, orderRequest, func(_ context.Context, o order) (string, error) {
		if o.ID == "sold" {
			return "", idempotency.Terminal(soldOutError("no more"))
		}
		return "", idempotency.Terminal(&declinedError{"51"})
	})
	for range 2 {
		invoke(t, h, `{"id":"o","customer":"c"}`)
		invoke(t, h, `{"id":"sold","customer":"c"}`)
	}
	_, err := h(localtest.Invocation(t, time.Minute), order{ID: "o", Customer: "c"})
	if e, ok := err.(*declinedError); !ok || e.Code != "rebuilt" { //nolint:errorlint // bare, for Lambda's errorType
		t.Errorf("err = %#v, want the rebuilt declinedError", err)
	}
	if got, want := invoke(t, h, `{"id":"sold","customer":"c"}`).document, `{"errorMessage":"no more","errorType":"soldOutError"}`; got != want {
		t.Errorf("not rebuilt: %s, want %s", got, want)
	}
}

// Each row is a way to one answer of the protocol, by what Lambda's caller sees of it.
func TestWrap_ErrorTypeTellsTheCases(t *testing.T) {
	t.Parallel()
	always := func(operation string, kind localtest.FaultKind) func(*testing.T, fixture, payer) {
		return func(_ *testing.T, f fixture, _ payer) {
			f.db.Inject(localtest.Fault{Operation: operation, Kind: kind, Times: -1})
		}
	}
	for _, tt := range []struct {
		errorType string
		sentinel  error
		before    func(*testing.T, fixture, payer)
		invoke    func(*testing.T, payer) error
	}{
		{"IdempotencyInProgress", idempotency.ErrInProgress, nil, func(t *testing.T, pay payer) (err error) {
			t.Helper()
			// A second delivery while the first one runs.
			_, _ = pay(localtest.Invocation(t, time.Minute), func(context.Context) (string, error) {
				err = again(t, pay)
				return "", nil
			})
			return err
		}},
		{"IdempotencyMismatch", idempotency.ErrMismatch, func(t *testing.T, f fixture, _ payer) {
			t.Helper()
			other := lambda.Event(f.Runner, fixed, func(context.Context, string) error { return nil })
			_, _ = other(localtest.Invocation(t, time.Minute), "another event")
		}, again},
		{"IdempotencyOutcomeUnknown", idempotency.ErrOutcomeUnknown, func(t *testing.T, _ fixture, pay payer) {
			t.Helper()
			_, _ = pay(localtest.Invocation(t, time.Minute), func(context.Context) (string, error) {
				return "", idempotency.Unknown(errors.New("no answer"))
			})
		}, again},
		{"IdempotencyUnavailable", idempotency.ErrUnavailable, always("PutItem", localtest.AccessDenied), again},
		{"IdempotencyUnavailable", idempotency.ErrUnavailable, always("", localtest.RequestLost), again},
		{"IdempotencyNotRecorded", idempotency.ErrNotRecorded, always("UpdateItem", localtest.RequestLost), again},
		{"IdempotencyNotRecorded", idempotency.ErrNotRecorded, always("UpdateItem", localtest.AccessDenied), func(t *testing.T, pay payer) error {
			t.Helper()
			// The error of an operation inside, which is told too, is not what this is about.
			_, err := pay(localtest.Invocation(t, time.Minute), func(context.Context) (string, error) {
				return "", idempotency.Terminal(fmt.Errorf("inside: %w", idempotency.ErrInProgress))
			})
			return err
		}},
		{"IdempotencyNoTime", idempotency.ErrNoTime, nil, func(t *testing.T, pay payer) error {
			t.Helper()
			_, err := pay(localtest.Invocation(t, 10*time.Millisecond), nil)
			return err
		}},
		{"IdempotencyNoBody", idempotency.ErrNoBody, func(t *testing.T, _ fixture, pay payer) {
			t.Helper()
			_, _ = pay(localtest.Invocation(t, time.Minute), func(context.Context) (string, error) {
				return strings.Repeat("x", 8<<20), nil
			})
		}, again},
		{"IdempotencyBadRecord", idempotency.ErrBadRecord, func(t *testing.T, f fixture, pay payer) {
			t.Helper()
			_ = again(t, pay)
			f.ofNewerSchema(t)
		}, again},
		{"IdempotencyInvalid", nil, nil, func(t *testing.T, pay payer) error {
			t.Helper()
			_, err := pay(context.WithValue(localtest.Invocation(t, time.Minute), noKey{}, true), nil)
			return err
		}},
	} {
		t.Run(tt.errorType, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				pay := newPayer(f)
				if tt.before != nil {
					tt.before(t, f, pay)
				}
				err := tt.invoke(t, pay)
				same := func(context.Context, order) (string, error) { return "", err }
				document := invoke(t, same, `{}`)
				if got := errorType(t, document); got != tt.errorType {
					t.Errorf("errorType %q of %v, want %q", got, err, tt.errorType)
				}
				if tt.sentinel == nil {
					if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
						t.Errorf("err = %v, want a FieldError in it", err)
					}
					return
				}
				if !errors.Is(err, tt.sentinel) {
					t.Errorf("err = %v, want %v in it", err, tt.sentinel)
				}
				if !strings.Contains(document.document, tt.sentinel.Error()) {
					t.Errorf("the document says %s, want %q in it", document.document, tt.sentinel)
				}
			})
		})
	}
}

// payer is a wrapped handler that runs what the test wants run; nil: a payment.
type payer func(context.Context, func(context.Context) (string, error)) (string, error)

type (
	noKey struct{}
	body  struct{}
)

func newPayer(f fixture) payer {
	h := lambda.Wrap(f.Runner, func(ctx context.Context, _ order) (idempotency.Request, error) {
		req, err := fixed(ctx, order{})
		if ctx.Value(noKey{}) != nil {
			req.Key = ""
		}
		return req, err
	}, func(ctx context.Context, _ order) (string, error) {
		if run, ok := ctx.Value(body{}).(func(context.Context) (string, error)); ok && run != nil {
			return run(ctx)
		}
		return "paid", nil
	})
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		return h(context.WithValue(ctx, body{}, run), order{})
	}
}

// again delivers the event once more.
func again(t *testing.T, pay payer) error {
	t.Helper()
	_, err := pay(localtest.Invocation(t, time.Minute), nil)
	return err
}

// ofNewerSchema makes the table's one record that of a later release.
func (f fixture) ofNewerSchema(t *testing.T) {
	t.Helper()
	ctx := localtest.Invocation(t, time.Minute)
	out, err := f.db.Client().Scan(ctx, &dynamodb.ScanInput{TableName: &f.table})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("scan: %d items, %v", len(out.Items), err)
	}
	out.Items[0]["schema"] = &types.AttributeValueMemberN{Value: "99"}
	if _, err := f.db.Client().PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(f.table), Item: out.Items[0]}); err != nil {
		t.Fatal(err)
	}
}

// An attempt that lost its lease to one that has recorded an outcome answers with that outcome (I4). Without one
// it says so.
func TestWrap_LeaseLost(t *testing.T) {
	t.Parallel()
	done := func(context.Context) (string, error) { return "second", nil }
	declined := func(context.Context) (string, error) { return "", idempotency.Terminal(&declinedError{"second"}) }
	released := func(context.Context) (string, error) { return "", errors.New("second") }
	for _, tt := range []struct {
		name          string
		first, second func(context.Context) (string, error)
		rebuild       bool
		want          string
		wantDocument  string // its beginning
	}{
		{"to a result", nil, done, false, "second", ""},
		{"to a failure", nil, declined, false, "", `{"errorMessage":"card declined: second","errorType":"declinedError"}`},
		{"to a failure that is rebuilt", nil, declined, true, "", `{"errorMessage":"card declined: rebuilt","errorType":"declinedError"}`},
		{"a failure to a result", declined, done, false, "second", ""},
		{"an error to a result", released, done, false, "second", ""},
		{"a failure to a failure", func(context.Context) (string, error) { return "", idempotency.Terminal(soldOutError("first")) }, declined, false, "", `{"errorMessage":"card declined: second","errorType":"declinedError"}`},
		{"to no outcome", nil, released, false, "", `{"errorMessage":"idempotency: lease lost`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := idempotency.Config{OnUnknown: idempotency.Rerun}
				if tt.rebuild {
					cfg.Failure = func(*idempotency.Failure) error { return &declinedError{"rebuilt"} }
				}
				pay := newPayer(newFixture(t, cfg))
				got, err := pay(localtest.Invocation(t, 3*time.Second), func(ctx context.Context) (string, error) {
					// A handler that does not look at its context.
					<-time.After(time.Minute)
					_, _ = pay(localtest.Invocation(t, 3*time.Second), tt.second)
					if tt.first != nil {
						return tt.first(ctx)
					}
					return "first", nil
				})
				same := func(context.Context, order) (string, error) { return got, err }
				document := invoke(t, same, `{}`).document
				if got != tt.want || !strings.HasPrefix(document, tt.wantDocument) || (document == "") != (tt.wantDocument == "") {
					t.Errorf("the late attempt's caller gets %q, %s\nwant %q, %s", got, document, tt.want, tt.wantDocument)
				}
				if tt.name == "to no outcome" && errorType(t, reply{document: document}) != "IdempotencyLeaseLost" {
					t.Errorf("errorType of %s, want IdempotencyLeaseLost", document)
				}
			})
		})
	}
}

// What an operation inside the handler was told is reported as if the handler had been told it, if the handler
// hands it on as it is.
func TestWrap_HandsOnTheStateOfAnOperationInside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		wrap func(error) error
		want string
	}{
		{"as it is", func(err error) error { return err }, "IdempotencyNotFound"},
		{"wrapped", func(err error) error { return fmt.Errorf("inside: %w", err) }, "wrapError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			h := lambda.Wrap(f.Runner, fixed, func(ctx context.Context, _ order) (string, error) {
				res, err := idempotency.Lookup[string](ctx, f.Runner, idempotency.Request{Operation: "inside", Scope: "s", Key: "k"})
				return res.Value, tt.wrap(err)
			})
			if got := errorType(t, invoke(t, h, `{}`)); got != tt.want {
				t.Errorf("errorType %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWrap_PanicsDocumentIsTheHandlers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.Wrap(f.Runner, fixed, func(context.Context, order) (string, error) { panic(&declinedError{"51"}) })
	got := invoke(t, h, `{}`)
	if !strings.HasPrefix(got.document, `{"errorMessage":"card declined: 51","errorType":"declinedError","stackTrace":[`) ||
		!strings.Contains(got.document, `PanicsDocumentIsTheHandlers`) {
		t.Errorf("document = %s, want the handler's value and a stack that shows the handler", got.document)
	}
}

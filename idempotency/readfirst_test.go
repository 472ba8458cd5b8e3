package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// readingFirst is the request, looked up before anything is written.
func readingFirst(req idempotency.Request) idempotency.Request {
	req.ReadFirst = true
	return req
}

// eventual is a client that answers eventually consistent reads with a copy of its own: what was there a moment ago.
type eventual struct {
	idempotency.Client
	copied item // nil: nothing was there
	reads  int
}

func (e *eventual) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if aws.ToBool(in.ConsistentRead) {
		return e.Client.GetItem(ctx, in, o...)
	}
	e.reads++
	return &dynamodb.GetItemOutput{Item: e.copied}, nil
}

// states are what a request can find: the founds, and what is bound to another request, over, or no record at all.
var states = append([]found{
	{"none", "", func(*testing.T, *fixture, idempotency.Request) {}},
	{"another's, completed", "COMPLETED", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.make(t, "completed", other(req))
	}},
	{"another's, in progress", "INPROGRESS", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.make(t, "in progress", other(req))
	}},
	{"over, completed", "COMPLETED", over("completed")},
	{"over, failed", "FAILED", over("failed")},
	{"over, unknown", "UNKNOWN", over("unknown")},
	{"bad", "COMPLETED", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.make(t, "completed", req)
		f.edit(t, req, item{"schema": number(99)})
	}},
}, founds...)

// over makes one of the founds in a window that has ended.
func over(name string) func(*testing.T, *fixture, idempotency.Request) {
	return func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.make(t, name, req)
		f.edit(t, req, item{"expiration": number(time.Now().Add(-time.Minute).Unix())})
	}
}

// told is all that a request's caller and its key are left with.
type told struct {
	value    string
	replayed bool
	class    idempotency.Class
	err      string
	runs     int32
	status   string
}

// tell runs the request on a state, through a client that client has changed.
func tell(t *testing.T, state found, req idempotency.Request, client func(*fixture, *worker)) told {
	t.Helper()
	f := newFixture(t)
	state.make(t, f, idempotency.Request{Operation: req.Operation, Scope: req.Scope, Key: req.Key, Input: req.Input})
	f.quiet()
	w := f.worker(t, withoutRetries)
	client(f, w)
	res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("second"))
	got := told{res.Value, res.Replayed, res.Class, "", f.runs.Load(), f.record(t, req).text("status")}
	if err != nil {
		got.err = err.Error()
		for _, sentinel := range []error{
			idempotency.ErrInProgress, idempotency.ErrMismatch, idempotency.ErrOutcomeUnknown, idempotency.ErrBadRecord,
			idempotency.ErrNoTime, idempotency.ErrUnavailable, idempotency.ErrNotRecorded,
		} {
			if errors.Is(err, sentinel) {
				got.err = sentinel.Error() // without its times
			}
		}
	}
	return got
}

func asItIs(*fixture, *worker) {}

// C24, H19, rule 24: whatever the read says of a key, or does not, the answer is that of the conditional write. The one thing
// that it decides is a replay: what is left out here is a copy of an outcome that is the request's own and inside its window.
func TestReadFirst_DecidesNothingElse(t *testing.T) {
	t.Parallel()
	copies := map[string]bool{
		"none": true, "in progress": true, "crashed": true, "unknown": true, "released": true, "bad": true,
		"another's, completed": true, "another's, in progress": true, "over, completed": true, "over, failed": true, "over, unknown": true,
	}
	for _, mode := range []idempotency.TxMode{0, idempotency.SingleShot} {
		for _, state := range states {
			t.Run(fmt.Sprintf("%s/mode %d", state.name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					req := request("k")
					req.Tx = mode
					want := tell(t, state, req, asItIs)
					for _, stale := range states {
						if !copies[stale.name] {
							continue
						}
						before := newFixture(t)
						stale.make(t, before, request("k"))
						e := &eventual{copied: before.record(t, req)}
						got := tell(t, state, readingFirst(req), func(_ *fixture, w *worker) {
							e.Client, w.Client = w.Client, e
						})
						if got != want || e.reads != 1 {
							t.Errorf("a stale copy %q: %+v after %d reads, want %+v", stale.name, got, e.reads, want)
						}
					}
					for _, kind := range append([]localtest.FaultKind{localtest.AccessDenied, localtest.Unavailable}, faultKinds...) {
						got := tell(t, state, readingFirst(req), func(f *fixture, _ *worker) { f.inject("GetItem", kind, 1) })
						if got != want {
							t.Errorf("a read that ends in %s: %+v, want %+v", kind, got, want)
						}
					}
				})
			})
		}
	}
}

// The same with a copy that is as it should be: no state has another answer, but that an outcome which is there is handed
// out without a run.
func TestReadFirst_SameAnswer(t *testing.T) {
	t.Parallel()
	for _, mode := range []idempotency.TxMode{0, idempotency.Claimed, idempotency.SingleShot} {
		for _, state := range states {
			t.Run(fmt.Sprintf("%s/mode %d", state.name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					req := request("k")
					req.Tx = mode
					want := tell(t, state, req, asItIs)
					if state.name == "completed" || state.name == "failed" {
						want.runs = 0 // in SingleShot, too
					}
					if got := tell(t, state, readingFirst(req), asItIs); got != want {
						t.Errorf("%+v, want %+v", got, want)
					}
				})
			})
		}
	}
}

// C53: a replay costs one eventually consistent read, also while the table takes no writes, and tells so. A recorded failure
// and an outcome without a body are replayed like a result.
func TestReadFirst_ReplayCostsHalfARead(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	for _, mode := range []idempotency.TxMode{0, idempotency.SingleShot} {
		for name, tt := range map[string]struct {
			first  handler
			change item
			units  float64
			value  string
			err    string
			class  idempotency.Class
		}{
			"short":   {returns("first"), nil, 0.5, "first", "", 0},
			"5 KB":    {returns(noise(5 << 10)), nil, 1, noise(5 << 10), "", 0},
			"failure": {fails(idempotency.Terminal(errPlain)), nil, 0.5, "", errPlain.Error(), idempotency.Recorded},
			"no body": {returns(""), item{"encoding": text("none"), "data": nil}, 0.5, "", idempotency.ErrNoBody.Error(), 0},
		} {
			t.Run(fmt.Sprintf("%s/mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					_, _ = f.worker(t, func(s *settings) { s.Inline = 10 << 10 }).do(localtest.Invocation(t, time.Second), req, tt.first)
					if tt.change != nil {
						f.edit(t, req, tt.change)
					}
					before := f.record(t, req)
					f.quiet()
					f.inject("PutItem", localtest.Throttled, forever)
					f.inject("TransactWriteItems", localtest.Throttled, forever)

					w := f.worker(t)
					w.sent = func(in any) {
						if get, ok := in.(*dynamodb.GetItemInput); !ok || aws.ToBool(get.ConsistentRead) {
							t.Errorf("sent %T, want an eventually consistent read", in)
						}
					}
					req.Tx = mode
					res, err := w.do(localtest.Invocation(t, time.Second), readingFirst(req), returns("second"))
					if said := fmt.Sprint(err); res.Value != tt.value || !res.Replayed || res.Class != tt.class || (err == nil) != (tt.err == "") || !strings.Contains(said, tt.err) {
						t.Errorf("got %+v, %v", res, err)
					}
					if res.CompletedAt.UnixMilli() != before.number("completed") {
						t.Errorf("completed at %v", res.CompletedAt)
					}
					f.wantRuns(t, 0)
					if calls := f.db.Calls(""); len(calls) != 1 || calls[0].ReadUnits != tt.units || calls[0].WriteUnits != 0 {
						t.Errorf("calls %+v, want one read of %v units", calls, tt.units)
					}
					f.wantUntouched(t, req, before)
					f.wantKinds(t, idempotency.KindReplayed)
					if e := f.seen()[0]; e.ReadUnits != tt.units || e.WriteUnits != 0 || e.Operation != "charge" {
						t.Errorf("event %+v, want %v read units", e, tt.units)
					}
				})
			})
		}
	}
}

// A first run has its read on top, which its first event tells.
func TestReadFirst_FirstRun(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		res, err := f.worker(t).do(localtest.Invocation(t, time.Second), readingFirst(request("k")), returns("ok"))
		wantAnswer(t, res, err, "ok", false)
		f.wantCalls(t, "GetItem", "PutItem", "UpdateItem")
		f.wantKinds(t, idempotency.KindAcquired, idempotency.KindCompleted)
		if e := f.seen()[0]; e.ReadUnits != 0.5 || e.WriteUnits != 1 {
			t.Errorf("event %+v, want half a read unit and one write unit", e)
		}
	})
}

// Rules 11, 24: the window's end counts by the read as by the write, to the second.
func TestReadFirst_WindowOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), readingFirst(request("k"))
		req.Retention = time.Hour
		w := f.worker(t)
		w.must(localtest.Invocation(t, time.Second), t, req, returns("first"))
		ends := time.Unix(f.record(t, req).number("expiration"), 0).Add(2 * time.Second) // with the clocks' margin
		pass(time.Until(ends))
		f.quiet()
		res, err := w.do(localtest.Invocation(t, time.Second), req, returns("too early"))
		wantAnswer(t, res, err, "first", true)
		f.wantCalls(t, "GetItem")
		pass(time.Second)
		res, err = w.do(localtest.Invocation(t, time.Second), req, returns("second"))
		wantAnswer(t, res, err, "second", false)
	})
}

// Rule 27: while secrets rotate every request reads all records of its key anyway, strongly consistent. There is no read more.
func TestReadFirst_SecretsInRotation(t *testing.T) {
	t.Parallel()
	for name, deployment := range deployments {
		for _, state := range []string{"completed", "released", "unknown", "in progress"} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ask := func(req idempotency.Request) (calls []string, answer string) {
						f := newFixture(t)
						before := f.worker(t, secrets(oldSecret))
						switch state {
						case "completed":
							before.must(localtest.Invocation(t, time.Second), t, req, returns("first"))
						case "in progress":
							before.hold(localtest.Invocation(t, time.Hour), t, req)
						case "unknown":
							_, _ = before.do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
						default:
							_, _ = before.do(localtest.Invocation(t, time.Second), req, fails(errPlain))
						}
						w := f.worker(t, deployment)
						w.sent = func(in any) {
							if get, ok := in.(*dynamodb.GetItemInput); ok && !aws.ToBool(get.ConsistentRead) {
								t.Error("an eventually consistent read")
							}
						}
						f.quiet()
						res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("second"))
						for _, c := range f.db.Calls("") {
							calls = append(calls, c.Operation)
						}
						if st, ok := errors.AsType[*idempotency.StateError](err); ok {
							return calls, fmt.Sprint(res.Value, st.ID, st.Attempt, errors.Is(err, idempotency.ErrInProgress))
						}
						return calls, fmt.Sprint(res.Value, res.Replayed, err)
					}
					calls, answer := ask(request("k"))
					again, same := ask(readingFirst(request("k")))
					if fmt.Sprint(again) != fmt.Sprint(calls) || same != answer {
						t.Errorf("calls %v, answer %s; want %v, %s as without ReadFirst", again, same, calls, answer)
					}
				})
			})
		}
	}
}

// A twin in progress is waited for as it is without the read, and its outcome handed out.
func TestReadFirst_WaitsForATwin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		end := f.worker(t).hold(localtest.Invocation(t, time.Hour), t, req)
		req.Wait = time.Minute
		answers := make(chan idempotency.Result[string])
		go func() {
			res, _ := f.worker(t).do(localtest.Invocation(t, time.Minute), readingFirst(req), returns("second"))
			answers <- res
		}()
		pass(5 * time.Second)
		if _, err := end(returns("first")); err != nil {
			t.Fatal(err)
		}
		wantAnswer(t, <-answers, nil, "first", true)
		f.wantRuns(t, 1)
	})
}

// C06: with no time for the request there is none for its read.
func TestReadFirst_NoTime(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"none": 0, "less than the reserve": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.make(t, "completed", request("k"))
				f.quiet()
				w := f.worker(t)
				w.sent = func(in any) { t.Errorf("sent %T", in) }
				_, err := w.do(localtest.Invocation(t, left), readingFirst(request("k")), returns("second"))
				wantErr(t, err, idempotency.ErrNoTime)
			})
		})
	}
}

// A read that hangs leaves time for the write, and for a run.
func TestReadFirst_HangLeavesTime(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{time.Second, 3 * time.Second, 15 * time.Minute} {
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.inject("GetItem", localtest.Hang, 1)
				start := time.Now()
				res, err := f.worker(t).do(localtest.Invocation(t, left), readingFirst(request("k")), func(context.Context) (string, error) {
					if took := time.Since(start); took > min(left/2, 10*time.Second) {
						t.Errorf("the handler started after %s of %s", took, left)
					}
					return "ok", nil
				})
				wantAnswer(t, res, err, "ok", false)
			})
		})
	}
}

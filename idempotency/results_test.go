package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// receipt is a result with something of everything in it.
type receipt struct {
	ID    string            `json:"id"`
	Total int64             `json:"total,omitempty"`
	Lines []string          `json:"lines"`
	Tags  map[string]string `json:"tags"`
	Next  *receipt          `json:"next,omitempty"`
	When  time.Time         `json:"when"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
}

// same asks for a value twice and says whether the replay equals the first answer.
func same[T any](value T) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		w := f.worker(t)
		ask := func() idempotency.Result[T] {
			res, err := idempotency.Do(localtest.Invocation(t, 3*time.Second), w.runner, request("k"), func(context.Context) (T, error) {
				w.runs.Add(1)
				return value, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		first, again := ask(), ask()
		if first.Replayed || !again.Replayed {
			t.Errorf("replayed %t, then %t", first.Replayed, again.Replayed)
		}
		if !reflect.DeepEqual(first.Value, again.Value) {
			t.Errorf("first %#v, replayed %#v", first.Value, again.Value)
		}
		if !first.CompletedAt.Equal(again.CompletedAt) || first.CompletedAt.IsZero() {
			t.Errorf("completed at %v, replayed %v", first.CompletedAt, again.CompletedAt)
		}
		found, err := idempotency.Lookup[T](localtest.Invocation(t, time.Second), w.runner, request("k"))
		if err != nil || !reflect.DeepEqual(found, again) {
			t.Errorf("looked up %#v, %v; replayed %#v", found, err, again)
		}
		f.wantRuns(t, 1)
		firstJSON, _ := json.Marshal(first.Value)
		againJSON, _ := json.Marshal(again.Value)
		if string(firstJSON) != string(againJSON) {
			t.Errorf("first answers %s, the replay %s", firstJSON, againJSON)
		}
	}
}

// C31: a replay equals the first answer, empty ones above all.
func TestResults_Replay(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, 2, 28, 23, 59, 59, 123456789, time.UTC)
	for name, check := range map[string]func(*testing.T, *fixture){
		"zero":             same(0),
		"empty string":     same(""),
		"false":            same(false),
		"nil pointer":      same[*receipt](nil),
		"nil slice":        same[[]string](nil),
		"empty slice":      same([]string{}),
		"nil map":          same[map[string]int](nil),
		"empty map":        same(map[string]int{}),
		"empty struct":     same(struct{}{}),
		"nil any":          same[any](nil),
		"pointer to zero":  same(new(int)),
		"no raw message":   same[json.RawMessage](json.RawMessage("null")),
		"struct":           same(receipt{ID: "r", Lines: []string{}, When: when, Raw: json.RawMessage(`{"a":[1,2]}`), Next: &receipt{ID: "n", Tags: map[string]string{"k": "v"}}}),
		"big integer":      same[int64](1<<62 + 1),
		"float":            same(0.1 + 0.2),
		"number in an any": same[any](json.Number("12345678901234567890.000000001")),
		"int in an any":    same[any](1<<53 + 1),
		"struct in an any": same[any](receipt{ID: "r", Total: 7}),
		"any in a map":     same(map[string]any{"n": 1, "s": "x", "l": []int{1}}),
		"HTML":             same("<a href='x'>&amp;</a>\u2028"),
		"not UTF-8":        same([]byte{0xff, 0xfe, 0}),
		"not UTF-8, raw":   same(json.RawMessage("\"\xff\"")),
		"NUL":              same("a\x00b"),
		"text marshaler":   same(when),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { check(t, newFixture(t)) })
		})
	}
}

// C31: the replay has the very bytes that Lambda's runtime would have sent the first time.
func TestResults_StoredAsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.worker(t).must(localtest.Invocation(t, time.Second), t, request("k"), returns("<&>"))
		it := f.record(t, request("k"))
		if got := it.text("data"); got != `"<&>"` {
			t.Errorf("stored %s", got)
		}
	})
	t.Run("bytes where it is none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			same(json.RawMessage("\"\xff\""))(t, f)
			if _, ok := f.record(t, request("k"))["data"].(*types.AttributeValueMemberB); !ok {
				t.Errorf("stored %v", f.record(t, request("k"))["data"])
			}
		})
	})
}

// Numbers in an any keep all their digits, for the first caller too.
func TestResults_ExactNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t).worker(t)
		for range 2 {
			res, err := idempotency.Do(localtest.Invocation(t, time.Second), w.runner, request("k"), func(context.Context) (any, error) { return 1<<53 + 1, nil })
			if got := fmt.Sprint(res.Value); err != nil || got != "9007199254740993" {
				t.Errorf("got %s, %v", got, err)
			}
		}
	})
}

// C33: what fits is recorded and replayed, in the record or beside it; beyond, it is recorded as done without a body, the
// replay says so, and nothing runs again.
func TestResults_Size(t *testing.T) {
	t.Parallel()
	const most = 20 * 384 << 10 // bytes of an outcome
	inRecord := []string{"PutItem", "UpdateItem", "UpdateItem"}
	one := []string{"PutItem", "UpdateItem", "PutItem", "UpdateItem"}
	several := []string{"PutItem", "UpdateItem", "BatchWriteItem", "UpdateItem"}
	for _, tt := range []struct {
		bytes  int
		inline int
		calls  []string
		kept   bool
	}{
		{200, 0, inRecord, true},
		{1500, 0, inRecord, true},
		{3 << 10, 0, one, true},
		{4 << 10, 4 << 10, inRecord, true},
		{399 << 10, 0, one, true},
		{399 << 10, 392 << 10, inRecord, true},
		{401 << 10, 0, one, true},
		{500 << 10, 392 << 10, several, true},
		{1 << 20, 0, several, true},
		{6 << 20, 0, several, true},
		{most, 0, several, true},
		{most + 1, 0, inRecord, false},
	} {
		t.Run(fmt.Sprint(tt.bytes, " of ", tt.inline), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				// Everything else in the record is as long as it may be.
				req := request("k")
				req.Operation, req.Ref = strings.Repeat("ö", 127), strings.Repeat("r", 255)
				value := noise(tt.bytes - 2)
				w := f.worker(t, rerun, func(s *settings) { s.Inline = tt.inline })
				w.crash(localtest.Invocation(t, time.Second), req)
				pass(4 * time.Second)
				w = f.worker(t, rerun, func(s *settings) { s.Inline = tt.inline })
				f.quiet()
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns(value))
				wantAnswer(t, res, err, value, false)
				f.wantCalls(t, tt.calls...)
				it := f.wantStatus(t, req, "COMPLETED")
				if it.has("data") != (tt.kept && len(tt.calls) == 3) || it.has("body") != (len(tt.calls) == 4) || (it.text("encoding") == "none") == tt.kept {
					t.Errorf("data %t, body %t; encoding %q", it.has("data"), it.has("body"), it.text("encoding"))
				}
				last := f.seen()[len(f.seen())-1]
				if last.Kind != idempotency.KindCompleted || (last.Err == nil) != tt.kept {
					t.Errorf("event %v, %v", last.Kind, last.Err)
				}
				for range 2 {
					res, err = w.do(localtest.Invocation(t, 3*time.Second), req, returns("again"))
					if tt.kept {
						wantAnswer(t, res, err, value, true)
						continue
					}
					wantErr(t, err, idempotency.ErrNoBody)
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 2 || st.Ref == "" || !res.Replayed || res.CompletedAt.IsZero() {
						t.Errorf("got %+v, state %+v", res, st)
					}
				}
				f.wantRuns(t, 1)
			})
		})
	}
}

// noise is text of so many bytes of which compression saves a sixth.
func noise(n int) string {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	for i := range b {
		for b[i] < ' ' || b[i] > '~' || b[i] == '"' || b[i] == '\\' {
			b[i] = byte(random.Uint64() >> 57)
		}
	}
	return string(b)
}

// C17, C33: the table refuses the outcome for the record's size, which something else has grown. That the work is done
// is recorded all the same.
func TestResults_RefusedForItsSize(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]handler{
		"result":  returns(noise(200 << 10)),
		"failure": fails(idempotency.Terminal(longError{noise(200 << 10)})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				end := f.worker(t, func(s *settings) { s.Inline = 392 << 10 }).hold(localtest.Invocation(t, 15*time.Second), t, req)
				f.edit(t, req, item{"grown": text(strings.Repeat("x", 399<<10))})
				f.quiet()
				start := time.Now()
				res, err := end(h)
				if name == "result" && (err != nil || len(res.Value) != 200<<10) {
					t.Errorf("got %d bytes, %v", len(res.Value), err)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("it took %s to find out", took)
				}
				last := f.seen()[len(f.seen())-1]
				if last.Err == nil {
					t.Errorf("event %s does not say why there is no body", last.Kind)
				}
				f.wantCalls(t, "UpdateItem", "UpdateItem")
				for range 2 {
					_, err = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, returns("twice"))
					wantErr(t, err, idempotency.ErrNoBody)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// No permission to record is no question of size: the caller is told.
func TestResults_RefusedToRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.inject("UpdateItem", localtest.AccessDenied, forever)
		_, err := f.worker(t).do(localtest.Invocation(t, 15*time.Second), request("k"), returns("ok"))
		wantErr(t, err, idempotency.ErrNotRecorded)
		if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "AccessDeniedException" {
			t.Errorf("the cause is not reachable in %v", err)
		}
		f.db.ClearFaults()
		f.wantStatus(t, request("k"), "INPROGRESS")
	})
}

// C33: a failure is cut so that it always fits.
func TestResults_LongFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		long := longError{strings.Repeat("ü\x00", 1<<20)}
		w := f.worker(t)
		_, err := w.do(localtest.Invocation(t, time.Second), request("k"), fails(idempotency.Terminal(long)))
		if err != long { //nolint:errorlint // untouched
			t.Error("the first caller did not get the whole error")
		}
		f.wantStatus(t, request("k"), "FAILED")
		_, err = w.do(localtest.Invocation(t, time.Second), request("k"), returns("again"))
		failure, ok := errors.AsType[*idempotency.Failure](err)
		if !ok || failure.Type != "longError" || len(failure.Message) > 32<<10 || !strings.HasPrefix(long.Text, failure.Message) || len(failure.Message) < 31<<10 {
			t.Errorf("the failure was not replayed, cut: %T of %d bytes", err, len(err.Error()))
		}
		f.wantRuns(t, 1)
	})
}

type longError struct{ Text string }

func (e longError) Error() string { return e.Text }

// declined is a user's own error.
type declined struct {
	Code   string `json:"code"`
	Amount int    `json:"amount"`
}

func (d *declined) Error() string { return "declined: " + d.Code }

// A replayed failure keeps its type's name, its text and its data, and can become the user's own error again.
func TestResults_FailureReplay(t *testing.T) {
	t.Parallel()
	rebuild := func(s *settings) {
		s.Failure = func(f *idempotency.Failure) error {
			d := &declined{}
			if f.Type == "declined" && json.Unmarshal(f.Data, d) == nil {
				return d
			}
			return nil
		}
	}
	for name, tt := range map[string]struct {
		options []option
		err     error
		rebuilt bool
	}{
		"as it is":    {nil, &declined{"insufficient", 5}, false},
		"rebuilt":     {[]option{rebuild}, &declined{"insufficient", 5}, true},
		"unknown one": {[]option{rebuild}, errPlain, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, tt.options...)
				_, err := w.do(localtest.Invocation(t, time.Second), request("k"), fails(idempotency.Terminal(tt.err)))
				if err != tt.err { //nolint:errorlint // untouched
					t.Errorf("the first caller got %#v", err)
				}
				res, err := w.do(localtest.Invocation(t, time.Second), request("k"), returns("again"))
				if d, ok := err.(*declined); ok != tt.rebuilt || ok && *d != (declined{"insufficient", 5}) { //nolint:errorlint // unwrapped: its type's name goes to Lambda
					t.Errorf("the replay is %#v", err)
				}
				if err == nil || err.Error() != tt.err.Error() || !res.Replayed {
					t.Errorf("replayed %+v, %v", res, err)
				}
				f.wantRuns(t, 1)
			})
		})
	}
}

// C34: what a caller does with a returned value never shows in a later replay.
func TestResults_MutatedValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		mine := &receipt{ID: "r", Lines: []string{"a", "b"}, Tags: map[string]string{"k": "v"}, Raw: json.RawMessage(`{"a":1}`)}
		for range 4 {
			res, err := idempotency.Do(localtest.Invocation(t, time.Second), w.runner, request("k"), func(context.Context) (*receipt, error) { return mine, nil })
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(res.Value)
			if want := `{"id":"r","lines":["a","b"],"tags":{"k":"v"},"when":"0001-01-01T00:00:00Z","raw":{"a":1}}`; string(got) != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			res.Value.ID, res.Value.Lines[0], res.Value.Tags["k"], res.Value.Raw[1] = "x", "x", "x", 'x'
		}
	})
}

// C34: nor does what the caller does with the request while the handler runs; C29: nor the handler itself.
func TestResults_MutatedInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w, req := f.worker(t), request("k")
		input := map[string][]int{"amounts": {1, 2}}
		req.Input = input
		w.must(localtest.Invocation(t, time.Second), t, req, func(context.Context) (string, error) {
			input["amounts"][0] = 99
			delete(input, "amounts")
			return "ok", nil
		})
		req.Input = map[string][]int{"amounts": {1, 2}}
		res, err := w.do(localtest.Invocation(t, time.Second), req, returns("again"))
		wantAnswer(t, res, err, "ok", true)
	})
}

// C35: a deploy has changed the type of the result. The replay is a typed error, and the record stays.
func TestResults_ChangedType(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*worker, context.Context, idempotency.Request) error{
		"a number":        result(0),
		"a struct":        result(struct{ A int }{}),
		"list":            result([]string{}),
		"failed to parse": result(time.Time{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				w := f.worker(t)
				w.must(localtest.Invocation(t, time.Second), t, req, returns("text"))
				before := f.record(t, req)
				err := run(w, localtest.Invocation(t, time.Second), req)
				wantErr(t, err, idempotency.ErrBadRecord)
				f.wantRuns(t, 1)
				f.wantUntouched(t, req, before)
				res, err := w.do(localtest.Invocation(t, time.Second), req, returns("again"))
				wantAnswer(t, res, err, "text", true)
			})
		})
	}
	t.Run("a member more", func(t *testing.T) { // and compatible changes are none
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			type old struct{ A int }
			type grown struct{ A, B int }
			w := f.worker(t)
			if err := result(old{1})(w, localtest.Invocation(t, time.Second), request("k")); err != nil {
				t.Fatal(err)
			}
			res, err := idempotency.Do(localtest.Invocation(t, time.Second), w.runner, request("k"), func(context.Context) (grown, error) { return grown{}, nil })
			if err != nil || res.Value != (grown{A: 1}) {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	})
}

// C36: a recorded outcome that is no JSON, or more than one value, is a typed error; nothing runs.
func TestResults_MalformedData(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"COMPLETED", "FAILED"} {
		for name, data := range map[string]string{"cut": `{"id":`, "empty": "", "two": `"a" "b"`, "no JSON": "paid", "NUL": "\x00"} {
			t.Run(status+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					w := f.worker(t)
					w.must(localtest.Invocation(t, time.Second), t, request("k"), returns("first"))
					f.edit(t, request("k"), item{"status": text(status), "data": text(data)})
					before := f.record(t, request("k"))
					_, err := w.do(localtest.Invocation(t, time.Second), request("k"), returns("again"))
					wantErr(t, err, idempotency.ErrBadRecord)
					f.wantRuns(t, 1)
					f.wantUntouched(t, request("k"), before)
				})
			})
		}
	}
}

// A result that encodes and cannot be decoded is handed to the first caller as the handler returned it.
func TestResults_UndecodableInAnAny(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		type open struct {
			Any any
			Odd oneWay
		}
		value := open{Any: "x", Odd: oneWay{7}}
		res, err := idempotency.Do(localtest.Invocation(t, time.Second), f.worker(t).runner, request("k"), func(context.Context) (open, error) { return value, nil })
		if err != nil || res.Value != value {
			t.Errorf("the first caller got %+v, %v; want the handler's own %+v", res.Value, err, value)
		}
		f.wantStatus(t, request("k"), "COMPLETED")
	})
}

// oneWay encodes into what it does not read.
type oneWay struct{ N int }

func (o oneWay) MarshalJSON() ([]byte, error) { return json.Marshal(o.N) }

func (o *oneWay) UnmarshalJSON([]byte) error { return errors.New("cannot be read back") }

// C48, C49: a deploy adds a field to the input, and a rollback takes it away again; a retry replays all along.
func TestResults_InputGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		type before struct{ Amount int }
		type after struct {
			Amount   int
			Currency string
			Options  *struct{ Fast bool }
		}
		w := f.worker(t)
		for i, input := range []any{before{5}, after{Amount: 5}, before{5}} {
			req := request("k")
			req.Input = input
			res, err := w.do(localtest.Invocation(t, time.Second), req, returns("first"))
			wantAnswer(t, res, err, "first", i > 0)
		}
		req := request("k")
		req.Input = after{Amount: 5, Currency: "EUR"}
		_, err := w.do(localtest.Invocation(t, time.Second), req, returns("first"))
		wantErr(t, err, idempotency.ErrMismatch)
		f.wantRuns(t, 1)
	})
}

// C52: the same payload under two keys runs twice; the same key in two operations, and in two scopes, too.
func TestResults_WhatMeets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t)
		a := request("k")
		keyed, operation, scope := a, a, a
		keyed.Key, operation.Operation, scope.Scope = "l", "refund", "tenant-2"
		for i, req := range []idempotency.Request{a, keyed, operation, scope} {
			res, err := w.do(localtest.Invocation(t, time.Second), req, returns(fmt.Sprint(i)))
			wantAnswer(t, res, err, fmt.Sprint(i), false)
		}
		f.wantRuns(t, 4)
	})
}

package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// The memory holds so many outcomes and no more: the one that was asked for least lately goes.
func TestCache_Count(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, caching(2, 0))
		for _, k := range []string{"a", "b"} {
			w.must(localtest.Invocation(t, time.Second), t, request(k), returns(k))
		}
		w.wantCached(t, request("a"), "a")
		w.must(localtest.Invocation(t, time.Second), t, request("c"), returns("c"))
		w.wantCached(t, request("a"), "a")
		w.wantCached(t, request("c"), "c")
		w.wantAsked(t, request("b"), "b")
		w.wantCached(t, request("b"), "b")
		w.wantAsked(t, request("a"), "a")
	})
}

// An answer of 64 KB is remembered, one byte more is not, however short it is when it is stored.
func TestCache_Length(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			f, req := newFixture(t), request("k")
			value := string(bytes.Repeat([]byte("x"), 64<<10-2+more)) // in quotation marks
			for name, w := range map[string]*worker{"recorded": f.worker(t, caching(10, 0)), "replayed": f.worker(t, caching(10, 0))} {
				if _, err := w.do(localtest.Invocation(t, time.Second), req, returns(value)); err != nil {
					t.Fatal(err)
				}
				if calls, res, err := w.asks(t, req); (calls > 0) != (more > 0) || res.Value != value || err != nil {
					t.Errorf("%s, %d bytes more: %d calls, %v", name, more, calls, err)
				}
			}
		})
	}
}

// CacheMaxAge counts from when the outcome was recorded or read, by the Runner's clock, and what is read again after it
// counts anew.
func TestCache_MaxAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, caching(10, time.Hour))
		w.must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
		for range 2 {
			w.skew.Add(int64(time.Hour - time.Millisecond))
			w.wantCached(t, req, "paid") // which does not make it younger
			w.skew.Add(int64(time.Millisecond))
			w.wantAsked(t, req, "paid")
		}
		w.skew.Add(-int64(time.Millisecond))
		w.wantAsked(t, req, "paid") // the clock was put back: nothing is known of its age
		w.wantCached(t, req, "paid")
	})
}

// Rules 11, 24: the memory replays to the very second to which the table does, and not a second longer.
func TestCache_WindowOver(t *testing.T) {
	t.Parallel()
	for _, primed := range []string{"by the run", "by a replay"} {
		t.Run(primed, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				req.Retention = time.Hour
				w, plain := f.worker(t, caching(10, 0)), f.worker(t)
				w.must(localtest.Invocation(t, time.Second), t, req, returns("first"))
				if primed == "by a replay" {
					pass(10 * time.Minute)
					w = f.worker(t, caching(10, 0))
					w.wantAsked(t, req, "first")
				}
				ends := time.Unix(f.record(t, req).number("expiration"), 0).Add(3*time.Second - time.Millisecond) // with the clocks' margin, and the second
				pass(time.Until(ends))
				w.wantCached(t, req, "first")
				plain.wantAsked(t, req, "first")
				pass(time.Millisecond)
				res, err := w.do(localtest.Invocation(t, time.Second), req, returns("second"))
				wantAnswer(t, res, err, "second", false)
				w.wantCached(t, req, "second")
			})
		})
	}
}

// Nothing that identifies a key may differ: two operations, scopes or keys never meet, nor do two Runners.
func TestCache_WhatMeets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, caching(10, 0))
		a := request("k")
		operation, scope, keyed := a, a, a
		operation.Operation, scope.Scope, keyed.Key = "refund", "tenant-2", "l"
		all := []idempotency.Request{a, operation, scope, keyed}
		for i, req := range all {
			res, err := w.do(localtest.Invocation(t, time.Second), req, returns(fmt.Sprint(i)))
			wantAnswer(t, res, err, fmt.Sprint(i), false)
		}
		for i, req := range all {
			w.wantCached(t, req, fmt.Sprint(i))
		}
		f.worker(t, caching(10, 0)).wantAsked(t, a, "0")
		f.worker(t).wantAsked(t, a, "0")
		elsewhere := newFixture(t).worker(t, caching(10, 0))
		res, err := elsewhere.do(localtest.Invocation(t, time.Second), a, returns("elsewhere"))
		wantAnswer(t, res, err, "elsewhere", false)
	})
}

// As Config.Cache says: a record that somebody deletes, or changes by hand, is replayed by those who have it in their memory,
// until it is too old or its window is over. Those who have not, run.
func TestCache_Deleted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		maxAge, until time.Duration
	}{"to its age": {time.Minute, time.Minute}, "to its window's end": {0, 24*time.Hour + 3*time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				warm := f.worker(t, caching(10, tt.maxAge))
				warm.must(localtest.Invocation(t, time.Second), t, req, returns("first"))
				f.remove(t, req)
				pass(tt.until - time.Millisecond)
				warm.wantCached(t, req, "first")
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("second"))
				wantAnswer(t, res, err, "second", false)
				warm.wantCached(t, req, "first")
				pass(time.Millisecond)
				warm.wantAsked(t, req, "second")
				warm.wantCached(t, req, "second")
			})
		})
	}
}

// greedy keeps the bytes that it is given, which encoding/json forbids, and writes over them.
type greedy struct{ kept []byte }

func (g greedy) MarshalJSON() ([]byte, error) { return bytes.Clone(g.kept), nil }

func (g *greedy) UnmarshalJSON(data []byte) error {
	g.kept = data
	return nil
}

// mutable has something of everything that a caller can write to.
type mutable struct {
	Map  map[string][]int
	List []*receipt
	Raw  json.RawMessage
	Any  any
	Data []byte
	Own  greedy
}

func (m *mutable) spoil() {
	m.Map["a"][0], m.List[0].ID, m.List[0].Lines[0] = 99, "spoilt", "spoilt"
	m.Any.(map[string]any)["n"] = "spoilt"
	m.Any.(map[string]any)["l"].([]any)[0] = "spoilt"
	for _, b := range [][]byte{m.Raw, m.Data, m.Own.kept} {
		for i := range b {
			b[i] = '#'
		}
	}
}

// C34: what a caller does to an answer shows in no later one: not in the handler's own value, a replay, or a lookup.
func TestCache_MutatedValues(t *testing.T) {
	t.Parallel()
	const want = `{"Map":{"a":[1]},"List":[{"id":"r","lines":["x"],"tags":null,"when":"0001-01-01T00:00:00Z"}],"Raw":{"a":1},"Any":{"l":[1],"n":1},"Data":"AQI=","Own":"own"}`
	for name, options := range map[string][]option{"": nil, "sealed": {codec(newSealer(t, "k"))}, "sealed by itself": {codec(asItWas{})}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, append(options, caching(10, 0))...)
				mine := &mutable{
					Map: map[string][]int{"a": {1}}, List: []*receipt{{ID: "r", Lines: []string{"x"}}}, Raw: json.RawMessage(`{"a":1}`),
					Any: map[string]any{"n": 1, "l": []any{1}}, Data: []byte{1, 2}, Own: greedy{[]byte(`"own"`)},
				}
				for n := range 6 {
					if n == 3 { // the same, when the table has primed it
						w = f.worker(t, append(options, caching(10, 0))...)
					}
					res, err := idempotency.Do(localtest.Invocation(t, time.Second), w.runner, req, func(context.Context) (*mutable, error) { return mine, nil })
					if err != nil {
						t.Fatal(err)
					}
					if got, err := json.Marshal(res.Value); string(got) != want || err != nil {
						t.Fatalf("answer %d is %s, %v; want %s", n, got, err, want)
					}
					res.Value.spoil()
				}
			})
		})
	}
}

// asItWas is a Codec that seals nothing: what it returns is what it was given.
type asItWas struct{}

func (asItWas) Seal(_ context.Context, _ string, data []byte) ([]byte, error)   { return data, nil }
func (asItWas) Open(_ context.Context, _ string, sealed []byte) ([]byte, error) { return sealed, nil }

// C34: nor what Config.Failure does to a failure.
func TestCache_MutatedFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, caching(10, 0), func(s *settings) {
			s.Failure = func(f *idempotency.Failure) error {
				said := fmt.Sprintf("%s %s %s", f.Type, f.Message, f.Data)
				clear(f.Data)
				f.Type, f.Message = "spoilt", "spoilt"
				return errors.New(said)
			}
		})
		_, err := w.do(localtest.Invocation(t, time.Second), req, fails(idempotency.Terminal(&declined{"funds", 5})))
		wantErr(t, err)
		for range 3 {
			calls, _, err := w.asks(t, req)
			if calls != 0 || fmt.Sprint(err) != `declined declined: funds {"code":"funds","amount":5}` {
				t.Errorf("%d calls, %v", calls, err)
			}
		}
	})
}

// C20: many goroutines on a memory that is too small for their keys: each gets its own key's answer.
func TestCache_Concurrent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.worker(t, caching(3, 0), codec(newSealer(t, "k")))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 25 {
				k := fmt.Sprint((g + n) % 5)
				req := request(k)
				req.Wait = time.Minute
				res, err := w.do(localtest.Invocation(t, time.Minute), req, returns("answer to "+k))
				if err != nil || res.Value != "answer to "+k {
					t.Errorf("key %s got %q, %v", k, res.Value, err)
				}
			}
		})
	}
	wg.Wait()
	f.wantRuns(t, 5)
}

// A setting that cannot be meant is refused.
func TestCache_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for field, cfg := range map[string]idempotency.Config{
		"Config.Cache": {Cache: -1}, "Config.CacheMaxAge": {CacheMaxAge: time.Hour},
	} {
		cfg.Table = f.table
		_, err := idempotency.New(f.plain, cfg)
		if wrong, ok := errors.AsType[*idempotency.FieldError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

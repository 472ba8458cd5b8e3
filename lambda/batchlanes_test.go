package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// gauge counts what is in work, by name, and keeps the most that ever was at once.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
}

// enter counts one in, and returns what counts it out.
func (g *gauge) enter(names ...string) (leave func()) {
	add := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.now == nil {
			g.now, g.most = map[string]int{}, map[string]int{}
		}
		for _, name := range names {
			g.now[name] += n
			g.most[name] = max(g.most[name], g.now[name])
		}
	}
	add(1)
	return func() { add(-1) }
}

// C44: a group's messages run in order up to the first that fails; the rest of it comes again, in order; other groups go on.
// It is the ARN that says whether there is an order: a standard queue's groups have none.
func TestBatch_Order(t *testing.T) {
	t.Parallel()
	standard := func(group, id, body string) events.SQSMessage {
		m := fifoMessage(group, id, body)
		m.EventSourceARN = queueARN
		return m
	}
	ungrouped := func(_, id, body string) events.SQSMessage {
		m := fifoMessage("", id, body)
		delete(m.Attributes, "MessageGroupId")
		return m
	}
	fifo := fifoMessage
	for name, c := range map[string]struct {
		kind        func(group, id, body string) events.SQSMessage
		batch       string // group, id and "!" for one that fails, or "{" for one that cannot be read
		ran, failed string
	}{
		"one group":                  {fifo, "a1 a2! a3 a4", "1 2", "2 3 4"},
		"two groups":                 {fifo, "a1 b2 a3! b4 a5 b6", "1 3 2 4 6", "3 5"},
		"both fail":                  {fifo, "a1! b2 b3! a4 b5", "1 2 3", "1 3 4 5"},
		"the first fails":            {fifo, "a1! a2 a3", "1", "1 2 3"},
		"the last fails":             {fifo, "a1 a2 a3!", "1 2 3", "3"},
		"none fails":                 {fifo, "a1 b2 a3", "1 3 2", ""},
		"unreadable":                 {fifo, "a1 a2{ a3 b4", "1 4", "2 3"},
		"without a group":            {ungrouped, "a1 b2! c3", "1 2", "2 3"},
		"groups of a standard queue": {standard, "a1 a2! a3 b4! b5", "1 2 3 4 5", "2 4"},
	} {
		for _, concurrency := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s, %d", name, concurrency), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, idempotency.Config{})
				var mu sync.Mutex
				ran := map[string][]string{}
				var order []string
				h := lambda.SQSBody(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: concurrency}), nil, func(_ context.Context, body string) error {
					mu.Lock()
					defer mu.Unlock()
					group, id := body[:1], strings.Trim(body[1:], "!")
					order = append(order, id)
					ran[group] = append(ran[group], id)
					if strings.HasSuffix(body, "!") {
						return errors.New("fails")
					}
					return nil
				})
				var messages []events.SQSMessage
				for word := range strings.FieldsSeq(c.batch) {
					id, body := word[1:2], fmt.Sprintf("%q", word)
					if strings.HasSuffix(word, "{") {
						body = "{"
					}
					messages = append(messages, c.kind(word[:1], id, body))
				}
				if failed := handsOver(t, h, messages...); failed != c.failed {
					t.Errorf("failed %q, want %q", failed, c.failed)
				}
				if concurrency < 2 && strings.Join(order, " ") != c.ran {
					t.Errorf("ran %q, want %q", order, c.ran)
				}
				slices.Sort(order)
				want := strings.Fields(c.ran)
				slices.Sort(want)
				if !slices.Equal(order, want) {
					t.Errorf("ran %q in any order, want %q", order, want)
				}
				for group, ids := range ran {
					if !slices.IsSorted(ids) && name != "groups of a standard queue" {
						t.Errorf("group %s ran in the order %q", group, ids)
					}
				}
			})
		}
	}
}

// C44: after a failure the group goes on where it stopped, in order, when it comes again.
func TestBatch_OrderOverDeliveries(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var runs []string
	broken := true
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(_ context.Context, m events.SQSMessage) error {
		runs = append(runs, m.MessageId)
		if broken && m.MessageId == "2" {
			return errors.New("fails")
		}
		return nil
	})
	a := []events.SQSMessage{fifoMessage("a", "1", ""), fifoMessage("a", "2", ""), fifoMessage("a", "3", "")}
	if got := handsOver(t, h, a...); got != "2 3" {
		t.Errorf("failed %q", got)
	}
	broken = false
	if got := handsOver(t, h, redelivered(a[1:]...)...); got != "" {
		t.Errorf("failed %q", got)
	}
	if got := strings.Join(runs, " "); got != "1 2 2 3" {
		t.Errorf("ran %q", got)
	}
}

// Never more than Concurrency at once, and as many as that; neither a group nor a key twice.
func TestBatch_Concurrency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ concurrency, groups, most int }{{0, 20, 1}, {1, 20, 1}, {4, 20, 4}, {10_000, 20, 20}, {4, 3, 3}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, idempotency.Config{})
			var g gauge
			h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: c.concurrency}), byBody, func(_ context.Context, m events.SQSMessage) error {
				defer g.enter("all", m.Attributes["MessageGroupId"], "key "+m.Body)()
				<-time.After(time.Millisecond * time.Duration(1+len(m.MessageId)))
				return nil
			})
			var messages []events.SQSMessage
			for i := range 60 {
				messages = append(messages, fifoMessage(fmt.Sprint("g", i%c.groups), fmt.Sprint(i), fmt.Sprint(i)))
			}
			if got := handsOver(t, h, messages...); got != "" {
				t.Errorf("failed %q", got)
			}
			for name, most := range g.most {
				if want := map[string]int{"all": c.most}[name]; most != max(want, 1) {
					t.Errorf("%+v: %d of %s at once", c, most, name)
				}
			}
		})
	}
}

// Two messages of one key: the second waits for the first and is a replay; it does not run, nor meet its lease.
func TestBatch_DuplicatesInABatch(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, idempotency.Config{})
			var g gauge
			runs := map[string]int{}
			var mu sync.Mutex
			var why []error
			b := lambda.Batch{Operation: "ship", Concurrency: concurrency, Failed: func(_ context.Context, _ string, err error) {
				mu.Lock()
				defer mu.Unlock()
				why = append(why, err)
			}}
			errOwn := errors.New("own")
			h := lambda.SQS(f.Runner, b, byBody, func(_ context.Context, m events.SQSMessage) error {
				defer g.enter(m.Body)()
				<-time.After(time.Second)
				mu.Lock()
				defer mu.Unlock()
				runs[m.Body]++
				if m.Body == "bad" {
					return errOwn
				}
				return nil
			})
			var messages []events.SQSMessage
			for i := range 4 {
				messages = append(messages, sqsMessage(fmt.Sprint("g", i), "good"), sqsMessage(fmt.Sprint("b", i), "bad"))
			}
			if got := handsOver(t, h, messages...); got != "b0 b1 b2 b3" || runs["good"] != 1 || runs["bad"] != 4 {
				t.Errorf("failed %q, ran %v", got, runs)
			}
			for _, err := range why {
				if err != errOwn { //nolint:errorlint // as it is
					t.Errorf("told of %v, want each one's own error", err)
				}
			}
			if g.most["good"] != 1 || g.most["bad"] != 1 {
				t.Errorf("at once: %v", g.most)
			}
		})
	}
}

// Two groups have each other's keys, in the opposite order: nobody waits for one that has not begun.
func TestBatch_CrossedDuplicatesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{})
		runs := 0
		var mu sync.Mutex
		h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: 2}), byBody, func(context.Context, events.SQSMessage) error {
			mu.Lock()
			runs++
			mu.Unlock()
			<-time.After(time.Second)
			return nil
		})
		began := time.Now()
		got := handsOver(
			t, h, fifoMessage("a", "1", "x"), fifoMessage("a", "2", "y"), fifoMessage("a", "3", "x"),
			fifoMessage("b", "4", "y"), fifoMessage("b", "5", "x"), fifoMessage("b", "6", "y"),
		)
		if took := time.Since(began); got != "" || runs != 2 || took > 2*time.Second {
			t.Errorf("failed %q, %d runs, %s", got, runs, took)
		}
	})
}

// What a message of the property does. Two messages of one key do the same, so that the order of lanes does not matter.
const (
	doesSucceed = iota
	doesFail    // in the first delivery
	doesFailForGood
	doesNotKnow
	isUnreadable
	behaviours
)

type lot struct{ lane, key, does int }

// sequential is the model: what comes again of a delivery, and how often each key has had its effect.
type sequential struct {
	fifo, keep, healed bool
	effect             map[int]int // by key
	unknown            map[int]bool
}

func (s *sequential) fails(l lot) bool {
	switch {
	case l.does == isUnreadable:
		return true
	case l.does == doesFail && !s.healed, s.unknown[l.key]:
		return true
	}
	s.effect[l.key] = 1
	s.unknown[l.key] = l.does == doesNotKnow
	return l.does == doesNotKnow || l.does == doesFailForGood && s.keep
}

func (s *sequential) deliver(batch []lot) (again []lot, indexes []int) {
	stopped := map[int]bool{}
	for i, l := range batch {
		if stopped[l.lane] || s.fails(l) {
			stopped[l.lane] = s.fifo
			again, indexes = append(again, l), append(indexes, i)
		}
	}
	return again, indexes
}

// C43, C44, C45: any lanes, duplicates, failures and concurrency: exactly the messages come again that a loop without
// concurrency would report, no key has its effect twice, nothing waits for ever, and no group or key is at work twice.
func TestBatch_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		p := deliveries{
			fifo: rapid.Bool().Draw(r, "fifo"), keep: rapid.Bool().Draw(r, "keep"), seed: rapid.Uint64().Draw(r, "seed"),
			concurrency: rapid.IntRange(0, 6).Draw(r, "concurrency"),
			whole:       rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(r, "whole batches come again"),
		}
		keys := rapid.SliceOfN(rapid.IntRange(0, behaviours-1), 1, 8).Draw(r, "what keys do")
		for range rapid.IntRange(0, 24).Draw(r, "messages") {
			key := rapid.IntRange(0, len(keys)-1).Draw(r, "key")
			p.batch = append(p.batch, lot{rapid.IntRange(0, 4).Draw(r, "lane"), key, keys[key]})
		}
		var fault string
		synctest.Test(t, func(t *testing.T) { fault = p.check(t) }) // which knows nothing of rapid
		if fault != "" {
			r.Fatal(fault)
		}
	})
}

// deliveries is what the property is asked about.
type deliveries struct {
	batch       []lot
	fifo, keep  bool
	concurrency int
	whole       []bool // after each delivery: the whole batch comes again, not only what was reported
	seed        uint64
}

// check delivers the batch, and returns what was not as in the model.
func (p deliveries) check(t *testing.T) (fault string) {
	f := newFixture(t, idempotency.Config{})
	model := sequential{fifo: p.fifo, keep: p.keep, effect: map[int]int{}, unknown: map[int]bool{}}
	var mu sync.Mutex
	var g gauge
	random := rand.New(rand.NewPCG(p.seed, 0))
	effect := map[int]int{}
	b := quiet(lambda.Batch{Operation: "ship", Concurrency: p.concurrency})
	b.Terminal = func(context.Context, string, error) bool { return !p.keep }
	h := lambda.SQSBody(f.Runner, b, func(_ context.Context, _ events.SQSMessage, l [3]int) (idempotency.Request, error) {
		return idempotency.Request{Key: fmt.Sprint(l[1]), Input: idempotency.AnyInput}, nil
	}, func(_ context.Context, l [3]int) error {
		names := []string{"all", fmt.Sprint("key ", l[1])}
		if p.fifo {
			names = append(names, fmt.Sprint("lane ", l[0]))
		}
		defer g.enter(names...)()
		mu.Lock()
		pause := time.Duration(random.IntN(3)) * time.Millisecond
		mu.Unlock()
		<-time.After(pause)
		if l[2] == doesFail && !model.healed {
			return errors.New("fails")
		}
		mu.Lock()
		defer mu.Unlock()
		effect[l[1]]++
		switch l[2] {
		case doesFailForGood:
			return idempotency.Terminal(errors.New("for good"))
		case doesNotKnow:
			return idempotency.Unknown(errors.New("not known"))
		}
		return nil
	})
	batch := p.batch
	for n, whole := range p.whole {
		out, err := h(localtest.Invocation(t, time.Hour), p.event(batch, n+1))
		if err != nil {
			return err.Error()
		}
		again, indexes := model.deliver(batch)
		var failed []string
		for _, item := range out.BatchItemFailures {
			failed = append(failed, item.ItemIdentifier)
		}
		if got, want := strings.Join(failed, " "), strings.Trim(fmt.Sprint(indexes), "[]"); got != want {
			return fmt.Sprintf("delivery %d of %v: failed %q, want %q", n+1, batch, got, want)
		}
		if fmt.Sprint(effect) != fmt.Sprint(model.effect) {
			return fmt.Sprintf("delivery %d of %v: effects %v, want %v", n+1, batch, effect, model.effect)
		}
		for name, most := range g.most {
			if limit := map[string]int{"all": p.concurrency}[name]; most > max(limit, 1) {
				return fmt.Sprintf("%d of %s at once", most, name)
			}
		}
		if !whole {
			batch = again
		}
		model.healed = true
	}
	return ""
}

// event is the batch in its nth delivery. The messages' ids are their indexes.
func (p deliveries) event(batch []lot, n int) events.SQSEvent {
	e := events.SQSEvent{Records: []events.SQSMessage{}} // one without Records is refused
	for i, l := range batch {
		m := fifoMessage(fmt.Sprint(l.lane), fmt.Sprint(i), fmt.Sprintf("[%d,%d,%d]", l.lane, l.key, l.does))
		if !p.fifo {
			m.EventSourceARN = queueARN
		}
		if l.does == isUnreadable {
			m.Body = "{"
		}
		m.Attributes["ApproximateReceiveCount"] = fmt.Sprint(n)
		e.Records = append(e.Records, m)
	}
	return e
}

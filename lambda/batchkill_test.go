package lambda_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// parcels is a batch. The first letter is the message's group; x2 is sent twice.
var parcels = []string{"x1", "y1", "x2", "y2", "x2", "y3"}

// The process of a worker is killed at every boundary of its messages, in turn, and the batch is delivered until the queue is
// empty: each key has had one effect, and the groups of a FIFO queue had theirs in order (C42, C43, C44, C45).
func TestSQS_KilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, queue string
		concurrency int
	}{
		{"standard, one at a time", "orders", 1},
		{"standard, three at once", "orders", 3},
		{"FIFO, both groups at once", "orders.fifo", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newDepot(t, "CONCURRENCY="+strconv.Itoa(tt.concurrency))
			for _, at := range boundaries() {
				s.run++ // orders of its own
				t.Run(at.String(), func(t *testing.T) { s.killedAndDeliveredAgain(t, tt.queue, tt.concurrency, at) })
			}
		})
	}
}

// boundary is where the process is killed: the nth time that an order comes there.
type boundary struct {
	where string
	order string
	nth   int
}

// The places of a message, in order. Nothing is written when it is named; its key is claimed when its handler has started.
const (
	named    = "named"
	started  = "started"
	shipped  = "shipped"
	recorded = "recorded"
)

func (b boundary) String() string { return fmt.Sprint(b.where, " ", b.order, " ", b.nth) }

// inProgress: the claim outlives the process.
func (b boundary) inProgress() bool { return b.where == started || b.where == shipped }

func boundaries() (all []boundary) {
	seen := map[string]int{}
	for _, order := range parcels {
		seen[order]++
		all = append(all, boundary{named, order, seen[order]})
		if seen[order] > 1 {
			continue // a replay
		}
		for _, where := range []string{started, shipped, recorded} {
			all = append(all, boundary{where, order, 1})
		}
	}
	return all
}

// killedAndDeliveredAgain kills the process once, during the first delivery. The second one comes before the leases have
// ended, the third one afterwards.
func (s *depot) killedAndDeliveredAgain(t *testing.T, queue string, concurrency int, at boundary) {
	q := s.send(queue)
	q.MaxReceives = 3
	s.killAt(at)
	s.wantKilled(t, q)

	d, err := q.Deliver(t.Context(), 10, s.fn.Consume)
	if err != nil {
		t.Fatal(err)
	}
	back := s.orders(d, d.Returned)
	if at.inProgress() && !slices.Contains(back, at.order) {
		t.Errorf("the second delivery has returned %q, want %s among them: its attempt is in progress", back, at.order)
	}
	if concurrency == 1 {
		var want []string
		if at.inProgress() {
			want = slices.DeleteFunc(slices.Clone(parcels), func(order string) bool { return order != at.order })
		}
		if !slices.Equal(back, want) {
			t.Errorf("the second delivery has returned %q, want %q", back, want)
		}
	}

	if _, err := q.Deliver(t.Context(), 10, s.late.Consume); err != nil {
		t.Fatal(err)
	}
	if q.Len() != 0 || len(q.Dead()) != 0 {
		t.Errorf("%d messages are left, dead are %+v", q.Len(), q.Dead())
	}
	s.wantOneEffectEach(t)
	s.wantCalls(t, at, concurrency)
	if strings.HasSuffix(queue, ".fifo") {
		s.wantInOrder(t)
	}
}

// Where nothing may run again, the one message whose handler was killed ends in the dead-letter queue, and stays refused when
// it is redriven: its key is in its body. All others are done.
func TestSQS_KilledWithRefuse(t *testing.T) {
	t.Parallel()
	s := newDepot(t, "CONCURRENCY=1", "REFUSE=yes")
	for _, tt := range []struct {
		where string
		calls int
	}{{started, 0}, {shipped, 1}} {
		s.run++
		t.Run(tt.where, func(t *testing.T) {
			q := s.send("orders")
			q.MaxReceives = 3
			s.killAt(boundary{tt.where, "y2", 1})
			s.wantKilled(t, q)
			for _, fn := range []*localtest.Function{s.fn, s.late} {
				d, err := q.Deliver(t.Context(), 10, fn.Consume)
				if back := s.orders(d, d.Returned); err != nil || !slices.Equal(back, []string{"y2"}) {
					t.Errorf("error %v, returned %q, want y2", err, back)
				}
			}
			dead := q.Dead()
			if q.Len() != 0 || len(dead) != 1 || dead[0].Body != s.body("y2") {
				t.Errorf("%d messages are left, dead are %+v, want y2", q.Len(), dead)
			}

			q.Redrive()
			d, err := q.Deliver(t.Context(), 10, s.late.Consume)
			if back := s.orders(d, d.Returned); err != nil || !slices.Equal(back, []string{"y2"}) {
				t.Errorf("error %v, returned after the redrive %q, want y2", err, back)
			}
			want := map[string]int{"x1": 1, "y1": 1, "x2": 1, "y2": tt.calls, "y3": 1}
			maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
			if got := s.calls(); !maps.Equal(got, want) {
				t.Errorf("calls %v, want %v", got, want)
			}
		})
	}
}

// depot is a worker in processes of its own, with its table and a carrier.
type depot struct {
	db       *localtest.DB
	fn, late *localtest.Function // late has a clock by which every lease has ended
	run      int

	mu      sync.Mutex
	shipped []shipment // in the order of their arrival
}

// shipment is a call to the carrier.
type shipment struct{ order, key, record string }

func newDepot(t *testing.T, env ...string) *depot {
	t.Helper()
	s := &depot{db: localtest.Start(t)}
	carrier := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shipped = append(s.shipped, shipment{v.Get("order"), v.Get("key"), v.Get("record")})
	}))
	t.Cleanup(carrier.Close)
	b := localtest.Bootstrap{Timeout: longEnough, Env: append(env,
		"CARRIER="+carrier.URL, "ENDPOINT="+s.db.Listen(t),
		"TABLE="+s.db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{})),
	)}
	s.fn = localtest.StartFunction(t, b)
	b.ClockOffset = time.Hour
	s.late = localtest.StartFunction(t, b)
	return s
}

// name is an order's in this run, and body that of its message.
func (s *depot) name(order string) string { return fmt.Sprint(s.run, "-", order) }
func (s *depot) body(order string) string { return fmt.Sprintf(`{"order":%q}`, s.name(order)) }

func (s *depot) send(queue string) *localtest.Queue {
	q := localtest.NewQueue(queue)
	for _, order := range parcels {
		q.Send(localtest.Message{Body: s.body(order), Group: order[:1]})
	}
	return q
}

// killAt arms the kill.
func (s *depot) killAt(at boundary) {
	if at.where != recorded {
		s.fn.KillAt(at.where+" "+s.name(at.order), at.nth)
		return
	}
	s.db.Inject(localtest.Fault{Operation: "UpdateItem", Match: func(c localtest.Call) bool {
		return slices.ContainsFunc(s.shipments(), func(p shipment) bool { return p.order == at.order && p.record == c.Key })
	}, After: s.fn.Kill})
}

// wantKilled delivers the batch to a process that is killed over it.
func (s *depot) wantKilled(t *testing.T, q *localtest.Queue) {
	t.Helper()
	d, err := q.Deliver(t.Context(), 10, s.fn.Consume)
	if failed, ok := errors.AsType[*localtest.FunctionError](err); !ok || failed.Type != "Runtime.ExitError" || len(d.Returned) != len(parcels) {
		t.Fatalf("error %v, %d returned, want the end of the process, and the whole batch back", err, len(d.Returned))
	}
}

// orders are those of a delivery's messages with these ids, in the order of the batch.
func (s *depot) orders(d localtest.Delivery, ids []string) (orders []string) {
	for _, m := range d.Event.Records {
		if slices.Contains(ids, m.MessageId) {
			i := slices.IndexFunc(parcels, func(order string) bool { return m.Body == s.body(order) })
			orders = append(orders, parcels[i])
		}
	}
	return orders
}

// shipments are the calls to the carrier in this run, by the names of parcels.
func (s *depot) shipments() (list []shipment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.shipped {
		if order, ok := strings.CutPrefix(p.order, s.name("")); ok {
			list = append(list, shipment{order, p.key, p.record})
		}
	}
	return list
}

// calls is how often the carrier was called for each order.
func (s *depot) calls() map[string]int {
	calls := map[string]int{}
	for _, p := range s.shipments() {
		calls[p.order]++
	}
	return calls
}

// wantOneEffectEach: the carrier has one downstream key for each order, and no other.
func (s *depot) wantOneEffectEach(t *testing.T) {
	t.Helper()
	effects := map[string]string{} // the order by the key
	for _, p := range s.shipments() {
		effects[p.key] = p.order
	}
	got := slices.Sorted(maps.Values(effects))
	if want := slices.Compact(slices.Sorted(slices.Values(parcels))); !slices.Equal(got, want) {
		t.Errorf("effects %q, want %q", got, want)
	}
}

// wantCalls: a handler ran again only where it was killed between its effect and its record.
func (s *depot) wantCalls(t *testing.T, at boundary, concurrency int) {
	t.Helper()
	for order, n := range s.calls() {
		least, most := 1, 1
		switch {
		case order == at.order && at.where == shipped:
			least, most = 2, 2
		case order == at.order && at.nth == 1: // as far as at says
		case concurrency > 1: // another one in work
			most = 2
		}
		if n < least || n > most {
			t.Errorf("%s: %d calls, want %d to %d", order, n, least, most)
		}
	}
}

// wantInOrder: no call for a message of a group came before one for a message in front of it was done with.
func (s *depot) wantInOrder(t *testing.T) {
	t.Helper()
	for group, want := range map[string][]string{"x": {"x1", "x2"}, "y": {"y1", "y2", "y3"}} {
		var got []string
		for _, p := range s.shipments() {
			if strings.HasPrefix(p.order, group) {
				got = append(got, p.order)
			}
		}
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("group %s: calls in the order %q, want %q", group, got, want)
		}
	}
}

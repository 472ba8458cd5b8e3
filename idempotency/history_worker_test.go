package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/oncekey/oncekey/idempotency"
)

const (
	historyRetention = 20 * time.Second // of answers, by a clock that leaps
	historyUnknown   = 24 * time.Hour
)

// historyWorker is a process, one request at a time, and what it notes.
type historyWorker struct {
	*worker
	h      *history
	number int
	rng    *rand.Rand
	doubts *doubting
}

// breaks makes a client that does not keep what DynamoDB promises.
type breaks func(idempotency.Client) idempotency.Client

func (h *history) newWorker(number int, seed uint64, breaks ...breaks) *historyWorker {
	w := h.worker(h.t, withoutRetries, func(s *settings) {
		s.Now, s.OnUnknown, s.Lease, s.Retention, s.UnknownRetention = h.clock.now, h.policy, historyLease, historyRetention, historyUnknown
		s.Observe = observeRequest
	})
	for _, b := range breaks {
		w.Client = b(w.Client)
	}
	doubts := &doubting{Client: w.Client, h: h, number: number}
	w.Client = doubts
	return &historyWorker{w, h, number, rand.New(rand.NewPCG(seed, uint64(number))), doubts}
}

// asked is one request, on its way.
type asked struct {
	in     input
	called int64  // real time
	token  string // of the run
	value  string // that its handler has returned
	leaves string // what that means for the record
	ended  int64  // when it did
	early  int64  // when it did, by the workers' clock
	kinds  []idempotency.Kind
}

type askedKey struct{}

// observeRequest notes what the request's run came to: an error of the handler is returned whatever became of its record.
func observeRequest(ctx context.Context, e idempotency.Event) {
	if a, ok := ctx.Value(askedKey{}).(*asked); ok {
		a.kinds = append(a.kinds, e.Kind)
	}
}

func (a *asked) last() idempotency.Kind {
	if len(a.kinds) == 0 {
		return ""
	}
	return a.kinds[len(a.kinds)-1]
}

// note adds an operation that has returned now; one in doubt, where writes come late, never does.
func (w *historyWorker) note(in input, called int64, out output) {
	returned := w.real()
	in.later = w.h.clock.now().UnixMilli() // conditions are made with the caller's time, however late they arrive
	if out.inDoubt() && w.h.late {
		returned = math.MaxInt64
	}
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.ops = append(w.h.ops, porcupine.Operation{ClientId: w.number, Input: in, Call: called, Output: out, Return: returned})
}

func (w *historyWorker) real() int64 { return int64(time.Since(w.h.clock.started)) }

func (w *historyWorker) work() {
	for n := range 6 {
		pass(time.Duration(w.rng.IntN(3000)) * time.Microsecond)
		switch w.rng.IntN(8) {
		case 0:
			w.h.clock.leap([]time.Duration{4 * time.Second, 30 * time.Second, 25 * time.Hour}[w.rng.IntN(3)])
			w.ask(n)
		case 1:
			w.lookup()
		case 2:
			w.resolve(n)
		default:
			w.ask(n)
		}
	}
}

func (w *historyWorker) request() (idempotency.Request, string) {
	req, name := request("k"), "first"
	if w.rng.IntN(8) == 0 {
		req, name = other(req), "second"
	}
	return req, name
}

func (w *historyWorker) begin(in input) *asked {
	in.early = w.h.clock.now().UnixMilli()
	return &asked{in: in, called: w.real()}
}

func (w *historyWorker) ask(n int) {
	req, name := w.request()
	if w.rng.IntN(3) == 0 {
		req.Wait = time.Duration(w.rng.IntN(20)) * time.Millisecond
	}
	req.Tx = []idempotency.TxMode{0, 0, idempotency.Claimed, idempotency.SingleShot}[w.rng.IntN(4)]
	a := w.begin(input{request: name, tx: req.Tx, begin: req.Tx != idempotency.SingleShot, shot: req.Tx == idempotency.SingleShot})
	ctx := context.WithValue(w.h.t.Context(), askedKey{}, a)
	w.cut.Store(false)
	w.doubts.since()
	done := make(chan struct{})
	go func() { // of its own: a process that dies takes it along
		defer close(done)
		res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (string, error) {
			return w.handle(ctx, a, fmt.Sprintf("%s %d.%d", name, w.number, n))
		})
		w.answered(a, res, err)
	}()
	<-done
}

func (w *historyWorker) handle(ctx context.Context, a *asked, value string) (string, error) {
	attempt := idempotency.AttemptFrom(ctx)
	if a.in.begin {
		a.token = attempt.Token
		w.ghosts(a)
		w.note(a.in, a.called, output{said: saidRun, token: attempt.Token, prior: attempt.Prior != nil})
	}
	if tx := idempotency.TxFrom(ctx); a.in.tx != 0 {
		tx.Put(w.h.effects, map[string]string{"id": value})
	}
	pass(time.Duration(w.rng.IntN(5000)) * time.Microsecond)
	a.value, a.ended, a.early, a.leaves = value, w.real(), w.h.clock.now().UnixMilli(), completed
	switch w.rng.IntN(12) {
	case 0:
		a.leaves = failed
		return "", idempotency.Terminal(errors.New(value))
	case 1:
		a.leaves = unknown
		return "", idempotency.Unknown(errPlain)
	case 2, 3, 4:
		a.leaves = released
		return "", errPlain
	case 5:
		w.cut.Store(true) // the process dies: this run has begun, and will never end
		runtime.Goexit()
	}
	return value, nil
}

func (w *historyWorker) lookup() {
	req, name := w.request()
	a := w.begin(input{request: name, lookup: true})
	w.cut.Store(false)
	res, err := idempotency.Lookup[string](w.h.t.Context(), w.runner, req)
	w.answered(a, res, err)
}

// resolve finds the record and settles it if it is an unknown.
func (w *historyWorker) resolve(n int) {
	w.cut.Store(false)
	ids, err := w.runner.RecordIDs(request("k"))
	if err != nil {
		w.h.t.Error(err)
		return
	}
	rec, err := w.runner.Record(w.h.t.Context(), ids[0])
	if err != nil || !rec.Unknown(w.h.clock.now()) {
		return
	}
	value := fmt.Sprintf("resolved %d.%d", w.number, n)
	as := []idempotency.Resolution{idempotency.Completed(value), idempotency.Failed(errors.New(value)), idempotency.NotDone()}
	which := w.rng.IntN(len(as))
	perhaps := []said{saidNotKnown, saidNotKnown, saidLeave}[which]
	if w.rng.IntN(2) == 0 {
		pass(time.Duration(w.rng.IntN(10)) * time.Millisecond) // it takes a person a while to find out
	}
	a := w.begin(input{resolves: true, token: rec.Token})
	w.doubts.since()
	switch err = w.runner.Resolve(w.h.t.Context(), rec, as[which]); {
	case err == nil:
		out := output{said: []said{saidCompleted, saidFailed, saidReleased}[which]}
		if out.said != saidReleased {
			out.value = value
		}
		w.note(a.in, a.called, out)
	case errors.Is(err, idempotency.ErrInProgress), errors.Is(err, idempotency.ErrLeaseLost), errors.Is(err, idempotency.ErrNotFound):
		if len(w.doubts.since()) > 0 {
			w.note(a.in, a.called, output{said: perhaps, value: value})
			return
		}
		w.note(a.in, a.called, output{said: saidTooLate})
	case errors.Is(err, idempotency.ErrNotRecorded):
		w.note(a.in, a.called, output{said: perhaps, value: value})
	case !errors.Is(err, idempotency.ErrUnavailable):
		w.h.odd(fmt.Errorf("Resolve: %w", err))
	}
}

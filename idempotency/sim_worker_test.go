package idempotency

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// simWorker is a process, and its Runner's client.
type simWorker struct {
	Client // nil: what the library does not call would panic
	*simulation
	simProcess
	outage time.Time   // until when the table cannot be reached
	asking *simRequest // whose calls are made
}

func (s *simulation) newWorker(number int, seed uint64) *simWorker {
	w := &simWorker{simulation: s, simProcess: newSimProcess(number, seed)}
	w.begin()
	return w
}

// begin makes the process anew: what it remembered is gone.
func (w *simWorker) begin() {
	cfg := Config{
		Table: w.table, Retention: simRetention, UnknownRetention: 20 * time.Second, Secrets: w.secrets,
		Now: w.clock, Observe: func(_ context.Context, e Event) { w.count(string(e.Kind)) },
	}
	if len(cfg.Secrets) == 2 && w.number%2 == 1 {
		cfg.Secrets = [][]byte{w.secrets[1], w.secrets[0]} // deployed already
	}
	w.dead, w.outage = false, time.Time{}
	w.r = w.runner(w.t, w, cfg, func() bool {
		fails := w.chance(5)
		if fails {
			w.count("not sealed")
		}
		return fails
	})
	w.r.table.jitter = w.upTo
}

// work sends a few requests, most of them the same for each key; after a crash the next one meets a new process.
func (w *simWorker) work() {
	for n := range 1 + w.rng.IntN(5) {
		w.idle()
		if w.dead || w.chance(3) {
			w.begin()
			w.count("another process")
		}
		k := w.keys[w.rng.IntN(len(w.keys))]
		q := &simRequest{key: k, worker: w, name: fmt.Sprintf("%s|%d.%d", k.name, w.number, n), input: "A", lookup: w.chance(10)}
		if len(k.records) == 1 && w.chance(15) {
			q.input = "B"
		}
		if w.chance(3) {
			w.outage = time.Now().Add(w.upTo(20 * time.Second))
			w.count("outage")
		}
		w.asking = q
		w.serves(&w.background, func() { w.request(q) })
	}
}

func (w *simWorker) request(q *simRequest) {
	k := q.key
	req := Request{Operation: k.operation, Scope: k.scope, Key: k.key, Input: q.input, ReadFirst: k.looked && w.chance(80)}
	if w.chance(40) {
		req.Wait = w.upTo(20 * time.Second)
	}
	ctx, cancel := w.invocation()
	defer cancel()
	if q.lookup {
		w.comes(q, "looks up")
		res, err := Lookup[string](ctx, w.r, req)
		w.answered(q, res, err)
		return
	}
	w.comes(q, "asks")
	res, err := Do(ctx, w.r, req, func(ctx context.Context) (string, error) { return w.handle(ctx, q) })
	w.answered(q, res, err)
}

// simError is a handler's error, and what it means.
type simError struct {
	text  string
	class Class
}

func (e *simError) Error() string { return e.text }

func (w *simWorker) handle(ctx context.Context, q *simRequest) (string, error) {
	w.started(q, AttemptFrom(ctx))
	text := fmt.Sprintf("%s|%s.%d|", q.input, q.name, q.runs)
	if q.key.steps {
		if err := w.charge(ctx, q, text); err != nil {
			return "", err
		}
	}
	if w.chance(10) {
		w.count("handler overruns")
		pause(w.upTo(80 * time.Second)) // frozen, or it does not look at its context
	} else {
		sleep(ctx, w.upTo(8*time.Second))
	}
	switch w.rng.IntN(10) {
	case 0:
		w.returns(q, text)
		return "", Terminal(&simError{text, Recorded})
	case 1:
		return "", Unknown(&simError{text, Ambiguous})
	case 2, 3, 4:
		return "", &simError{text, Released}
	case 5:
		panic("handler")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	text += w.padding(q.key.size)
	w.returns(q, text)
	return text, nil
}

// padding is text of that size, of which compression leaves three quarters.
func (w *simWorker) padding(size int) string {
	random := make([]byte, size*3/4)
	for i := range random {
		random[i] = byte(w.rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(random)
}

func (w *simWorker) charge(ctx context.Context, q *simRequest, text string) error {
	ran := false
	value, err := Step(ctx, "charge", func(ctx context.Context) (string, error) {
		ran = true
		w.charges(q, AttemptFrom(ctx))
		sleep(ctx, w.upTo(time.Second))
		if w.chance(10) {
			return "", &simError{text, Released}
		}
		return text, nil
	})
	if err == nil {
		w.charged(q, value, !ran)
	}
	return err
}

// resolve settles one unknown, as whatever the person believes.
func (w *simWorker) resolve(found Record, n int) {
	w.mu.Lock()
	rec := w.records[found.ID]
	q := &simRequest{key: rec.key, worker: w, name: fmt.Sprintf("%s|resolution %d", rec.key.name, n), found: found.Token}
	text := fmt.Sprintf("%s|%s|%d", rec.windows[len(rec.windows)-1].input, q.name, len(w.log))
	rec.key.done = append(rec.key.done, text)
	w.asking = q
	w.mu.Unlock()
	as := []Resolution{Completed(text), Failed(errors.New(text)), NotDone()}[w.rng.IntN(3)]
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := w.r.Resolve(ctx, found, as)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(q, "resolve as %s: %v", as.status, short(err))
	words, wrong := resolved(as, err)
	w.counts[words]++
	if wrong != nil {
		w.fail("Resolve: %v", wrong)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
)

// deed is what a button does: it returns what the client got.
type deed struct {
	what string
	do   func(*console, context.Context) ([]got, error)
}

var deeds = map[string]deed{
	"pay":          {"Pay", (*console).payFirst},
	"again":        {"Pay again", (*console).payAgain},
	"amount":       {"Other amount", (*console).payOther},
	"flood":        {"50 at once", (*console).flood},
	"lose-acquire": {"Lose the acquire's reply", in("PutItem")},
	"lose-commit":  {"Lose the commit's reply", in("TransactWriteItems")},
	"kill":         {"Kill mid-charge", in(deathAtCharge)},
	"reconcile":    {"Reconcile", (*console).reconcile},
	"key":          {"New key", (*console).newKey},
}

// exchange is a deed, and what came of it.
type exchange struct {
	Number int     `json:"number"`
	What   string  `json:"what"`
	Key    string  `json:"key"`
	Got    []got   `json:"got"`
	Error  string  `json:"error,omitempty"`
	Took   float64 `json:"took"` // seconds
}

// got are equal answers.
type got struct {
	Times    int    `json:"times"`
	Status   int    `json:"status"` // 0: no answer over HTTP
	Says     string `json:"says"`
	Replayed bool   `json:"replayed"`
	Body     string `json:"body"` // of the first of them, cut if it is long
}

const (
	actLimit   = 40 * time.Second // one deed
	keptDeeds  = 12
	keptBody   = 2000
	floodSize  = 50
	floodPause = 5 * time.Second // for which the charge waits for the other clients, at most
)

func (c *console) act(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("action")
	d, ok := deeds[name]
	if !ok {
		reply(w, http.StatusNotFound, problem{fmt.Sprintf("there is no action %.40q", name)})
		return
	}
	if !c.acting.TryLock() {
		reply(w, http.StatusConflict, problem{"another action is still running"})
		return
	}
	defer c.acting.Unlock()
	ctx, done := context.WithTimeout(r.Context(), actLimit)
	defer done()
	began := time.Now()
	answers, err := d.do(c, ctx)
	e := exchange{What: d.what, Got: answers, Took: time.Since(began).Seconds()}
	status := http.StatusOK
	if err != nil {
		e.Error, status = err.Error(), http.StatusConflict
	}
	reply(w, status, c.note(e))
}

func (c *console) note(e exchange) exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Number, e.Key = 1, c.key()
	if n := len(c.exchanges); n > 0 {
		e.Number = c.exchanges[n-1].Number + 1
	}
	c.exchanges = last(append(c.exchanges, e), keptDeeds)
	return e
}

// key is for holders of mu.
func (c *console) key() string { return fmt.Sprint("console-", c.keys) }

// freshKey is one that was never sent: each deed that begins a payment has its own.
func (c *console) freshKey() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used {
		c.keys++
	}
	c.used = true
	return c.key()
}

func (c *console) usedKey() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used {
		return "", fmt.Errorf("nothing was paid with the key %s yet: Pay comes first", c.key())
	}
	return c.key(), nil
}

func (c *console) newKey(context.Context) ([]got, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys++
	c.used = false
	return []got{{Times: 1, Says: "the client's next payment has the key " + c.key()}}, nil
}

func (c *console) payFirst(ctx context.Context) ([]got, error) {
	return grouped(c.w.pay(ctx, c.freshKey(), order)), nil
}

func (c *console) payAgain(ctx context.Context) ([]got, error) { return c.repeat(ctx, order) }
func (c *console) payOther(ctx context.Context) ([]got, error) { return c.repeat(ctx, otherAmount) }

func (c *console) repeat(ctx context.Context, body string) ([]got, error) {
	key, err := c.usedKey()
	if err != nil {
		return nil, err
	}
	return grouped(c.w.pay(ctx, key, body)), nil
}

// flood is one payment by many at once; the charge takes until the others have their answers.
func (c *console) flood(ctx context.Context) ([]got, error) {
	key := c.freshKey()
	others := make(chan struct{})
	c.w.whenCharged(func() {
		pause := time.NewTimer(floodPause)
		defer pause.Stop()
		select {
		case <-others:
		case <-pause.C:
		}
	})
	defer c.w.whenCharged(nil)
	answers := make(chan answer, floodSize)
	for range floodSize {
		go func() { answers <- c.w.pay(ctx, key, order) }()
	}
	var all []answer
	for n := range floodSize {
		all = append(all, <-answers)
		if n == floodSize-2 {
			close(others)
		}
	}
	return grouped(all...), nil
}

// deathAtCharge is the trouble in which the function's processes end when the card is charged and they do not know it yet. Any
// other is an operation, whose next reply gets lost.
const deathAtCharge = "death"

// in is a payment while the trouble is near.
func in(trouble string) func(*console, context.Context) ([]got, error) {
	return func(c *console, ctx context.Context) ([]got, error) {
		c.next(trouble)
		answers, err := c.payFirst(ctx)
		if c.next("") != "" {
			err = errors.New("nothing went wrong: the payment did not come that far")
		}
		return answers, err
	}
}

// next sets the trouble that strikes next, once, and returns the one that has not struck.
func (c *console) next(trouble string) (pending string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending, c.trouble = c.trouble, trouble
	return pending
}

// strikes is for holders of mu.
func (c *console) strikes(trouble string) bool {
	if c.trouble != trouble {
		return false
	}
	c.trouble = ""
	return true
}

func (c *console) reconcile(ctx context.Context) ([]got, error) {
	says := c.w.tick(ctx)
	did, ok := strings.CutPrefix(strings.TrimSuffix(says, ")"), "(")
	switch {
	case !ok:
		return nil, errors.New("the reconciler: " + says)
	case did == "":
		did = "nothing to settle: no lease has ended without an outcome"
	}
	return []got{{Times: 1, Says: did}}, nil
}

// grouped puts equal answers together, the rarest first.
func grouped(answers ...answer) []got {
	var all []got
	for _, a := range answers {
		i := slices.IndexFunc(all, func(g got) bool { return g.Says == a.String() })
		if i < 0 {
			i = len(all)
			all = append(all, got{Status: a.status, Says: a.String(), Replayed: a.replayed(), Body: a.body[:min(len(a.body), keptBody)]})
		}
		all[i].Times++
	}
	slices.SortStableFunc(all, func(a, b got) int { return a.Times - b.Times })
	return all
}

// onCharged is told of each new charge before the function is.
func (c *console) onCharged(made cardprocessor.Charge) {
	c.mu.Lock()
	c.charges = last(append(c.charges, made), keptRows)
	kill := c.strikes(deathAtCharge)
	c.mu.Unlock()
	if kill {
		c.w.fn.Kill()
	}
	c.w.onCharged(made)
}

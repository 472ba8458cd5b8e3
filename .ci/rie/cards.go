package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// The cards that are not simply charged.
const (
	declinedCard = "card_declined"
	slowCard     = "card_slow" // charged, and the caller does not hear of it
)

// cards is a card processor that counts. It knows no keys: whoever asks twice has charged twice.
type cards struct {
	mu                sync.Mutex
	requests, charges int
}

func (c *cards) counts() (requests, charges int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.charges
}

// ServeHTTP answers POST /charges as the payments function's processor does.
func (c *cards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var charge struct{ Card string }
	if err := json.NewDecoder(r.Body).Decode(&charge); err != nil || r.URL.Path != "/charges" || r.Header.Get("Idempotency-Key") == "" {
		http.Error(w, "this is no charge with a key", http.StatusBadRequest)
		return
	}
	status, body := c.charge(charge.Card)
	if charge.Card == slowCard {
		<-r.Context().Done() // until the caller has given up
		return
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, body) // the check of the answer shows it
}

func (c *cards) charge(card string) (status int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if card == declinedCard {
		return http.StatusPaymentRequired, `{"code":"insufficient_funds"}`
	}
	c.charges++
	return http.StatusCreated, fmt.Sprintf(`{"id":"ch_%d"}`, c.charges)
}

// Package cardprocessor is a card processor for tests: it keeps its promises about idempotency keys, counts what it
// charges, and tells when the moment has come at which a caller's crash hurts most.
package cardprocessor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// DeclinedCard is the one card that is always declined, with code "insufficient_funds".
const DeclinedCard = "card_declined"

// SlowCard is the one card whose charge is answered a second late.
const SlowCard = "card_slow"

// Charge is money that was taken. Its JSON is the answer to a POST.
type Charge struct {
	ID        string `json:"id"` // "ch_1", "ch_2", …
	Card      string `json:"card"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	Reference string `json:"reference"`
	Customer  string `json:"customer,omitempty"`
}

// Server is an http.Handler for POST and GET /charges. Its zero value is ready to use.
//
// The header Idempotency-Key is required. A key's second POST gets the charge of the first (200 instead of 201) if it
// asks for the same, and 409 otherwise. GET asks for the key's charge; 404 with code "no_charge" says that there is none.
type Server struct {
	// Charged is called when a new charge has been made and before its answer is sent; it may take its time.
	// Set it before the first request. Calls may be concurrent. Defaults to nothing.
	Charged func(Charge)

	mu       sync.Mutex
	byKey    map[string]Charge
	requests int
}

// Charges returns how many charges were made.
func (s *Server) Charges() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

// Requests returns how many requests were to charge a card, repeated ones included; looking a charge up is none.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Forget makes every key unknown again: what a processor does after some time.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey = nil
}

// ServeHTTP answers 201 or 200 with a [Charge], and a refusal with {"code": …}, such as 402 for a declined card.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/charges" {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	key := r.Header.Get("Idempotency-Key")
	switch r.Method {
	case http.MethodPost:
		s.charge(w, r, key)
	case http.MethodGet:
		s.lookUp(w, key)
	default:
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed")
	}
}

func (s *Server) lookUp(w http.ResponseWriter, key string) {
	s.mu.Lock()
	made, known := s.byKey[key]
	s.mu.Unlock()
	switch {
	case key == "":
		refuse(w, http.StatusBadRequest, "key_required")
	case !known:
		refuse(w, http.StatusNotFound, "no_charge")
	default:
		answer(w, http.StatusOK, made)
	}
}

func (s *Server) charge(w http.ResponseWriter, r *http.Request, key string) {
	var want Charge
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&want)
	switch {
	case key == "":
		refuse(w, http.StatusBadRequest, "key_required")
	case err != nil || want.Amount <= 0 || want.Currency == "":
		refuse(w, http.StatusBadRequest, "bad_charge")
	default:
		made, status := s.apply(key, want)
		if made.Card == SlowCard {
			wait(r.Context(), time.Second)
		}
		s.say(w, made, status)
	}
}

func wait(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

func (s *Server) say(w http.ResponseWriter, made Charge, status int) {
	switch status {
	case http.StatusPaymentRequired:
		refuse(w, status, "insufficient_funds")
		return
	case http.StatusConflict:
		refuse(w, status, "key_reused")
		return
	case http.StatusCreated:
		if s.Charged != nil {
			s.Charged(made)
		}
	}
	answer(w, status, made)
}

// apply makes the charge, or finds the key's, as one step.
func (s *Server) apply(key string, want Charge) (Charge, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	made, known := s.byKey[key]
	want.ID = made.ID
	switch {
	case known && made != want:
		return Charge{}, http.StatusConflict
	case known:
		return made, http.StatusOK
	case want.Card == DeclinedCard:
		return Charge{}, http.StatusPaymentRequired
	}
	if s.byKey == nil {
		s.byKey = map[string]Charge{}
	}
	want.ID = fmt.Sprintf("ch_%d", len(s.byKey)+1)
	s.byKey[key] = want
	return want, http.StatusCreated
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, struct {
		Code string `json:"code"`
	}{code})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only when the caller is gone, which is a case of its own
}

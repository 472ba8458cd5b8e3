package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
)

// processorAt returns the client of a server that lives as long as the test.
func processorAt(t *testing.T, h http.Handler) processor {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p, err := newProcessor(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCharge_SameKeyIsOneCharge(t *testing.T) {
	t.Parallel()
	server := &cardprocessor.Server{}
	p := processorAt(t, server)
	for range 2 {
		id, err := p.charge(t.Context(), "k1", chargeRequest{Card: "card_visa", Amount: 1, Currency: "EUR"})
		if err != nil || id != "ch_1" {
			t.Errorf("charge %q, %v, want ch_1", id, err)
		}
	}
	if server.Charges() != 1 || server.Requests() != 2 {
		t.Errorf("%d charges by %d requests, want 1 by 2", server.Charges(), server.Requests())
	}
}

func TestCharge_Declined(t *testing.T) {
	t.Parallel()
	p := processorAt(t, &cardprocessor.Server{})
	_, err := p.charge(t.Context(), "k1", chargeRequest{Card: cardprocessor.DeclinedCard, Amount: 1, Currency: "EUR"})
	if declined, ok := errors.AsType[*CardDeclined](err); !ok || declined.Code != "insufficient_funds" {
		t.Errorf("error %v, want CardDeclined", err)
	}
}

// Whatever is neither a charge nor a no leaves the charge open, and must not look like a no.
func TestCharge_AnyOtherAnswerIsAProcessorError(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // a broken one is noticed by the client
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"500":               answer(http.StatusInternalServerError, `{"code":"oops"}`),
		"500 with an id":    answer(http.StatusInternalServerError, `{"id":"ch_1"}`),
		"409":               answer(http.StatusConflict, `{"code":"key_reused"}`),
		"402 of a proxy":    answer(http.StatusPaymentRequired, "<html>"),
		"402 without code":  answer(http.StatusPaymentRequired, `{}`),
		"402 with null":     answer(http.StatusPaymentRequired, `null`),
		"201 without id":    answer(http.StatusCreated, `{}`),
		"201 cut off":       answer(http.StatusCreated, `{"id":"ch_`),
		"204":               answer(http.StatusNoContent, ""),
		"connection broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := processorAt(t, h).charge(t.Context(), "k1", chargeRequest{})
			if _, ok := errors.AsType[*ProcessorError](err); !ok || id != "" {
				t.Errorf("charge %q, %v, want a ProcessorError", id, err)
			}
		})
	}
}

// Wherever a redirect leads: what is said there is no answer, and it gets neither card nor key.
func TestCharge_FollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("followed with %s", r.Method)
		_, _ = io.WriteString(w, `{"id":"ch_1"}`)
	}))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		id, err := processorAt(t, http.RedirectHandler(elsewhere.URL, status)).charge(t.Context(), "k1", chargeRequest{})
		if _, ok := errors.AsType[*ProcessorError](err); !ok || id != "" {
			t.Errorf("status %d: charge %q, %v, want a ProcessorError", status, id, err)
		}
	}
}

func TestNewProcessor_Refuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"localhost:8080", "http://", "http://:80", "ftp://user:secret@host", "http://user:secret@ho st", "://user:secret@host"} {
		_, err := newProcessor(address)
		if err == nil || !strings.Contains(err.Error(), "CARD_PROCESSOR_URL") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error that names the variable and no password", address, err)
		}
	}
}

func TestCharge_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := processorAt(t, &cardprocessor.Server{Charged: func(cardprocessor.Charge) { cancel() }})
	_, err := p.charge(ctx, "k1", chargeRequest{Card: "card_visa", Amount: 1, Currency: "EUR"})
	if _, ok := errors.AsType[*ProcessorError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want a ProcessorError that says the context was cancelled", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	p := processorAt(t, &cardprocessor.Server{})
	want := chargeRequest{"card_visa", 1, "EUR", "17", "c1"}
	if c, ok, err := p.find(t.Context(), "k1"); err != nil || ok {
		t.Errorf("before: %+v, %t, %v, want none", c, ok, err)
	}
	if _, err := p.charge(t.Context(), "k1", want); err != nil {
		t.Fatal(err)
	}
	if c, ok, err := p.find(t.Context(), "k1"); err != nil || !ok || c != (charge{"ch_1", want}) {
		t.Errorf("after: %+v, %t, %v, want the charge", c, ok, err)
	}
}

// Only the processor's own words say that there is no charge: whoever believes another 404 lets a payment run again.
func TestFind_AnyOtherAnswerIsAProcessorError(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"code":"not_found"}`: 404, `<html>`: 404, `{"id":"ch_1"}`: 404, ``: 404,
		`{"code":"no_charge"}`: 500, `{}`: 200, `{"id":"ch_`: 200, "null": 200,
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		c, ok, err := processorAt(t, h).find(t.Context(), "k1")
		if _, is := errors.AsType[*ProcessorError](err); !is || ok || c != (charge{}) {
			t.Errorf("%d %s: %+v, %t, %v, want a ProcessorError", status, body, c, ok, err)
		}
	}
}

func TestPlayProcessor_SameKeyIsOneCharge(t *testing.T) {
	t.Parallel()
	p, err := newProcessor("")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, key := range []string{"a", "b", "a"} {
		id, err := p.charge(t.Context(), key, chargeRequest{})
		if err != nil || ids[key] != "" && ids[key] != id {
			t.Errorf("charge of key %s: %q, %v, want %q", key, id, err, ids[key])
		}
		ids[key] = id
	}
	if ids["a"] == ids["b"] {
		t.Errorf("two keys share the charge %q", ids["a"])
	}
}

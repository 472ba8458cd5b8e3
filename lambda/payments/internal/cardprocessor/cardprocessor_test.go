package cardprocessor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func post(t *testing.T, s *Server, key, body string) (int, string) {
	t.Helper()
	return ask(t, s, http.MethodPost, key, body)
}

func ask(t *testing.T, s *Server, method, key, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/charges", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestServer_Answers(t *testing.T) {
	t.Parallel()
	s := &Server{}
	const body = `{"card":"card_visa","amount":4990,"currency":"EUR","reference":"17"}`
	const charge = `{"id":"ch_1","card":"card_visa","amount":4990,"currency":"EUR","reference":"17"}`
	for _, c := range []struct {
		situation, key, body string
		status               int
		want                 string
	}{
		{"new", "k1", body, http.StatusCreated, charge},
		{"the key again", "k1", body, http.StatusOK, charge},
		{"the key for another amount", "k1", strings.Replace(body, "4990", "1", 1), http.StatusConflict, `{"code":"key_reused"}`},
		{"no key", "", body, http.StatusBadRequest, `{"code":"key_required"}`},
		{"no amount", "k2", `{"currency":"EUR"}`, http.StatusBadRequest, `{"code":"bad_charge"}`},
		{"no JSON", "k2", `?`, http.StatusBadRequest, `{"code":"bad_charge"}`},
		{"declined", "k2", strings.Replace(body, "card_visa", DeclinedCard, 1), http.StatusPaymentRequired, `{"code":"insufficient_funds"}`},
		{"another key", "k3", body, http.StatusCreated, strings.Replace(charge, "ch_1", "ch_2", 1)},
	} {
		if status, got := post(t, s, c.key, c.body); status != c.status || got != c.want {
			t.Errorf("%s: %d %s, want %d %s", c.situation, status, got, c.status, c.want)
		}
	}
	if s.Charges() != 2 {
		t.Errorf("%d charges, want 2", s.Charges())
	}
}

func TestServer_LookUp(t *testing.T) {
	t.Parallel()
	s := &Server{}
	const charge = `{"id":"ch_1","card":"card_visa","amount":4990,"currency":"EUR","reference":"17","customer":"c1"}`
	post(t, s, "k1", strings.Replace(charge, `"id":"ch_1",`, "", 1))
	want := func(key string, status int, body string) {
		t.Helper()
		if got, text := ask(t, s, http.MethodGet, key, ""); got != status || text != body {
			t.Errorf("%q: %d %s, want %d %s", key, got, text, status, body)
		}
	}
	want("k1", http.StatusOK, charge)
	want("k2", http.StatusNotFound, `{"code":"no_charge"}`)
	want("", http.StatusBadRequest, `{"code":"key_required"}`)
	if s.Requests() != 1 {
		t.Errorf("%d requests, want one", s.Requests())
	}
	s.Forget()
	want("k1", http.StatusNotFound, `{"code":"no_charge"}`)
}

func TestServer_OtherPathsAndMethods(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/charges": http.StatusMethodNotAllowed, "/": http.StatusNotFound} {
		w := httptest.NewRecorder()
		new(Server).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil))
		if w.Code != want {
			t.Errorf("DELETE %s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestServer_ConcurrentRequestsOfOneKeyAreOneCharge(t *testing.T) {
	t.Parallel()
	told := make(chan Charge, 20)
	s := &Server{Charged: func(c Charge) { told <- c }}
	var wg sync.WaitGroup
	for range cap(told) {
		wg.Go(func() { post(t, s, "k1", `{"card":"card_visa","amount":1,"currency":"EUR"}`) })
	}
	wg.Wait()
	if s.Charges() != 1 || len(told) != 1 || s.Requests() != cap(told) {
		t.Errorf("%d charges, told of %d, by %d requests; want 1, 1, %d", s.Charges(), len(told), s.Requests(), cap(told))
	}
}

func TestServer_SlowCardTakesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		status, _ := post(t, &Server{}, "k1", `{"card":"`+SlowCard+`","amount":1,"currency":"EUR"}`)
		if took := time.Since(began); status != http.StatusCreated || took != time.Second {
			t.Errorf("%d after %v, want 201 after 1 s", status, took)
		}
	})
}

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// standIn answers the operations that the embedded database has not, or otherwise than it does; the others go through.
type standIn map[string]func(body string) (status int, answer string)

func answers(body string) func(string) (int, string) {
	return func(string) (int, string) { return http.StatusOK, body }
}

// fails answers as AWS's JSON protocols do.
func fails(code string) func(string) (int, string) {
	return func(string) (int, string) {
		return http.StatusBadRequest, `{"__type":"com.amazonaws#` + code + `","message":"as the service says it"}`
	}
}

// standIn puts s before the fixture's database.
func (f *fixture) standIn(t *testing.T, s standIn) {
	t.Helper()
	db := f.db.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		answer, ok := s[operation]
		if !ok {
			db.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		status, text := answer(string(body))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
}

package dynamo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only the root answers to GET and HEAD; everything else is asked by POST.
func TestServeHTTP_Methods(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, row := range []struct {
		method, url string
		status      int
	}{
		{http.MethodGet, "http://localhost/", http.StatusOK},
		{http.MethodHead, "http://localhost/", http.StatusOK},
		{http.MethodGet, "http://localhost", http.StatusOK},
		{http.MethodHead, "http://localhost", http.StatusOK},
		{http.MethodGet, "http://localhost/other", http.StatusMethodNotAllowed},
		{http.MethodHead, "http://localhost/other", http.StatusMethodNotAllowed},
		{http.MethodGet, "http://localhost//", http.StatusMethodNotAllowed},
		{http.MethodPut, "http://localhost/", http.StatusMethodNotAllowed},
		{http.MethodDelete, "http://localhost", http.StatusMethodNotAllowed},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), row.method, row.url, nil))
		healthy := strings.HasPrefix(w.Body.String(), "healthy: ")
		if w.Code != row.status || healthy != (row.status == http.StatusOK) {
			t.Errorf("%s %s: %d %s", row.method, row.url, w.Code, w.Body)
		}
	}
}

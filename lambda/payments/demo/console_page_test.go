package main

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestGuarded_KeepsOtherPagesOut(t *testing.T) {
	t.Parallel()
	h := guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		method, host, origin, site string
		status                     int
	}{
		{"POST", "127.0.0.1:3000", "http://127.0.0.1:3000", "same-origin", http.StatusOK},
		{"POST", "127.0.0.1:3000", "http://127.0.0.1:3000", "", http.StatusOK}, // an old browser
		{"POST", "localhost:3000", "http://localhost:3000", "same-origin", http.StatusOK},
		{"POST", "[::1]:3000", "http://[::1]:3000", "", http.StatusOK},
		{"POST", "127.0.0.1", "", "", http.StatusOK}, // curl
		{"GET", "[::1]", "", "", http.StatusOK},
		{"POST", "127.0.0.1:3000", "http://shop.example", "", http.StatusForbidden},
		{"POST", "127.0.0.1:3000", "http://shop.example", "cross-site", http.StatusForbidden},
		{"POST", "127.0.0.1:3000", "http://127.0.0.1:8080", "same-site", http.StatusForbidden},
		{"POST", "127.0.0.1:3000", "null", "", http.StatusForbidden},
		{"POST", "rebound.example:3000", "http://rebound.example:3000", "same-origin", http.StatusForbidden},
		{"GET", "rebound.example:3000", "", "", http.StatusForbidden},
		{"GET", "localhost.rebound.example", "", "", http.StatusForbidden},
		{"GET", "", "", "", http.StatusForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/console/pay", nil)
		r.Host = c.host
		for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}

// The policy names the page's one script and one style; anything else in it would not run, and nothing comes from elsewhere.
func TestConsole_PageIsWhole(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	new(console).page(w, nil)
	policy := w.Header().Get("Content-Security-Policy")
	for _, element := range []string{"script", "style"} {
		all := regexp.MustCompile("(?s)<"+element+`\b[^>]*>(.*?)</`+element+">").FindAllStringSubmatch(consolePage, -1)
		if len(all) != 1 || all[0][1] == "" {
			t.Fatalf("%d elements %s, want one with text", len(all), element)
		}
		sum := sha256.Sum256([]byte(all[0][1]))
		if want := element + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("the policy is %s, want %s in it", policy, want)
		}
	}
	if found := regexp.MustCompile(`(?i)(https?:)?//[a-z]|\s(style|on[a-z]+)=|innerHTML`).FindString(consolePage); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, m := range regexp.MustCompile(`data-action="([\w-]+)"`).FindAllStringSubmatch(consolePage, -1) {
		if _, ok := deeds[m[1]]; !ok {
			t.Errorf("there is a button for %s, and no such action", m[1])
		}
	}
	if n := strings.Count(consolePage, "data-action="); n != len(deeds) {
		t.Errorf("%d buttons for %d actions", n, len(deeds))
	}
}

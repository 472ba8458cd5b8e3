package httpclient_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// What comes of the answers, one after the other: how many tries there are.
func tries(t *testing.T, answers ...answer) int {
	t.Helper()
	s := &script{answers: append(answers, ok)}
	resp, err := post(t.Context(), t, transport(t, s))
	last := s.answers[len(s.keys)-1]
	if last.err != nil {
		if !errors.Is(err, errors.Unwrap(last.err)) {
			t.Errorf("error %v, want %v", err, last.err)
		}
	} else if err != nil {
		t.Fatal(err)
	} else if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != last.status || string(body) != last.body {
		t.Errorf("got %d %q, %v; want %d %q", resp.StatusCode, body, err, last.status, last.body)
	}
	for i := range s.keys {
		if s.keys[i] == "" || s.keys[i] != s.keys[0] || s.bodies[i] != "body" {
			t.Errorf("try %d had key %s and body %q", i, s.keys[i], s.bodies[i])
		}
	}
	for i, body := range s.given {
		if dropped := i < len(s.given)-1; dropped != (body.closed > 0) {
			t.Errorf("answer %d of %d was closed %d times", i+1, len(s.given), body.closed)
		}
	}
	return len(s.keys)
}

// The page for clients is the contract: its table, row by row, and its list of statuses without a code.
func TestRoundTrip_ClientsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../lambda/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\d{3}) \\| .*`([a-z_]+)` \\| .* \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 13 {
		t.Fatalf("the table has %d rows that can be read, want 13 or more", len(rows))
	}
	for _, row := range rows {
		status, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if strings.HasPrefix(row[3], "**yes**") {
			want = 2
		}
		t.Run(row[2], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// Retry-After does not make a final answer another.
				for _, first := range []answer{problem(status, row[2]), problem(status, row[2], "Retry-After", "1")} {
					if got := tries(t, first); got != want {
						t.Errorf("%d %s: %d tries, want %d: %s", status, row[2], got, want, row[3])
					}
				}
			})
		})
	}
	list := regexp.MustCompile(`no answer at all, ([0-9, ]+)\.`).FindStringSubmatch(string(page))
	if list == nil {
		t.Fatal("no list of statuses without a code")
	}
	synctest.Test(t, func(t *testing.T) {
		for status := 200; status < 600; status++ {
			want := 1
			if strings.Contains(list[1], strconv.Itoa(status)) {
				want = 2
			}
			if got := tries(t, plain(status)); got != want {
				t.Errorf("%d: %d tries, want %d", status, got, want)
			}
			if got := tries(t, plain(status, "Idempotent-Replayed", "true")); got != 1 {
				t.Errorf("%d, replayed: %d tries, want 1", status, got)
			}
		}
	})
}

// What the page for clients leaves open: no answer, answers of other servers, and those that contradict themselves.
func TestRoundTrip_AsksAgain(t *testing.T) {
	t.Parallel()
	untrusted := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	in, reused := "operation_in_progress", "idempotency_key_reused"
	for name, c := range map[string]struct {
		answers []answer
		tries   int
	}{
		"reset":                            {[]answer{reset}, 2},
		"broken off":                       {[]answer{failed(io.ErrUnexpectedEOF)}, 2},
		"untrusted certificate":            {[]answer{failed(untrusted)}, 1},
		"no TLS":                           {[]answer{failed(tls.RecordHeaderError{Msg: "HTTP"})}, 1},
		"in progress, without Retry-After": {[]answer{problem(409, in), problem(409, in)}, 3},
		"409":                              {[]answer{plain(409)}, 1},
		"409, a problem without code":      {[]answer{problem(409, "")}, 1},
		"409 not yet":                      {[]answer{plain(409, "Retry-After", "1")}, 2},
		"409 not yet, in words":            {[]answer{plain(409, "Retry-After", "soon")}, 1},
		"409 not yet, code of another":     {[]answer{problem(409, "REQUEST_IN_PROGRESS", "Retry-After", "1")}, 2},
		"409 code of another":              {[]answer{problem(409, "version_conflict")}, 1},
		"409 reused":                       {[]answer{problem(409, reused, "Retry-After", "1")}, 1},
		"409 after no answer":              {[]answer{reset, plain(409), problem(409, "")}, 4},
		"409 after no answer, with a code": {[]answer{reset, problem(409, "version_conflict")}, 2},
		"409 after no answer, replayed":    {[]answer{reset, plain(409, "Idempotent-Replayed", "true")}, 2},
		"500 other code":                   {[]answer{problem(500, "database_down")}, 2},
		"503 misconfigured":                {[]answer{problem(503, "idempotency_misconfigured")}, 1},
		"replayed, in capitals":            {[]answer{plain(500, "Idempotent-Replayed", "True")}, 1},
		"not replayed":                     {[]answer{plain(500, "Idempotent-Replayed", "false")}, 2},
		"a code in a document of no type":  {[]answer{{status: 500, body: `{"code":"outcome_unknown"}`}}, 2},
		"a problem that is no JSON":        {[]answer{{status: 500, headers: problem(500, "").headers, body: `{"code":`}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := tries(t, c.answers...); got != c.tries {
					t.Errorf("%d tries, want %d", got, c.tries)
				}
			})
		})
	}
}

// A long problem document reaches the caller whole, although only its beginning was read for the code.
func TestRoundTrip_LongProblem(t *testing.T) {
	t.Parallel()
	long := problem(http.StatusConflict, "outcome_unknown")
	long.body = fmt.Sprintf(`{"code":"outcome_unknown","detail":%q}`, strings.Repeat("x", 100<<10))
	synctest.Test(t, func(t *testing.T) {
		if got := tries(t, long); got != 1 {
			t.Errorf("%d tries, want 1", got)
		}
	})
}

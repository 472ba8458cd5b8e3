package dynamo

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Tokens are forgotten in their time, each by itself, though the clock be set back in between.
func TestTokens_Forgotten(t *testing.T) {
	t.Parallel()
	known := tokens{prints: map[string]fingerprint{}}
	start := time.Unix(1_700_000_000, 0)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for i, minutes := range []int{0, 5, 2, 5, -3} {
		known.remember(fmt.Sprint("t", i), fingerprint{byte(i)}, at(minutes))
	}
	for _, row := range []struct {
		minutes int
		left    []string
	}{
		{5, []string{"t4", "t0", "t2", "t1", "t3"}},
		{7, []string{"t0", "t2", "t1", "t3"}},
		{9, []string{"t0", "t2", "t1", "t3"}},
		{10, []string{"t2", "t1", "t3"}},
		{12, []string{"t1", "t3"}},
		{15, nil},
	} {
		for i := range 5 {
			token := fmt.Sprint("t", i)
			repeated, err := known.repeated(token, fingerprint{byte(i)}, at(row.minutes))
			if want := slices.Contains(row.left, token); err != nil || repeated != want {
				t.Errorf("after %d minutes %s: %v, %v, want %v", row.minutes, token, repeated, err, want)
			}
		}
		var order []string
		for _, c := range known.commits {
			order = append(order, c.token)
		}
		if !slices.Equal(order, row.left) || len(known.prints) != len(row.left) {
			t.Errorf("after %d minutes: %v, and %d fingerprints", row.minutes, order, len(known.prints))
		}
	}
}

// A request is told from another by a fingerprint of its own, of one size.
func TestTokens_Fingerprint(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 3 {
		s.ok("TransactWriteItems", transaction("one", addTo("k")))
	}
	s.ok("TransactWriteItems", transaction("two", addTo("k2")))
	s.wantError("TransactWriteItems", transaction("one", addTo("k2")), "IdempotentParameterMismatchException", "")
	if n := len(s.tokens.commits); n != 2 || s.tokens.prints["one"] == s.tokens.prints["two"] {
		t.Errorf("%d commits, fingerprints %x", n, s.tokens.prints)
	}
}

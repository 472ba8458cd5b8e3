package idempotency

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// wantField asserts that err is a FieldError of that field, whose message names the field, the value and the rule.
func wantField(t *testing.T, err error, field, value, rule string) {
	t.Helper()
	e, ok := errors.AsType[*FieldError](err)
	if !ok {
		t.Fatalf("error is %v, want a FieldError of %s", err, field)
	}
	if e.Field != field || e.Value != value || !strings.Contains(e.Rule, rule) {
		t.Errorf("got field %q, value %q, rule %q; want %q, %q, %q", e.Field, e.Value, e.Rule, field, value, rule)
	}
	for _, part := range []string{e.Field, e.Value, e.Rule} {
		if part == "" || !strings.Contains(e.Error(), part) {
			t.Errorf("message %q does not contain %q", e, part)
		}
	}
}

// The defaults that every document quotes (C07 has the lease's).
func TestConfig_Defaults(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{})
	cfg := r.cfg
	for _, row := range []struct {
		setting   string
		got, want any
	}{
		{"Retention", cfg.Retention, 24 * time.Hour},
		{"UnknownRetention", cfg.UnknownRetention, 24 * time.Hour},
		{"lease without a deadline", DefaultLease, time.Minute},
		{"Lease", cfg.Lease, time.Duration(0)},
		{"lease margin", clockMargin, 2 * time.Second},
		{"reserve's share", reserveShare, 10},
		{"reserve, at least", reserveMin, 50 * time.Millisecond},
		{"reserve, at most", reserveMax, time.Second},
		{"Reserve", cfg.Reserve, time.Duration(0)},
		{"Wait", cfg.Wait, time.Duration(0)},
		{"poll, at first", pollMin, 50 * time.Millisecond},
		{"poll, at last", pauseMax, time.Second},
		{"Retry-After, at least", retryAfterMin, time.Second},
		{"Retry-After, at most", retryAfterMax, 2 * time.Second},
		{"key length", MaxKey, 255},
		{"part of a failure", failureLimit, 32 << 10},
		{"OnUnknown", cfg.OnUnknown, Refuse},
		{"Schema", cfg.Schema, Schema{PartitionKey: "id", Expiry: "expiration"}},
		{"Classify", cfg.Classify == nil, true},
		{"Failure", cfg.Failure == nil, true},
		{"Observe", cfg.Observe == nil, true},
		{"Secrets", len(cfg.Secrets), 0},
	} {
		if row.got != row.want {
			t.Errorf("%s: default is %v, want %v", row.setting, row.got, row.want)
		}
	}
	if d := time.Since(cfg.Now()); d < 0 || d > time.Minute {
		t.Errorf("the default clock is %s behind time.Now", d)
	}
}

// Rule 7: the unknown's retention is the longer of the retention and 24 h, also with a request's own.
func TestConfig_UnknownRetentionDefault(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		retention, unknown, request, want time.Duration
	}{
		{0, 0, 0, 24 * time.Hour},
		{time.Second, 0, 0, 24 * time.Hour},
		{14 * 24 * time.Hour, 0, 0, 14 * 24 * time.Hour},
		{time.Second, time.Minute, 0, time.Minute},
		{time.Hour, time.Minute, 0, time.Hour}, // never shorter than that of the outcome to come
		{time.Hour, time.Minute, 2 * time.Hour, 2 * time.Hour},
		{0, 0, 48 * time.Hour, 48 * time.Hour},
	} {
		r := unitRunner(t, Config{Retention: row.retention, UnknownRetention: row.unknown})
		if row.unknown == 0 && r.cfg.UnknownRetention != max(row.retention, 24*time.Hour) {
			t.Errorf("%+v: the default is %s", row, r.cfg.UnknownRetention)
		}
		c, err := r.begin(Request{Operation: "op", Scope: "s", Key: "k", Input: AnyInput, Retention: row.request})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.unknownRetention(); got != row.want {
			t.Errorf("%+v: got %s", row, got)
		}
	}
}

func TestRetryAfter_IsShortAndHasJitter(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 50 {
		d := retryAfter()
		if d < time.Second || d >= 2*time.Second {
			t.Fatalf("got %s", d)
		}
		seen[d] = true
	}
	if len(seen) < 10 {
		t.Errorf("50 answers had %d values", len(seen))
	}
}

func TestNew_RefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	century := 100*365*24*time.Hour + 1
	short := []byte("fifteen bytes!!")
	for _, row := range []struct {
		name               string
		cfg                Config
		field, value, rule string
	}{
		{"no table", Config{}, "Config.Table", "empty", "required"},
		{"negative retention", Config{Table: "table", Retention: -1}, "Config.Retention", "-1ns", "negative"},
		{"endless retention", Config{Table: "table", Retention: century}, "Config.Retention", century.String(), "100 years"},
		{"negative unknown retention", Config{Table: "table", UnknownRetention: -time.Hour}, "Config.UnknownRetention", "-1h0m0s", "negative"},
		{"endless unknown retention", Config{Table: "table", UnknownRetention: century}, "Config.UnknownRetention", century.String(), "100 years"},
		{"negative lease", Config{Table: "table", Lease: -time.Second}, "Config.Lease", "-1s", "negative"},
		{"endless lease", Config{Table: "table", Lease: century}, "Config.Lease", century.String(), "100 years"},
		{"lease of the margin", Config{Table: "table", Lease: 2 * time.Second}, "Config.Lease", "2s", "longer than 2.05s"},
		{"lease that the reserve uses up", Config{Table: "table", Lease: 5 * time.Second, Reserve: 3 * time.Second}, "Config.Lease", "5s", "longer than 5s"},
		{"negative reserve", Config{Table: "table", Reserve: -1}, "Config.Reserve", "-1ns", "negative"},
		{"endless reserve", Config{Table: "table", Reserve: century}, "Config.Reserve", century.String(), "100 years"},
		{"negative wait", Config{Table: "table", Wait: -time.Second}, "Config.Wait", "-1s", "negative"},
		{"endless wait", Config{Table: "table", Wait: century}, "Config.Wait", century.String(), "100 years"},
		{"no such policy", Config{Table: "table", OnUnknown: 3}, "Config.OnUnknown", "3", "Refuse or Rerun"},
		{"negative policy", Config{Table: "table", OnUnknown: -1}, "Config.OnUnknown", "-1", "Refuse or Rerun"},
		{"short secret", Config{Table: "table", Secrets: [][]byte{short}}, "Config.Secrets[0]", "15 bytes long", "16 bytes"},
		{"short second secret", Config{Table: "table", Secrets: [][]byte{[]byte(unitSecret), short}}, "Config.Secrets[1]", "15 bytes long", "16 bytes"},
		{"empty secret", Config{Table: "table", Secrets: [][]byte{nil}}, "Config.Secrets[0]", "0 bytes long", "16 bytes"},
		{"bad schema", Config{Table: "table", Schema: Schema{Expiry: "status"}}, "Config.Schema.Expiry", `"status"`, "taken"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, err := New(&unitClient{}, row.cfg)
			if r != nil {
				t.Error("got a Runner")
			}
			wantField(t, err, row.field, row.value, row.rule)
			if strings.Contains(err.Error(), string(short)) {
				t.Errorf("message %q shows the secret", err)
			}
		})
	}
	_, err := New(nil, Config{Table: "table"})
	wantField(t, err, "client", "nil", "required")
}

func TestNew_AcceptsTheLimits(t *testing.T) {
	t.Parallel()
	century := 100 * 365 * 24 * time.Hour
	for name, cfg := range map[string]Config{
		"longest":          {Retention: century, UnknownRetention: century, Lease: century, Wait: century},
		"lease":            {Lease: 3*time.Second + 1, Reserve: time.Second},
		"shortest secret":  {Secrets: [][]byte{[]byte("sixteen bytes!!!")}},
		"rerun":            {OnUnknown: Rerun},
		"ARN":              {Table: "arn:aws:dynamodb:eu-central-1:123456789012:table/records"},
		"shorter unknowns": {Retention: time.Hour, UnknownRetention: time.Second},
	} {
		cfg.Table = max(cfg.Table, "records")
		if _, err := New(&unitClient{}, cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A lease that New accepts is one that a handler can run in: otherwise every request would fail with ErrNoTime,
// which says "retry".
func TestNew_AcceptedLeaseHasRoomForAHandler(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Lease: 2*time.Second + 1},
		{Lease: 2*time.Second + 50*time.Millisecond},
		{Lease: 2*time.Second + 51*time.Millisecond},
		{Lease: 3 * time.Second},
		{Lease: 5 * time.Second, Reserve: time.Second},
		{Lease: 5*time.Second + 1, Reserve: 3 * time.Second},
	} {
		cfg.Table = "records"
		r, err := New(&unitClient{}, cfg)
		if err != nil {
			continue
		}
		if _, err := r.plan(t.Context()); err != nil {
			t.Errorf("New accepts lease %s with reserve %s, but no request can run: %v", cfg.Lease, cfg.Reserve, err)
		}
	}
}

// New changes nothing in what the user holds.
func TestNew_LeavesTheConfigAlone(t *testing.T) {
	t.Parallel()
	cfg := Config{Table: "records", Retention: 48 * time.Hour}
	if _, err := New(&unitClient{}, cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.UnknownRetention != 0 || cfg.OnUnknown != 0 || cfg.Now != nil || cfg.Schema != (Schema{}) {
		t.Errorf("config is now %+v", cfg)
	}
}

// The package comment and the fields' comments quote the numbers that the code has.
func TestConfig_CommentsQuoteTheDefaults(t *testing.T) {
	t.Parallel()
	for file, phrases := range map[string][]string{
		"config.go": {
			"Defaults to 24 hours;", "the longer of the retention and 24 hours", "1 minute where the context has none",
			"2 s for clocks that differ", "a tenth of the time left, at least 50 ms and at most 1 s",
			"Defaults to 0, not at all", "at least 16 bytes",
		},
		"request.go": {"At most 255 bytes of printable text", "At most 1024 bytes; stored hashed", "At most 255 bytes; stored hashed"},
		"doc.go":     {"context's deadline + 2 s", "(1 min where there is neither)", "a tenth of the time left, at least 50 ms, at most 1 s"},
		"errors.go":  {"cut at 32 KB"},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flat := regexp.MustCompile(`\s+(//\s*)?`).ReplaceAllString(string(text), " ")
		for _, phrase := range phrases {
			if !strings.Contains(flat, phrase) {
				t.Errorf("%s does not say %q", file, phrase)
			}
		}
	}
}

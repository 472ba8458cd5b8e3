package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// asProcess makes the test binary the command.
const asProcess = "IDEMCTL_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
	}
	// The SDK's own environment: nothing of this machine's, but for what a real database needs.
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"} {
		_ = os.Unsetenv(name)
	}
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_ACCESS_KEY_ID": cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), "test"), "AWS_SECRET_ACCESS_KEY": cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), "test"),
	} {
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write the golden files")

// fixture is a table, served on a port, and the command's surroundings.
type fixture struct {
	db    *localtest.DB
	table string
	url   string
	stdin string
	now   func() time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db := localtest.Start(t)
	return &fixture{db: db, table: db.CreateTable(t, idempotency.Table("records", idempotency.Schema{})), url: db.Listen(t), now: time.Now}
}

type result struct {
	code     int
	out, err string
}

// flags are what finds the table.
func (f *fixture) flags() []string {
	return []string{"-table", f.table, "-endpoint-url", f.url, "-region", "us-east-1"}
}

func (f *fixture) run(ctx context.Context, t *testing.T, args ...string) result {
	t.Helper()
	return f.bare(ctx, append(args, f.flags()...)...)
}

// bare runs the command without a table and an endpoint.
func (f *fixture) bare(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	p := &program{env: func(string) string { return "" }, stdin: strings.NewReader(f.stdin), stdout: &out, stderr: &err, now: f.now}
	return result{p.run(ctx, args), out.String(), err.String()}
}

// want fails the test unless the command has ended with the code, and said all of this, on either output.
func (r result) want(t *testing.T, code int, said ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", r.code, code, r.out, r.err)
	}
	for _, s := range said {
		if !strings.Contains(r.out+r.err, s) {
			t.Errorf("nothing says %q\nstdout:\n%s\nstderr:\n%s", s, r.out, r.err)
		}
	}
}

// firstLine is what the command says to do.
func (r result) firstLine() string {
	line, _, _ := strings.Cut(r.err, "\n")
	return line
}

func (r result) document(t *testing.T) recordJSON {
	t.Helper()
	var doc recordJSON
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, r.out, r.err)
	}
	return doc
}

// runner is a program's, on the same table; options change its Config.
func (f *fixture) runner(t *testing.T, options ...func(*idempotency.Config)) *idempotency.Runner {
	t.Helper()
	cfg := idempotency.Config{Table: f.table, Now: f.now}
	for _, option := range options {
		option(&cfg)
	}
	r, err := idempotency.New(f.db.Client(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(key string) idempotency.Request {
	return idempotency.Request{Operation: "pay", Scope: "customer 7", Key: key, Ref: "order " + key, Input: idempotency.AnyInput}
}

func idOf(t *testing.T, r *idempotency.Runner, key string) string {
	t.Helper()
	ids, err := r.RecordIDs(request(key))
	if err != nil {
		t.Fatal(err)
	}
	return ids[0]
}

type handler = func(context.Context) (string, error)

func returns(value string) handler {
	return func(context.Context) (string, error) { return value, nil }
}

func endsUnknown(context.Context) (string, error) {
	return "", idempotency.Unknown(errors.New("the processor did not answer"))
}

// unknown makes a record whose outcome is unknown, and returns its id.
func (f *fixture) unknown(t *testing.T, key string) string {
	t.Helper()
	r := f.runner(t)
	if _, err := idempotency.Do(t.Context(), r, request(key), endsUnknown); err == nil {
		t.Fatal("the handler has not failed")
	}
	return idOf(t, r, key)
}

// completed makes a record with an outcome.
func (f *fixture) completed(t *testing.T, key, value string) string {
	t.Helper()
	r := f.runner(t)
	if _, err := idempotency.Do(t.Context(), r, request(key), returns(value)); err != nil {
		t.Fatal(err)
	}
	return idOf(t, r, key)
}

// inHandler runs check while an attempt is in progress whose clock is that much behind.
func (f *fixture) inHandler(t *testing.T, key string, behind time.Duration, check func(id string)) {
	t.Helper()
	r := f.runner(t, func(c *idempotency.Config) { c.Now = func() time.Time { return f.now().Add(-behind) } })
	checked := false
	_, err := idempotency.Do(t.Context(), r, request(key), func(context.Context) (string, error) {
		check(idOf(t, r, key))
		checked = true
		return "", nil
	})
	if !checked {
		t.Fatal(err)
	}
}

func (f *fixture) record(t *testing.T, id string) idempotency.Record {
	t.Helper()
	rec, err := f.runner(t).Record(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

var tokens = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)

// golden compares with a file of testdata; tokens are random.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = tokens.ReplaceAllString(got, "TOKENTOKENTOKENTOKENTOKEN7")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is written (go test -update writes it):\n%s", file, got)
	}
}

// noon is the time of the golden files.
func noon() time.Time { return time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC) }

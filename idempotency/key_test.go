package idempotency

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wantGolden compares got with testdata/golden/name. What is there has been written into tables and sent to
// other systems: it changes only with a new schema number. So no flag renews these files; the failure prints
// what a new one would have to hold.
func wantGolden(t *testing.T, name string, got any) {
	t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "golden", name))
	if err != nil {
		t.Errorf("%v; got:\n%s", err, &text)
		return
	}
	if string(want) != text.String() {
		t.Errorf("%s differs; got:\n%s", name, &text)
	}
}

// unitRunner returns a Runner whose table answers nothing: for tests that never get that far.
func unitRunner(t *testing.T, cfg Config) *Runner {
	t.Helper()
	if cfg.Table == "" {
		cfg.Table = "records"
	}
	r, err := New(&unitClient{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	unitSecret    = "a secret of 32 bytes for hashing"
	unitOldSecret = "the secret that was used before."
)

func TestRecordID_Golden(t *testing.T) {
	t.Parallel()
	type vector struct{ Secret, Operation, Scope, Key, ID string }
	vectors := []vector{
		{Operation: "create-payment", Scope: "tenant-1", Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"},
		{Operation: "create-payment", Scope: "*", Key: "k"},
		{Operation: "op#1", Scope: "a", Key: "bc"},
		{Operation: "op#1", Scope: "ab", Key: "c"},
		{Operation: "zahlung-ü", Scope: "mandant\x00ü", Key: "\xff\xfe"},
		{Secret: unitSecret, Operation: "create-payment", Scope: "tenant-1", Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"},
		{Secret: unitSecret, Operation: "send-mail", Scope: "*", Key: "ann@example.com"},
	}
	for i, v := range vectors {
		var secret []byte
		if v.Secret != "" {
			secret = []byte(v.Secret)
		}
		vectors[i].ID = recordID(secret, v.Operation, v.Scope, v.Key)
		// JSON has no such bytes; the file shows them as Go would write them.
		if v.Key == "\xff\xfe" {
			vectors[i].Key = `\xff\xfe`
		}
	}
	wantGolden(t, "ids.json", vectors)
}

func TestDownstream_Golden(t *testing.T) {
	t.Parallel()
	type vector struct{ ID, Name, Key, UUID string }
	id := recordID(nil, "create-payment", "tenant-1", "8e03978e-40d5-43e8-bc93-6894a57f9324")
	vectors := []vector{
		{ID: id, Name: "charge"},
		{ID: id, Name: "refund"},
		{ID: id, Name: ""},
		{ID: "test#1", Name: "charge"},
	}
	for i, v := range vectors {
		vectors[i].Key, vectors[i].UUID = downstreamKey(v.ID, v.Name), downstreamUUID(v.ID, v.Name)
	}
	wantGolden(t, "downstream.json", vectors)
}

// Every part is preceded by its length: no two requests meet by sharing the joint of two parts (I11, C27, C52).
func TestRecordID_PartsNeverMeet(t *testing.T) {
	t.Parallel()
	type request struct{ operation, scope, key string }
	seen := map[string]request{}
	for _, req := range []request{
		{"op", "a", "bc"},
		{"op", "ab", "c"},
		{"op", "abc", ""},
		{"op", "", "abc"},
		{"opa", "", "bc"},
		{"op", "bc", "a"},
		{"op", "A", "bc"},
		{"op2", "a", "bc"}, // C52: one key, two operations
		{"op", "a", "b\x00c"},
		{"op", "a\x00", "bc"},
		{"op", "tenant-1", "k"}, // C27: two scopes, one key
		{"op", "tenant-2", "k"},
	} {
		for _, secret := range []string{"", unitSecret, unitOldSecret} {
			var s []byte
			if secret != "" {
				s = []byte(secret)
			}
			hash := strings.TrimPrefix(recordID(s, req.operation, req.scope, req.key), req.operation+"#")
			if other, ok := seen[hash]; ok {
				t.Errorf("%q and %q (secret %q) have one hash", req, other, secret)
			}
			seen[hash] = req
		}
	}
}

// Raw keys and scopes are neither in an id nor in what is sent to another system (I11).
func TestRecordID_ShowsTheOperationOnly(t *testing.T) {
	t.Parallel()
	for _, secret := range [][]byte{nil, []byte(unitSecret)} {
		id := recordID(secret, "create-payment", "tenant-1", "ann@example.com")
		if !regexp.MustCompile(`^create-payment#[0-9a-f]{64}$`).MatchString(id) {
			t.Errorf("id is %q", id)
		}
		if key := downstreamKey(id, "charge"); strings.Contains(key, "ann") || strings.Contains(key, "payment") {
			t.Errorf("downstream key is %q", key)
		}
	}
}

func TestRunnerIDs_OnePerSecretTheFirstWrites(t *testing.T) {
	t.Parallel()
	req := Request{Operation: "op", Scope: "s", Key: "k"}
	plain := unitRunner(t, Config{}).ids(&req)
	if len(plain) != 1 || plain[0] != recordID(nil, "op", "s", "k") {
		t.Errorf("without a secret: %q", plain)
	}
	// C55: while a secret is rotated both ids are asked for.
	rotating := unitRunner(t, Config{Secrets: [][]byte{[]byte(unitSecret), []byte(unitOldSecret)}}).ids(&req)
	if len(rotating) != 2 || rotating[0] != recordID([]byte(unitSecret), "op", "s", "k") ||
		rotating[1] != recordID([]byte(unitOldSecret), "op", "s", "k") || rotating[0] == plain[0] {
		t.Errorf("with two secrets: %q", rotating)
	}
}

// The handler's and the result's Go names are nowhere in the id: renaming them changes no key, and neither does
// another Runner or another process (C28). That a constant is among the golden vectors says the rest.
func TestRunnerIDs_DoNotDependOnGoNames(t *testing.T) {
	t.Parallel()
	type renamed struct{ Amount int }
	type before struct{ Amount int }
	one := unitRunner(t, Config{Table: "one"}).ids(&Request{Operation: "op", Scope: "s", Key: "k", Input: renamed{1}})
	two := unitRunner(t, Config{Table: "two"}).ids(&Request{Operation: "op", Scope: "s", Key: "k", Input: before{2}, Ref: "other"})
	if one[0] != two[0] {
		t.Errorf("%q and %q differ", one[0], two[0])
	}
}

func TestDownstreamKey_FitsEveryProvider(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, id := range []string{"op#1", "op#2", "op#12"} {
		for _, name := range []string{"", "2", "charge", "refund"} {
			key, uuid := downstreamKey(id, name), downstreamUUID(id, name)
			if !regexp.MustCompile(`^[a-z2-7]{32}$`).MatchString(key) {
				t.Errorf("key of %q, %q is %q", id, name, key)
			}
			if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(uuid) {
				t.Errorf("UUID of %q, %q is %q", id, name, uuid)
			}
			if keys[key] || keys[uuid] {
				t.Errorf("%q, %q: a key that another pair has", id, name)
			}
			keys[key], keys[uuid] = true, true
		}
	}
}

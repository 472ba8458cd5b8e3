package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

func TestGet_Golden(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the tables' names")
	f := newFixture(t)
	f.now = noon
	completed, unknown := f.completed(t, "1", "ch_1"), f.unknown(t, "2")
	failed := func() string {
		r := f.runner(t)
		_, _ = idempotency.Do(t.Context(), r, request("3"), func(context.Context) (string, error) {
			return "", idempotency.Terminal(errors.New("card declined"))
		})
		return idOf(t, r, "3")
	}()
	f.now = func() time.Time { return noon().Add(90 * time.Minute) }
	golden(t, "get-completed", f.run(t.Context(), t, "get", completed, "-outcome").out)
	golden(t, "get-unknown", f.run(t.Context(), t, "get", unknown, "-downstream", "charge").out)
	golden(t, "get-failed", f.run(t.Context(), t, "get", failed, "-json", "-outcome").out)

	// A third attempt took the unknown over, has done a step, and has been silent since.
	r := f.runner(t, func(c *idempotency.Config) { c.OnUnknown = idempotency.Rerun })
	_, _ = idempotency.Do(t.Context(), r, request("2"), func(ctx context.Context) (string, error) {
		_, err := idempotency.Step(ctx, "charge", returns("ch_2"))
		f.now = func() time.Time { return noon().Add(3 * time.Hour) }
		golden(t, "get-prior", f.run(ctx, t, "get", unknown).out)
		golden(t, "get-prior-json", f.run(ctx, t, "get", unknown, "-json").out)
		return "", err
	})
}

func TestGet_ByKeyAndByID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.completed(t, "1", "ch_1")
	byID := f.run(t.Context(), t, "get", id, "-json", "-outcome")
	byID.want(t, exitOK)
	doc := byID.document(t)
	if doc.ID != id || doc.Status != statusCompleted || doc.Ref != "order 1" || doc.Operation != "pay" || string(doc.Outcome) != `"ch_1"` || doc.Attempt != 1 {
		t.Errorf("document %+v", doc)
	}
	byKey := f.run(t.Context(), t, "get", "-operation", "pay", "-scope=customer 7", "--key", "1", "-json", "-outcome")
	if byKey != byID {
		t.Errorf("by key %+v, want %+v", byKey, byID)
	}
	if quiet := f.run(t.Context(), t, "get", id, "-json"); strings.Contains(quiet.out, "ch_1") || *quiet.document(t).OutcomeBytes != len(`"ch_1"`) {
		t.Errorf("the outcome is shown unasked: %s", quiet.out)
	}
	if quiet := f.run(t.Context(), t, "get", id); strings.Contains(quiet.out, "ch_1") {
		t.Errorf("the outcome is shown unasked: %s", quiet.out)
	}
}

// An outcome that only the function can read is told of; one that nobody can is an error.
func TestGet_OutcomeNotRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sealed := func(c *idempotency.Config) { c.Codec = padded(100) }
	for name, tt := range map[string]struct {
		config func(*idempotency.Config)
		ref    bool
		value  string
		shows  string
	}{
		"sealed":       {config: sealed, value: "ch_1", shows: "sealed: only the function's Config.Codec reads it"},
		"a reference":  {ref: true, value: "ch_1", shows: "a reference of 8 bytes, of which Request.Rebuild makes the answer"},
		"compressed":   {value: strings.Repeat("ch_1", 1000), shows: "4002 bytes, stored compressed"},
		"beside":       {config: func(c *idempotency.Config) { c.Inline = 1 }, value: "ch_1", shows: "6 bytes"},
		"not recorded": {value: strings.Repeat("x", 8<<20), shows: "done, but the answer was not stored"},
	} {
		options := []func(*idempotency.Config){}
		if tt.config != nil {
			options = append(options, tt.config)
		}
		r := f.runner(t, options...)
		req := request(name)
		req.Rebuild = func(context.Context, string) (any, error) { return nil, nil }
		if _, err := idempotency.Do(t.Context(), r, req, func(ctx context.Context) (string, error) {
			if tt.ref {
				return tt.value, idempotency.StoreRef(ctx, "s3://b/1")
			}
			return tt.value, nil
		}); err != nil {
			t.Fatal(err)
		}
		id := idOf(t, r, name)
		f.run(t.Context(), t, "get", id).want(t, exitOK, "COMPLETED", tt.shows)
		if name == "sealed" {
			f.run(t.Context(), t, "get", id, "-outcome").want(t, exitUnasked, "COMPLETED", tt.shows, "cannot be read", "Config.Codec")
			f.run(t.Context(), t, "resolve", id, "-as", "not-done", "-yes").want(t, exitRefused, "the record has an outcome")
		}
	}
	f.lose(t, "beside")
	f.run(t.Context(), t, "get", idOf(t, f.runner(t), "beside")).want(t, exitUnasked, "COMPLETED", "cannot be read", "the first is ")
}

// lose deletes the items beside a request's record.
func (f *fixture) lose(t *testing.T, key string) {
	t.Helper()
	id, client := idOf(t, f.runner(t), key), f.db.Client()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		if name := it["id"].(*types.AttributeValueMemberS).Value; strings.HasPrefix(name, id+"#") {
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: map[string]types.AttributeValue{"id": it["id"]}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestGet_NotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	res := f.run(t.Context(), t, "get", "pay#nothing")
	res.want(t, exitMissing)
	if want := "idemctl: there is no such record in the table " + f.table + " in us-east-1"; res.err != want+"\n" || res.out != "" {
		t.Errorf("said %q and %q, want %q", res.out, res.err, want)
	}
	f.run(t.Context(), t, "get", "-operation", "pay", "-scope", "*", "-key", "1").want(t, exitMissing)
}

func TestGet_Secrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := strings.Repeat("s", 16)
	r := f.runner(t, func(c *idempotency.Config) { c.Secrets = [][]byte{[]byte(secret)} })
	if _, err := idempotency.Do(t.Context(), r, request("1"), returns("ch_1")); err != nil {
		t.Fatal(err)
	}
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	get := func(flags ...string) result {
		return f.run(t.Context(), t, append([]string{"get", "-operation", "pay", "-scope", "customer 7", "-key", "1"}, flags...)...)
	}
	for name, text := range map[string]string{"as it is": secret, "with a newline": secret + "\n", "with CR LF": secret + "\r\n"} {
		if res := get("-secret-file", file(text)); res.code != exitOK {
			t.Errorf("%s: %+v", name, res)
		}
	}
	get("-secret-file", file(strings.Repeat("n", 16)), "-secret-file", file(secret)).want(t, exitOK, idOf(t, r, "1")) // while it is rotated
	get().want(t, exitMissing)
	get("-secret-file", file("short")).want(t, exitUsage, "Config.Secrets[0] is 5 bytes long: at least 16 bytes are needed")
	get("-secret-file", file(secret)+".not").want(t, exitUsage, "cannot be read")
}

func TestGet_OtherAttributes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	schema := idempotency.Schema{PartitionKey: "PK", SortKey: "SK", SortKeyValue: "once", Expiry: "ttl"}
	f.table = f.db.CreateTable(t, idempotency.Table("shared", schema))
	r := f.runner(t, func(c *idempotency.Config) { c.Schema = schema })
	if _, err := idempotency.Do(t.Context(), r, request("1"), endsUnknown); err == nil {
		t.Fatal("the handler has not failed")
	}
	id, flags := idOf(t, r, "1"), []string{"-pk", "PK", "-sk", "SK", "-sk-value", "once", "-expiry", "ttl"}
	f.run(t.Context(), t, append([]string{"get", id}, flags...)...).want(t, exitOK, "UNKNOWN")
	f.run(t.Context(), t, append([]string{"list"}, flags...)...).want(t, exitOK, id)
	f.run(t.Context(), t, append([]string{"resolve", id, "-as", "not-done", "-yes"}, flags...)...).want(t, exitOK, "RELEASED")
	f.run(t.Context(), t, "get", id).want(t, exitUnasked, "answers ValidationException")
}

package idempotency

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestTable_DefaultSchema(t *testing.T) {
	t.Parallel()
	in := Table("records", Schema{})
	if *in.TableName != "records" || in.BillingMode != "PAY_PER_REQUEST" {
		t.Errorf("got %+v", in)
	}
	if got := tableKeys(t, "records", Schema{}); got != "id HASH S" {
		t.Errorf("keys are %q", got)
	}
	if got := tableKeys(t, "records", Schema{PartitionKey: "PK", SortKey: "SK", Expiry: "ttl"}); got != "PK HASH S, SK RANGE S" {
		t.Errorf("keys are %q", got)
	}
}

// tableKeys lists the key attributes. CreateTable refuses a defined attribute that is no key, hence the count.
func tableKeys(t *testing.T, name string, s Schema) string {
	t.Helper()
	in := Table(name, s)
	if len(in.AttributeDefinitions) != len(in.KeySchema) {
		t.Errorf("%d attributes defined for %d keys", len(in.AttributeDefinitions), len(in.KeySchema))
	}
	var keys []string
	for i, k := range in.KeySchema {
		a := in.AttributeDefinitions[i]
		if *a.AttributeName != *k.AttributeName {
			t.Errorf("key %d is %s, but defined is %s", i, *k.AttributeName, *a.AttributeName)
		}
		keys = append(keys, *k.AttributeName+" "+string(k.KeyType)+" "+string(a.AttributeType))
	}
	return strings.Join(keys, ", ")
}

func TestSchema_Defaults(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ got, want Schema }{
		{Schema{}, Schema{PartitionKey: "id", Expiry: "expiration"}},
		{Schema{SortKey: "SK"}, Schema{PartitionKey: "id", SortKey: "SK", SortKeyValue: "idempotency", Expiry: "expiration"}},
		{
			Schema{PartitionKey: "PK", SortKey: "SK", SortKeyValue: "once", Expiry: "ttl"},
			Schema{PartitionKey: "PK", SortKey: "SK", SortKeyValue: "once", Expiry: "ttl"},
		},
	} {
		if got := row.got.withDefaults(); got != row.want {
			t.Errorf("%+v becomes %+v, want %+v", row.got, got, row.want)
		}
	}
}

func TestSchema_RefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 256)
	for _, row := range []struct {
		schema             Schema
		field, value, rule string
	}{
		{Schema{PartitionKey: "status"}, "Config.Schema.PartitionKey", `"status"`, "taken"},
		{Schema{SortKey: "data"}, "Config.Schema.SortKey", `"data"`, "taken"},
		{Schema{Expiry: "in_progress_expiration"}, "Config.Schema.Expiry", `"in_progress_expiration"`, "taken"},
		{Schema{PartitionKey: "kind"}, "Config.Schema.PartitionKey", `"kind"`, "taken"}, // of a body's items
		{Schema{PartitionKey: long}, "Config.Schema.PartitionKey", "256 bytes long", "255 bytes"},
		{Schema{SortKey: long}, "Config.Schema.SortKey", "256 bytes long", "255 bytes"},
		{Schema{Expiry: long}, "Config.Schema.Expiry", "256 bytes long", "255 bytes"},
		{Schema{SortKey: "id"}, "Config.Schema.SortKey", `"id"`, "two attributes"},
		{Schema{Expiry: "id"}, "Config.Schema.Expiry", `"id"`, "two attributes"},
		{Schema{SortKey: "expiration"}, "Config.Schema.Expiry", `"expiration"`, "two attributes"},
		{Schema{SortKeyValue: "once"}, "Config.Schema.SortKeyValue", `"once"`, "SortKey"},
		{Schema{SortKey: "SK", SortKeyValue: strings.Repeat("v", 1025)}, "Config.Schema.SortKeyValue", "1025 bytes long", "1024 bytes"},
	} {
		_, err := New(&unitClient{}, Config{Table: "records", Schema: row.schema})
		wantField(t, err, row.field, row.value, row.rule)
	}
	// Every attribute of the record is refused as a name of the schema's.
	for _, name := range attributes {
		for _, s := range []Schema{{PartitionKey: name}, {SortKey: name}, {Expiry: name}} {
			if s.withDefaults().validate() == nil {
				t.Errorf("%+v was accepted", s)
			}
		}
	}
	for _, s := range []Schema{
		{PartitionKey: long[:255], SortKey: "SK", SortKeyValue: strings.Repeat("v", 1024), Expiry: "ttl"},
		{PartitionKey: "pk", SortKey: "sk", Expiry: "pk2"},
	} {
		if err := s.withDefaults().validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// The expressions use the schema's names and declare what they use, no less and no more: DynamoDB refuses both.
func TestExpressions_DeclareWhatTheyUse(t *testing.T) {
	t.Parallel()
	e := newExpressions(Schema{PartitionKey: "PK", SortKey: "SK", Expiry: "ttl"}.withDefaults())
	all := map[string]expression{
		"acquire": e.acquire, "reacquire": e.reacquire, "takeOver": e.takeOver, "takeOverTx": e.takeOverTx, "release": e.release,
		"releasePrior": e.releasePrior, "step": e.step, "begin": e.begin,
	}
	if fields := reflect.TypeOf(e).NumField(); fields != len(all)+1 {
		t.Errorf("%d of %d expressions are looked at", len(all)+1, fields)
	}
	for shape, x := range e.outcome {
		all[fmt.Sprint("outcome, shape ", shape)] = x
	}
	for name, x := range all {
		text := x.condition + " " + x.update
		for placeholder, attribute := range x.names {
			if !strings.Contains(text, placeholder) {
				t.Errorf("%s declares %s without using it", name, placeholder)
			}
			switch placeholder {
			case "#pk":
				if attribute != "PK" {
					t.Errorf("%s: #pk is %s", name, attribute)
				}
			case "#expiry":
				if attribute != "ttl" {
					t.Errorf("%s: #expiry is %s", name, attribute)
				}
			case "#step": // named when a step is recorded
			default:
				if !slices.Contains(attributes, attribute) || placeholder != "#"+attribute {
					t.Errorf("%s: %s is %q, no attribute of the record", name, placeholder, attribute)
				}
			}
		}
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" (),=<+.", c) }) {
			if strings.HasPrefix(word, "#") && x.names[word] == "" {
				t.Errorf("%s uses %s without declaring it", name, word)
			}
		}
	}
}

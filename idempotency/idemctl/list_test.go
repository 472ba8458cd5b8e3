package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// sorted are the lines behind the first, since the order is the table's.
func sorted(out string) string {
	lines := strings.SplitAfter(out, "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "")
}

func TestList_Golden(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the tables' names")
	f := newFixture(t)
	f.now = noon
	f.unknown(t, "1")
	f.now = func() time.Time { return noon().Add(26 * time.Hour / 2) }
	f.unknown(t, "2")
	f.completed(t, "3", "ch_3")
	f.inHandler(t, "4", 10*time.Second, func(string) {
		golden(t, "list-unknown", sorted(f.run(t.Context(), t, "list").out))
		golden(t, "list-open", sorted(f.run(t.Context(), t, "list", "-status", "open").out))
	})
	res := f.run(t.Context(), t, "list", "-status", "in-progress", "-progress")
	res.want(t, exitOK)
	if res.out != "" || res.err != "idemctl: 4 records read, 0 shown, in 0s\nidemctl: none\n" {
		t.Errorf("nothing in progress: %+v", res)
	}
}

func TestList_Chooses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, young := f.unknown(t, "1"), f.unknown(t, "2")
	f.completed(t, "3", "ch_3")
	f.inHandler(t, "4", 0, func(live string) {
		f.inHandler(t, "5", time.Hour, func(over string) {
			all := []string{old, young, live, over}
			for name, tc := range map[string]struct {
				args []string
				want []string
			}{
				"unknown":         {nil, []string{old, young, over}},
				"in progress":     {[]string{"-status", "in-progress"}, []string{live}},
				"open":            {[]string{"-status", "open"}, all},
				"of an operation": {[]string{"-operation", "pay"}, []string{old, young, over}},
				"of another":      {[]string{"-operation", "pa"}, nil},
				"old":             {[]string{"-status", "open", "-older", "30m"}, []string{over}},
			} {
				res := f.run(t.Context(), t, append([]string{"list"}, tc.args...)...)
				res.want(t, exitOK)
				for _, id := range all {
					if strings.Contains(res.out, id) != slices.Contains(tc.want, id) {
						t.Errorf("%s: %s is listed wrongly in\n%s", name, id, res.out)
					}
				}
				if none := map[bool]string{true: "idemctl: none\n"}[len(tc.want) == 0]; res.err != none {
					t.Errorf("%s: stderr %q, want %q", name, res.err, none)
				}
			}
		})
	})
}

func TestList_JSONLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := []string{f.unknown(t, "1"), f.unknown(t, "2")}
	var got []string
	for line := range strings.Lines(f.run(t.Context(), t, "list", "-json").out) {
		var doc recordJSON
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if !doc.Unknown {
			t.Errorf("document %+v", doc)
		}
		got = append(got, doc.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ids %q, want %q", got, want)
	}
}

// A record that cannot be understood is a line of its own, and the others follow.
func TestList_DamagedRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.unknown(t, "1")
	damaged := map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "pay#damaged"}, "status": &types.AttributeValueMemberS{Value: "UNKNOWN"},
		"schema": &types.AttributeValueMemberN{Value: "2"}, "expiration": &types.AttributeValueMemberN{Value: "99999999999"},
	}
	if _, err := f.db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: damaged}); err != nil {
		t.Fatal(err)
	}
	res := f.run(t.Context(), t, "list")
	res.want(t, exitUnasked, good)
	if strings.Count(res.err, "\n") != 1 || !strings.Contains(res.firstLine(), "pay#damaged") || !strings.Contains(res.firstLine(), "attribute schema is 2") {
		t.Errorf("stderr %q, want one line about the record", res.err)
	}
	f.run(t.Context(), t, "get", "pay#damaged").want(t, exitUnasked, "cannot be understood", "attribute schema is 2")
	f.run(t.Context(), t, "resolve", "pay#damaged", "-as", "not-done", "-yes").want(t, exitUnasked, "cannot be understood")
}

func TestList_PartOfTheTableUnread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.Inject(localtest.Fault{Operation: "Scan", Kind: localtest.AccessDenied})
	res := f.run(t.Context(), t, "list")
	res.want(t, exitUnasked)
	if want := "idemctl: not allowed: the caller needs dynamodb:Scan on the table " + f.table + " in us-east-1"; res.firstLine() != want {
		t.Errorf("first line %q, want %q", res.firstLine(), want)
	}
}

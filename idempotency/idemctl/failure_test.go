package main

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/localtest"
)

// The first line says what to do, and the service's own words come after it.
func TestFailure_FirstLine(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"AccessDeniedException":       "not allowed: the caller needs dynamodb:GetItem on the table ",
		"ResourceNotFoundException":   "there is no table ",
		"ExpiredTokenException":       "the credentials are not accepted: log in again",
		"UnrecognizedClientException": "the credentials are not accepted: log in again",
		"ValidationException":         "the table records-1 in us-east-1 answers ValidationException",
		"UnknownOperationException":   "the endpoint does not know dynamodb:GetItem",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			localtest.OnlyEmbedded(t, "the tables' names")
			f := newFixture(t)
			f.standIn(t, standIn{"GetItem": fails(code)})
			res := f.run(t.Context(), t, "get", "pay#1")
			res.want(t, exitUnasked, "  cause: ", "as the service says it")
			if !strings.HasPrefix(res.firstLine(), "idemctl: "+want) || strings.Count(res.err, "\n") != 2 || res.out != "" {
				t.Errorf("stdout %q, stderr %q, want a first line with %q", res.out, res.err, want)
			}
		})
	}
}

func TestFailure_Throttled(t *testing.T) {
	f := newFixture(t)
	f.standIn(t, standIn{"DescribeTable": fails("ThrottlingException"), "DescribeTimeToLive": answers(`{}`), "DescribeContinuousBackups": answers(`{}`)})
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	f.run(t.Context(), t, "check").want(t, exitRefused, "not checked", "is throttled: try again later")
}

func TestFailure_TimeUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: localtest.Hang, Times: -1})
	f.run(t.Context(), t, "get", "pay#1", "-timeout", "100ms").want(t, exitUnasked, "idemctl: no answer within 100ms of the table "+f.table)
	f.db.Inject(localtest.Fault{Operation: "Scan", Kind: localtest.Hang, Times: -1})
	f.run(t.Context(), t, "list", "-timeout", "100ms").want(t, exitUnasked, "idemctl: no answer within 100ms of the table "+f.table)
}

func TestFailure_NoHost(t *testing.T) {
	t.Parallel()
	err := &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "GetItem", Err: &net.DNSError{Name: "dynamodb.us-esat-1.amazonaws.com", IsNotFound: true}}
	got := advice(t.Context(), place{"table", "records", "us-esat-1"}, err)
	if want := "there is no host dynamodb.us-esat-1.amazonaws.com: check the region us-esat-1 and -endpoint-url"; got != want {
		t.Errorf("advice %q, want %q", got, want)
	}
}

// What each command needs is what its help, and the package comment, say.
func TestRights(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "a table that would be left there")
	f := newFixture(t)
	id := f.unknown(t, "1")
	for _, tc := range []struct {
		args   []string
		rights []string
	}{
		{[]string{"get", id}, []string{"dynamodb:GetItem"}},
		{[]string{"list"}, []string{"dynamodb:Scan"}},
		{[]string{"resolve", id, "-as", "not-done", "-yes"}, []string{"dynamodb:GetItem", "dynamodb:UpdateItem"}},
		{[]string{"check"}, []string{"dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"}}, // and what the database does not know
		{[]string{"create-table"}, []string{"dynamodb:CreateTable", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:UpdateTimeToLive"}},
	} {
		if tc.args[0] == "create-table" {
			f.table = "fresh"
		}
		f.db.ResetCalls()
		f.run(t.Context(), t, tc.args...)
		var got []string
		for _, c := range f.db.Calls("") {
			got = append(got, c.Actions...)
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tc.rights) {
			t.Errorf("%s needs %q, want %q", tc.args[0], got, tc.rights)
		}
		help := f.bare(t.Context(), "help", tc.args[0]).out
		for _, right := range tc.rights {
			if !strings.Contains(help, strings.TrimPrefix(right, "dynamodb:")) {
				t.Errorf("idemctl help %s does not name %s", tc.args[0], right)
			}
		}
	}
}

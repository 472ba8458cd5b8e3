package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// freshTable is the fixture with the name of a table that is not there.
func freshTable(t *testing.T) *fixture {
	t.Helper()
	localtest.OnlyEmbedded(t, "a table that would be left there")
	f := newFixture(t)
	f.table = "fresh"
	return f
}

func TestCreateTable(t *testing.T) {
	t.Parallel()
	f := freshTable(t)
	f.run(t.Context(), t, "create-table").want(t, exitOK, "table fresh in us-east-1: created\n", "time to live on expiration: turned on\n")
	before := len(f.db.Calls("CreateTable"))
	f.run(t.Context(), t, "create-table").want(t, exitOK, "is there already", "is on already")
	if n := len(f.db.Calls("CreateTable")) - before; n != 0 || len(f.db.Calls("UpdateTimeToLive")) != 1 {
		t.Errorf("the second time made %d calls of CreateTable", n)
	}
	id := f.unknown(t, "1") // it serves
	f.run(t.Context(), t, "get", id).want(t, exitOK)
	f.standIn(t, standIn{"DescribeContinuousBackups": answers(recoveryOn)})
	f.run(t.Context(), t, "check").want(t, exitOK, "0 errors, 0 not checked")
}

func TestCreateTable_JSONAndOtherAttributes(t *testing.T) {
	t.Parallel()
	f := freshTable(t)
	res := f.run(t.Context(), t, "create-table", "-json", "-pk", "PK", "-sk", "SK", "-expiry", "ttl")
	res.want(t, exitOK)
	var doc created
	if err := json.Unmarshal([]byte(res.out), &doc); err != nil || doc != (created{"fresh", "us-east-1", true, "ttl", true}) {
		t.Errorf("document %+v, %v", doc, err)
	}
	f.run(t.Context(), t, "create-table").want(t, exitRefused, "has another key: PK (S), then SK (S), must be id (S)")
	f.run(t.Context(), t, "create-table", "-pk", "PK", "-sk", "SK").want(t, exitRefused, "time to live of the table fresh in us-east-1 is on ttl, must be on expiration")
}

// A reply that is lost makes the SDK ask again, and meet its own table, or its own time to live.
func TestCreateTable_RepliesLost(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"CreateTable", "UpdateTimeToLive", "DescribeTable", "DescribeTimeToLive"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			f := freshTable(t)
			f.db.Inject(localtest.Fault{Operation: operation, Kind: localtest.ReplyLost})
			f.run(t.Context(), t, "create-table").want(t, exitOK, "created", "turned on")
			out, err := f.db.Client().DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &f.table})
			if err != nil || out.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled {
				t.Errorf("time to live is %+v, %v", out, err)
			}
		})
	}
}

// Somebody else makes the table at the same moment.
func TestCreateTable_MeetsAnother(t *testing.T) {
	t.Parallel()
	f := freshTable(t)
	f.db.Inject(localtest.Fault{Operation: "CreateTable", Before: func() {
		if _, err := f.db.Client().CreateTable(t.Context(), idempotency.Table("fresh", idempotency.Schema{PartitionKey: "pk"})); err != nil {
			t.Error(err)
		}
	}})
	f.run(t.Context(), t, "create-table").want(t, exitRefused, "has another key")
}

// A real table takes its time, and a description may not know it yet.
func TestCreateTable_Waits(t *testing.T) {
	t.Parallel()
	f := freshTable(t)
	var looks atomic.Int32
	f.standIn(t, standIn{"DescribeTable": func(string) (int, string) {
		switch looks.Add(1) {
		case 1, 2:
			return fails("ResourceNotFoundException")("")
		case 3:
			return http.StatusOK, goodTable("ACTIVE", "CREATING")
		}
		return http.StatusOK, goodTable()
	}})
	f.run(t.Context(), t, "create-table").want(t, exitOK, "created", "turned on")
	if n := looks.Load(); n != 4 {
		t.Errorf("%d looks, want 4", n)
	}
}

func TestCreateTable_NeverActive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.standIn(t, standIn{"DescribeTable": answers(goodTable("ACTIVE", "CREATING"))})
	f.run(t.Context(), t, "create-table", "-timeout", "100ms").want(t, exitUnasked, "no answer within 100ms", "longer -timeout")
	f.standIn(t, standIn{"DescribeTable": answers(goodTable("ACTIVE", "DELETING"))})
	f.run(t.Context(), t, "create-table").want(t, exitRefused, "is DELETING, must be ACTIVE")
	f.standIn(t, standIn{"DescribeTable": answers(goodTable()), "DescribeTimeToLive": answers(strings.Replace(timeToLive, "STATUS", "DISABLING", 1))})
	f.run(t.Context(), t, "create-table").want(t, exitRefused, "is being turned off")
}

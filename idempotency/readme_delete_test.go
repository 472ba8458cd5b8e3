package idempotency_test

import (
	"errors"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// deleteCondition is the condition of the README's command for a person who has found out that an attempt did nothing.
func deleteCondition(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)aws dynamodb delete-item .*?--condition-expression '([^']+)'`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the README has no delete command with a condition")
	}
	return string(found[1])
}

// removeSeen runs the README's delete command and says whether its condition held.
func (f *fixture) removeSeen(t *testing.T, req idempotency.Request, token string) bool {
	t.Helper()
	_, err := f.plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &f.table, Key: key(req),
		ConditionExpression:      aws.String(deleteCondition(t)),
		ExpressionAttributeNames: map[string]string{"#s": "status"},
		ExpressionAttributeValues: item{
			":seen": text(token), ":unknown": text("UNKNOWN"), ":inprogress": text("INPROGRESS"),
			":now": number(time.Now().Unix() * 1000), // as the shell has it
		},
	})
	if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); failed {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// Rule 1, I4: a person may delete a record that nobody owns any more, if it is still the one that was looked at: an
// unknown at once, one in progress after its lease, an outcome never.
func TestReadme_DeleteCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state   string
		deleted bool
	}{
		{"unknown", true}, {"crashed", true}, {"in progress", false}, {"completed", false}, {"failed", false}, {"released", false},
	} {
		for _, who := range []string{"seen", "somebody else's"} {
			t.Run(tt.state+"/"+who, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					f.make(t, tt.state, req)
					before := f.record(t, req)
					token := before.text("attempt")
					if who != "seen" {
						token += "x"
					}
					deleted := f.removeSeen(t, req, token)
					if want := tt.deleted && who == "seen"; deleted != want {
						t.Errorf("deleted %t, want %t", deleted, want)
					}
					f.quiet()
					if !deleted {
						f.wantUntouched(t, req, before)
						return
					}
					res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("again"))
					wantAnswer(t, res, err, "again", false)
				})
			})
		}
	}
}

// The same command while the lease runs, and a moment after it.
func TestReadme_DeleteCommandWaitsForTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		f.worker(t).crash(localtest.Invocation(t, time.Second), req)
		it := f.record(t, req)
		end := time.UnixMilli(it.number("in_progress_expiration"))
		pass(time.Until(end) - time.Second)
		if f.removeSeen(t, req, it.text("attempt")) {
			t.Error("deleted under a lease that had not ended")
		}
		pass(2 * time.Second)
		if !f.removeSeen(t, req, it.text("attempt")) {
			t.Error("not deleted after the lease")
		}
	})
}

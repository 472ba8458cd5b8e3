package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// token is a ClientRequestToken that no other run has used: a service keeps it for ten minutes.
func token(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("t-%d", time.Now().UnixNano())
}

func (f fixture) transactAs(token string, actions ...types.TransactWriteItem) error {
	_, err := f.client.TransactWriteItems(f.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token})
	return err
}

// A transaction that is sent again under its token has been carried out already.
func TestToken_Repeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := token(t)
	for range 3 {
		wantCode(t, f.transactAs(token, f.addAction("k")), "")
	}
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": 1})
	wantCode(t, f.transactAs(token+"-", f.addAction("k")), "")
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": 2})
}

// Its condition is not asked again, which its own write has made false.
func TestToken_RepeatedCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := token(t)
	create := f.putAction(item{"id": "k"}, expressions{condition: "attribute_not_exists(id)"})
	for range 2 {
		wantCode(t, f.transactAs(token, create), "")
	}
	f.wantStored(item{"id": "k"}, item{"id": "k"})
}

func TestToken_OtherRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := token(t)
	wantCode(t, f.transactAs(token, f.addAction("k")), "")
	for name, actions := range map[string][]types.TransactWriteItem{
		"other-item":   {f.addAction("other")},
		"other-value":  {f.updateAction(item{"id": "k"}, expressions{update: "ADD n :one", values: item{":one": 2}})},
		"more-actions": {f.addAction("k"), f.addAction("other")},
	} {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			wantCode(t, f.transactAs(token, actions...), "IdempotentParameterMismatchException")
			f.wantStored(item{"id": "other"}, nil)
		})
	}
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": 1})
}

// A transaction that was cancelled has left nothing behind: its token does not answer for it.
func TestToken_Cancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := token(t)
	update := f.updateAction(item{"id": "k"}, expressions{update: "ADD n :one", condition: "attribute_exists(id)", values: item{":one": 1}})
	wantReasons(t, f.transactAs(token, update), failedReason)
	f.put(item{"id": "k"})
	wantCode(t, f.transactAs(token, update), "")
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": 1})
}

func TestToken_Length(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	longest := token(t) + strings.Repeat("-", 36)
	wantCode(t, f.transactAs("", f.addAction("k")), invalid)
	wantCode(t, f.transactAs(longest[:37], f.addAction("k")), invalid)
	f.wantStored(item{"id": "k"}, nil)
	wantCode(t, f.transactAs(longest[:36], f.addAction("k")), "")
}

// A token is good for ten minutes.
func TestToken_TenMinutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	localtest.OnlyEmbedded(t, "the clock")
	clock := time.Now()
	f.db.SetClock(func() time.Time { return clock })
	for _, row := range []struct {
		passed time.Duration
		n      int
	}{{0, 1}, {10*time.Minute - 1, 1}, {1, 2}} {
		clock = clock.Add(row.passed)
		wantCode(t, f.transactAs("token", f.addAction("k")), "")
		f.wantStored(item{"id": "k"}, item{"id": "k", "n": row.n})
	}
}

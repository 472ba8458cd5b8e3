package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// still is a console of which nothing runs but the tables.
func still(t *testing.T) *console {
	t.Helper()
	w := &world{db: localtest.Start(t), cards: &cardprocessor.Server{}, url: "http://127.0.0.1:1"} // where nobody is
	w.table = w.db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{}))
	w.ledger = w.db.CreateTable(t, idempotency.Table("ledger", idempotency.Schema{}))
	w.door.CallerHeader = "Authorization"
	return &console{w: w, keys: 1}
}

func TestConsole_IsBounded(t *testing.T) {
	t.Parallel()
	c := still(t)
	get := func(n int) {
		for i := range n {
			key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}}
			if _, err := c.w.db.Client().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &c.w.table, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	get(longCalls)
	if shown := len(c.calls()); shown != keptCalls || len(c.w.db.Calls("")) != longCalls {
		t.Errorf("%d calls are shown of %d that are kept, want %d of all", shown, len(c.w.db.Calls("")), keptCalls)
	}
	get(1)
	if shown := len(c.calls()); shown != keptCalls || len(c.w.db.Calls("")) != 0 {
		t.Errorf("%d calls are shown and %d kept, want %d and a list that begins anew", shown, len(c.w.db.Calls("")), keptCalls)
	}
	get(1)
	if shown := len(c.calls()); shown != keptCalls {
		t.Errorf("%d calls are shown, want the earlier ones, too", shown)
	}
	for i := range 3 * keptRows {
		c.watch(localtest.Call{Operation: "PutItem", Table: c.w.table, Key: fmt.Sprint(i)})
		c.note(exchange{})
	}
	c.watch(localtest.Call{Operation: "PutItem", Table: c.w.table, Key: fmt.Sprint(3*keptRows - 2)}) // again: it is the latest
	if n := len(c.records); n != keptRows || c.records[n-1] != fmt.Sprint(3*keptRows-2) || c.records[n-2] != fmt.Sprint(3*keptRows-1) {
		t.Errorf("the records are %v", c.records)
	}
	if n := len(c.exchanges); n != keptDeeds || c.exchanges[n-1].Number != 3*keptRows {
		t.Errorf("%d exchanges, the last one is %+v", n, c.exchanges[n-1])
	}
	long := answer{status: http.StatusOK, body: strings.Repeat("x", 2*keptBody)}
	if g := grouped(long, long, answer{status: http.StatusConflict}); len(g) != 2 || g[0].Times != 1 || g[1].Times != 2 || len(g[1].Body) != keptBody {
		t.Errorf("grouped into %+v", g)
	}
}

// What fails is told, and trouble that has not struck does not wait for the next payment.
func TestConsole_SaysWhatFails(t *testing.T) {
	t.Parallel()
	c := still(t)
	act := func(ctx context.Context, action string) (int, string) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/console/"+action, nil)
		r.SetPathValue("action", action)
		w := httptest.NewRecorder()
		c.act(w, r)
		return w.Code, w.Body.String()
	}
	for _, action := range []string{"kill", "lose-acquire", "lose-commit"} {
		if status, body := act(t.Context(), action); status != http.StatusConflict || !strings.Contains(body, "nothing went wrong") || c.trouble != "" {
			t.Errorf("%s: %d %s, and %q is to come", action, status, body, c.trouble)
		}
	}
	if status, body := act(t.Context(), "pay"); status != http.StatusOK || !strings.Contains(body, "no answer: ") {
		t.Errorf("pay: %d %s, want that there was no answer", status, body)
	}
	c.acting.Lock()
	if status, body := act(t.Context(), "pay"); status != http.StatusConflict || !strings.Contains(body, "still running") {
		t.Errorf("beside another action: %d %s", status, body)
	}
	c.acting.Unlock()
	c.w.table, c.records = "gone", recent{"x"}
	w := httptest.NewRecorder()
	c.showState(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/state", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "read the records: ") {
		t.Errorf("without a table: %d %s", w.Code, w.Body)
	}
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// state is what the page shows; every list is the newest first.
type state struct {
	Key       string                 `json:"key"`
	Used      bool                   `json:"used"`
	Exchanges []exchange             `json:"exchanges"`
	Records   []recordRow            `json:"records"`
	Charged   int                    `json:"charged"` // all charges there ever were; Charges are the latest
	Charges   []cardprocessor.Charge `json:"charges"`
	Booked    int                    `json:"booked"` // all payments in the ledger; Ledger are the latest
	Ledger    []ledgerRow            `json:"ledger"`
	Calls     []callRow              `json:"calls"`
}

// recordRow is a key's record. It has the key's hash, and nothing else to tell the key by.
type recordRow struct {
	ID        string    `dynamodbav:"id" json:"id"`
	Ref       string    `dynamodbav:"ref" json:"ref"`
	Status    string    `dynamodbav:"status" json:"status"`
	Attempt   int64     `dynamodbav:"attempt_no" json:"attempt"`
	LeaseEnd  int64     `dynamodbav:"in_progress_expiration" json:"-"` // ms
	Expires   int64     `dynamodbav:"expiration" json:"-"`             // s
	LeaseLeft *float64  `dynamodbav:"-" json:"leaseLeft"`              // s, negative when it is over; null: nobody has one
	WindowEnd time.Time `dynamodbav:"-" json:"windowEnd"`
}

// ledgerRow is a payment.
type ledgerRow struct {
	Charge   string `dynamodbav:"charge" json:"charge"`
	Order    string `dynamodbav:"order" json:"order"`
	Amount   int64  `dynamodbav:"amount" json:"amount"`
	Currency string `dynamodbav:"currency" json:"currency"`
	Attempt  int64  `dynamodbav:"attempt" json:"attempt"`
}

type callRow struct {
	Operation string  `json:"operation"`
	Table     string  `json:"table"` // its role
	Applied   bool    `json:"applied"`
	Err       string  `json:"err"`
	Read      float64 `json:"read"`
	Write     float64 `json:"write"`
}

const (
	keptRows  = 16
	keptCalls = 50
	longCalls = 1000 // when the database's list begins anew
)

// recent are the latest ids, each once, the newest last.
type recent []string

func (r *recent) note(id string) {
	*r = last(append(slices.DeleteFunc(*r, func(known string) bool { return known == id }), id), keptRows)
}

func last[T any](list []T, n int) []T { return slices.Clone(list[max(0, len(list)-n):]) }

func newestFirst[T any](list []T) []T {
	list = append([]T{}, list...) // never null
	slices.Reverse(list)
	return list
}

// watch is told of every call before it is served: it learns which records there are, and says whether the reply gets lost.
func (c *console) watch(call localtest.Call) (lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Table == c.w.table && call.Operation == "PutItem" {
		c.records.note(call.Key)
	}
	return c.w.own(call) && c.strikes(call.Operation)
}

func (c *console) showState(w http.ResponseWriter, r *http.Request) {
	s, err := c.state(r.Context())
	if err != nil {
		reply(w, http.StatusServiceUnavailable, problem{err.Error()})
		return
	}
	reply(w, http.StatusOK, s)
}

func (c *console) state(ctx context.Context) (state, error) {
	c.mu.Lock()
	s := state{Key: c.key(), Used: c.used, Exchanges: newestFirst(c.exchanges), Charges: newestFirst(c.charges)}
	records := newestFirst(c.records)
	c.mu.Unlock()
	s.Charged, s.Calls = c.w.cards.Charges(), c.calls()
	var err error
	if s.Records, err = c.readRecords(ctx, records, time.Now()); err != nil {
		return s, err
	}
	s.Booked, s.Ledger, err = c.readLedger(ctx)
	return s, err
}

// readRecords asks in a way of which the function makes no use, so that it is told from the function's calls.
func (c *console) readRecords(ctx context.Context, ids []string, now time.Time) ([]recordRow, error) {
	if len(ids) == 0 {
		return []recordRow{}, nil
	}
	var keys []map[string]types.AttributeValue
	for _, id := range ids {
		keys = append(keys, map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}})
	}
	out, err := c.w.db.Client().BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{c.w.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
	})
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	rows := []recordRow{}
	if err := attributevalue.UnmarshalListOfMaps(out.Responses[c.w.table], &rows); err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	for i := range rows {
		r := &rows[i]
		if r.Status == "INPROGRESS" {
			r.LeaseLeft = aws.Float64(time.UnixMilli(r.LeaseEnd).Sub(now).Seconds())
		}
		r.WindowEnd = time.Unix(r.Expires, 0).UTC()
	}
	slices.SortFunc(rows, func(a, b recordRow) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return rows, nil
}

// readLedger reads the whole table: it holds as much as the spending limits let in.
func (c *console) readLedger(ctx context.Context) (booked int, latest []ledgerRow, err error) {
	out, err := c.w.db.Client().Scan(ctx, &dynamodb.ScanInput{
		TableName: &c.w.ledger, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("begins_with(id, :payment)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":payment": &types.AttributeValueMemberS{Value: "payment#"}},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("read the ledger: %w", err)
	}
	var rows []ledgerRow
	if err := attributevalue.UnmarshalListOfMaps(out.Items, &rows); err != nil {
		return 0, nil, fmt.Errorf("read the ledger: %w", err)
	}
	slices.SortFunc(rows, func(a, b ledgerRow) int { // "ch_9" before "ch_10"
		return cmp.Or(cmp.Compare(len(a.Charge), len(b.Charge)), cmp.Compare(a.Charge, b.Charge))
	})
	return len(rows), newestFirst(last(rows, keptRows)), nil
}

// calls are the latest that are not the console's own.
func (c *console) calls() []callRow {
	c.reading.Lock()
	defer c.reading.Unlock()
	list := c.w.db.Calls("")
	pending := slices.ContainsFunc(list, func(call localtest.Call) bool { return !call.Applied && call.Err == "" })
	shown := last(slices.Concat(c.earlier, slices.DeleteFunc(list, c.mine)), keptCalls)
	if len(list) > longCalls && !pending {
		c.earlier = shown
		c.w.db.ResetCalls() // a call that comes in between is not shown
	}
	rows := []callRow{}
	role := strings.NewReplacer(c.w.table, "records", c.w.ledger, "ledger")
	for _, call := range shown {
		rows = append(rows, callRow{call.Operation, role.Replace(call.Table), call.Applied, call.Err, call.ReadUnits, call.WriteUnits})
	}
	return newestFirst(rows)
}

func (c *console) mine(call localtest.Call) bool {
	return call.Operation == "BatchGetItem" || call.Operation == "Scan" && call.Table == c.w.ledger
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
)

// ledger is the table of what was charged. A payment has three rows: the customer's running total in a currency, the payment,
// and an outbox entry, from which the table's stream publishes it. They are written together or not at all. The fourth kind,
// a commission, is the outbox's consumer's.
//
// A booking has no business condition: the card is charged by then, and what refused the booking would leave a charge
// without a row. So the limit is asked for before the charge, and payments of one customer that run at the same moment can
// pass it together. Who cannot have that reserves first: another transaction, before the charge, takes the amount off the
// limit, and somebody has to give it back whenever the charge does not come about.
type ledger struct {
	client *dynamodb.Client
	table  string
}

// spendingLimit is what a customer may spend in a currency, in minor units.
const spendingLimit = 1_000_000

// OverLimit is the ledger's no, before anything is charged. Its type's name is the errorType that callers of the function
// see.
//
//nolint:errname // named for the callers
type OverLimit struct{ Limit int64 }

func (e *OverLimit) Error() string { return fmt.Sprintf("spending limit of %d reached", e.Limit) }

// errBooked ends an attempt whose payment somebody else has booked: the reconciler, while this one was late. There is one
// charge and one row, and whoever looks next finds both.
var errBooked = errors.New("payments: this payment is in the ledger already")

// entry is the row of a payment. Its id has the key by which the card processor knows the charge.
type entry struct {
	ID       string `dynamodbav:"id"`
	Customer string `dynamodbav:"customer"`
	Charge   string `dynamodbav:"charge"`
	Order    string `dynamodbav:"order"`
	Amount   int64  `dynamodbav:"amount"`
	Currency string `dynamodbav:"currency"`
	Attempt  int64  `dynamodbav:"attempt"`
}

func (e entry) receipt() Receipt { return Receipt{e.Charge, e.Order, e.Amount, e.Currency, e.Attempt} }

// rowKey is the key of any row; total and outbox are the other two rows of a payment.
type rowKey struct {
	ID string `dynamodbav:"id"`
}

type total struct {
	Spent int64 `dynamodbav:"spent"`
}

type outbox struct {
	ID    string `dynamodbav:"id"`
	Event string `dynamodbav:"event"`
	Entry entry  `dynamodbav:"entry"`
}

// paymentMade is the one event that there is in the outbox so far.
const paymentMade = "payment_made"

func paymentID(key string) string              { return "payment#" + key }
func outboxID(e entry) string                  { return "outbox#" + e.ID }
func totalID(customer, currency string) string { return "total#" + currency + "#" + customer }

// book stages the rows of a payment.
func (l ledger) book(tx *idempotency.Tx, e entry) {
	tx.Put(l.table, e).If("attribute_not_exists(id)").Else(idempotency.Unknown(errBooked))
	tx.Update(l.table, rowKey{totalID(e.Customer, e.Currency)}, "ADD spent :amount").Value(":amount", e.Amount)
	tx.Put(l.table, outbox{outboxID(e), paymentMade, e})
}

// bookNow books outside of a handler, in a transaction of its own.
func (l ledger) bookNow(ctx context.Context, e entry) error {
	var tx idempotency.Tx
	l.book(&tx, e)
	actions, err := tx.Actions()
	if err != nil {
		return err
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	return err
}

// booked returns the payment with the processor's key, if it is in the ledger.
func (l ledger) booked(ctx context.Context, key string) (e entry, ok bool, err error) {
	ok, err = l.get(ctx, paymentID(key), &e)
	return e, ok, err
}

// allow says no, with an error and what it means, if the customer may not spend this, too.
func (l ledger) allow(ctx context.Context, p Payment) error {
	var t total
	if _, err := l.get(ctx, totalID(p.Customer, p.Currency), &t); err != nil {
		return idempotency.Safe(err)
	}
	if p.Amount > spendingLimit-t.Spent {
		return idempotency.Terminal(&OverLimit{spendingLimit})
	}
	return nil
}

func (l ledger) get(ctx context.Context, rowID string, row any) (ok bool, err error) {
	key, err := attributevalue.MarshalMap(rowKey{rowID})
	if err != nil {
		return false, err
	}
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return len(out.Item) > 0, attributevalue.UnmarshalMap(out.Item, row)
}

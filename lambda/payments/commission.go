package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// commissions is the worker behind the queue: for each payment that the outbox publishes, the platform charges the shop. The
// table's stream publishes a row at least once, and the queue delivers it at least once; the row's id makes them one charge.
type commissions struct {
	payments
	card string // the shop's
}

// commission is its row in the ledger, one for each payment.
type commission struct {
	ID       string `dynamodbav:"id"`
	Charge   string `dynamodbav:"charge"`
	Amount   int64  `dynamodbav:"amount"`
	Currency string `dynamodbav:"currency"`
}

func commissionID(e entry) string { return "commission#" + e.ID }

// commissionOn is 1 % of an amount, and no less than one minor unit.
func commissionOn(amount int64) int64 { return max(1, amount/100) }

// queueMemory is for how long a message can come back after an attempt at it: from up to 14 days in the dead-letter queue into
// the queue, which keeps it for 4 more. Without its record it would run as a new one. Of a charge that is booked the ledger
// would know all the same; of one whose attempt ended without telling nobody would, since the processor has forgotten its key.
const queueMemory = (4 + 14) * 24 * time.Hour

// forCommissions makes the payments' settings the worker's. Rerun is right: each attempt asks for the charge of those before it.
func forCommissions(cfg idempotency.Config) idempotency.Config {
	cfg.OnUnknown, cfg.Retention, cfg.UnknownRetention = idempotency.Rerun, queueMemory, queueMemory
	return cfg
}

// behindQueue reports what has failed, and it comes back, up to the dead-letter queue: what cannot be read as well, and a card
// that is declined. That one is an outcome, and is declined each time; but dropped, the commission would be lost, and among the
// dead letters somebody sees to it.
func (c commissions) behindQueue(r *idempotency.Runner) lambda.Handler[events.SQSEvent, events.SQSEventResponse] {
	keep := func(ctx context.Context, id string, err error) (drop bool) {
		slog.ErrorContext(ctx, "payments: no commission", "message", id, "error", err)
		return false
	}
	return lambda.SQSBody(r, lambda.Batch{Operation: "charge-commission", Terminal: keep}, c.request, c.take)
}

// request knows a row by its id, by whichever queue it comes and in whichever table it is after a restore: the message id, and
// what the stream says about the row, are others when it is published again.
func (c commissions) request(_ context.Context, _ events.SQSMessage, p published) (idempotency.Request, error) {
	return idempotency.Request{Scope: "shop", Key: p.ID, Input: p.outbox, Ref: "order " + p.Entry.Order}, nil
}

// take charges the commission, and books it with the message's outcome, as pay does with a payment.
func (c commissions) take(ctx context.Context, p published) error {
	e := p.Entry
	booked, err := c.ledger.get(ctx, commissionID(e), &commission{})
	if err != nil {
		return idempotency.Safe(err) // nothing but a read
	}
	if booked { // before the record's window ended, or by a late attempt
		return nil
	}
	attempt := idempotency.AttemptFrom(ctx)
	key := attempt.DownstreamKey(theCharge)
	want := chargeRequest{c.card, commissionOn(e.Amount), e.Currency, "commission on " + e.Charge, "shop"}
	id, err := idempotency.StepOrFind(ctx, theCharge,
		func(ctx context.Context) (string, bool, error) {
			made, ok, err := c.chargeSince(ctx, key, firstStart(attempt.Prior, time.Now()))
			made.Card = want.Card // the shop may have had another one then
			if ok && made.chargeRequest != want {
				err = fmt.Errorf("the charge %s of this key is for something else: somebody has to look", made.ID)
			}
			return made.ID, ok, idempotency.Unknown(err)
		},
		func(ctx context.Context) (string, error) {
			return c.chargeNow(ctx, key, want)
		})
	if err != nil {
		return err
	}
	idempotency.TxFrom(ctx).Put(c.ledger.table, commission{commissionID(e), id, want.Amount, want.Currency}).
		If("attribute_not_exists(id)").Else(idempotency.Unknown(errBooked))
	return nil
}

// published is a row of the outbox. Its JSON is the record of its insert that the table's stream has.
type published struct{ outbox }

// UnmarshalJSON reads no more of the record than it needs. Not an events.DynamoDBEventRecord: the methods of its values panic
// on a type that they do not expect, its decoder on a binary set that is none, and a panic fails the whole batch.
func (p *published) UnmarshalJSON(text []byte) error {
	var record insert
	if err := json.Unmarshal(text, &record); err != nil {
		return err
	}
	if err := attributevalue.UnmarshalMap(values(record.Change.NewImage), &p.outbox); err != nil {
		return err
	}
	e := p.Entry
	if p.ID != outboxID(e) || p.Event != paymentMade || e.ID == "" || e.Charge == "" || e.Amount <= 0 || !currency.MatchString(e.Currency) {
		return fmt.Errorf("no row of the outbox for a payment that was made: id %.100q, event %.100q", p.ID, p.Event)
	}
	return nil
}

// insert is a record of the stream, as far as it counts.
type insert struct {
	Change struct{ NewImage map[string]attribute } `json:"dynamodb"`
}

// attribute is a value of a type that the ledger has.
type attribute struct {
	S, N *string
	M    map[string]attribute
}

func (a attribute) value() types.AttributeValue {
	switch {
	case a.S != nil:
		return &types.AttributeValueMemberS{Value: *a.S}
	case a.N != nil:
		return &types.AttributeValueMemberN{Value: *a.N}
	case a.M != nil:
		return &types.AttributeValueMemberM{Value: values(a.M)}
	}
	return &types.AttributeValueMemberNULL{Value: true} // of another type: leaves its field empty
}

func values(attributes map[string]attribute) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}
	for name, a := range attributes {
		all[name] = a.value()
	}
	return all
}

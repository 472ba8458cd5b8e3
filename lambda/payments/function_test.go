package main

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
	"github.com/oncekey/oncekey/localtest"
)

type deployment struct {
	fn    *localtest.Function
	db    *localtest.DB
	cards *cardprocessor.Server
}

// deploy runs this test binary as the function, with a table and a card processor of its own. What it does when it is
// cut off or killed is shown by the demo, whose table is a test as well.
func deploy(t *testing.T, env ...string) deployment {
	t.Helper()
	db := localtest.Start(t)
	cards := &cardprocessor.Server{}
	processor := httptest.NewServer(cards)
	t.Cleanup(processor.Close)
	fn := localtest.StartFunction(t, localtest.Bootstrap{
		Timeout: 30 * time.Second, // a busy machine is no fault
		Env: append([]string{
			"IDEMPOTENCY_TABLE=" + db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{})),
			"LEDGER_TABLE=" + db.CreateTable(t, idempotency.Table("ledger", idempotency.Schema{})),
			"CARD_PROCESSOR_URL=" + processor.URL,
			"AWS_ENDPOINT_URL_DYNAMODB=" + db.Listen(t),
		}, env...),
	})
	return deployment{fn, db, cards}
}

func (d deployment) invoke(t *testing.T, event string) localtest.Response {
	t.Helper()
	r, err := d.fn.Invoke(t.Context(), localtest.Event{Payload: []byte(event)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const event = `{"idempotencyKey":"k1","customer":"c1","order":"17","amount":4990,"currency":"EUR","card":"card_visa"}`

func TestFunction_RetryGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for range 2 {
		r := d.invoke(t, event)
		if want := `{"charge":"ch_1","order":"17","amount":4990,"currency":"EUR","attempt":1}`; r.Error != nil || string(r.Payload) != want {
			t.Errorf("answer %s, %v, want %s", r.Payload, r.Error, want)
		}
	}
	if d.cards.Charges() != 1 || d.cards.Requests() != 1 {
		t.Errorf("%d charges by %d requests, want 1 by 1", d.cards.Charges(), d.cards.Requests())
	}
}

func TestFunction_AnotherCustomersKeyIsAnotherPayment(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for _, customer := range []string{"c1", "c2"} {
		if r := d.invoke(t, strings.Replace(event, "c1", customer, 1)); r.Error != nil {
			t.Errorf("customer %s: %v", customer, r.Error)
		}
	}
	if d.cards.Charges() != 2 {
		t.Errorf("%d charges, want 2", d.cards.Charges())
	}
}

func TestFunction_ErrorsAreRecordedWithTheirType(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for what, want := range map[string]struct{ event, errorType, message string }{
		"declined": {strings.Replace(event, "card_visa", cardprocessor.DeclinedCard, 1), "CardDeclined", "card declined: insufficient_funds"},
		"invalid":  {strings.NewReplacer("k1", "k2", "4990", "0").Replace(event), "InvalidPayment", "invalid payment: amount is 0: must be positive"},
	} {
		for range 2 {
			r := d.invoke(t, want.event)
			if r.Error == nil || r.Error.Type != want.errorType || r.Error.Message != want.message {
				t.Errorf("%s: %s, %v, want %s: %s", what, r.Payload, r.Error, want.errorType, want.message)
			}
		}
	}
	if d.cards.Charges() != 0 || d.cards.Requests() != 1 {
		t.Errorf("%d charges by %d requests, want 0 by 1", d.cards.Charges(), d.cards.Requests())
	}
	// A handler that ran again would have ended its attempt by a write.
	if n := len(d.db.Calls("UpdateItem")); n != 2 {
		t.Errorf("%d attempts ended, want one for each payment", n)
	}
}

func TestFunction_UnclearChargeIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := deploy(t, "CARD_PROCESSOR_URL=http://127.0.0.1:1")
	for _, want := range []string{"ProcessorError", "IdempotencyOutcomeUnknown"} {
		if r := d.invoke(t, event); r.Error == nil || r.Error.Type != want {
			t.Errorf("answer %s, %v, want %s", r.Payload, r.Error, want)
		}
	}
}

// What it settles is shown by the tests of the reconciler, and by the demo.
func TestFunction_ReconcilerIsAnotherDoor(t *testing.T) {
	t.Parallel()
	d := deploy(t, "FRONT_DOOR=schedule", "GRACE=0s")
	r := d.invoke(t, `{"source":"aws.events","detail-type":"Scheduled Event","detail":{}}`)
	if r.Error != nil || string(r.Payload) != `{"completed":0,"notDone":0,"left":0}` {
		t.Errorf("answer %s, %v, want counts", r.Payload, r.Error)
	}
}

// What it charges, and when, is shown by the tests of the worker, and by the demo.
func TestFunction_WorkerIsAnotherDoor(t *testing.T) {
	t.Parallel()
	d := deploy(t, "FRONT_DOOR=queue", "SHOP_CARD=card_shop")
	q := localtest.NewQueue("commissions")
	row, err := attributevalue.MarshalMap(outbox{"outbox#payment#k1", paymentMade, entry{"payment#k1", "c1", "ch_9", "17", 4990, "EUR", 1}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := outboxpipe.Record(row)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		q.Send(localtest.Message{Body: body})
	}
	poison := q.Send(localtest.Message{Body: "{}"})
	round, err := q.Deliver(t.Context(), 10, d.fn.Consume)
	if err != nil || len(round.Deleted) != 2 || !slices.Equal(round.Returned, []string{poison}) || d.cards.Charges() != 1 {
		t.Errorf("%d charges; deleted %q, returned %q, %v; want 1, two, and the last one", d.cards.Charges(), round.Deleted, round.Returned, err)
	}
}

func TestFunction_OverLimitIsRecorded(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for range 2 {
		r := d.invoke(t, strings.Replace(event, "4990", "1000001", 1))
		if r.Error == nil || r.Error.Type != "OverLimit" || r.Error.Message != "spending limit of 1000000 reached" {
			t.Errorf("answer %s, %v, want OverLimit", r.Payload, r.Error)
		}
	}
	if d.cards.Requests() != 0 {
		t.Errorf("%d requests to the processor, want none", d.cards.Requests())
	}
}

func TestFunction_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	d := deploy(t, "IDEMPOTENCY_TABLE=")
	_, err := d.fn.Invoke(t.Context(), localtest.Event{Payload: []byte(event)})
	if err == nil || !strings.Contains(err.Error(), "IDEMPOTENCY_TABLE is not set") {
		t.Errorf("error %v, want one that says what is not set", err)
	}
}

func TestFunction_WithoutProcessorUsesThePlayOne(t *testing.T) {
	t.Parallel()
	d := deploy(t, "CARD_PROCESSOR_URL=")
	if r := d.invoke(t, event); r.Error != nil || !strings.Contains(string(r.Payload), `"charge":"play_`) {
		t.Errorf("answer %s, %v, want a play charge", r.Payload, r.Error)
	}
	if d.cards.Requests() != 0 {
		t.Errorf("%d requests to the processor, want none", d.cards.Requests())
	}
}

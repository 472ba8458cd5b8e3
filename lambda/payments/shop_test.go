package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// shop is the function and its reconciler within the test's process, in virtual time.
type shop struct {
	t        *testing.T
	db       *localtest.DB
	records  string // the table's name
	policy   idempotency.OnUnknown
	cards    *cardprocessor.Server
	runner   *idempotency.Runner
	function payments
	clock    reconciler

	lost     atomic.Bool // requests to the processor do not get there
	cut      atomic.Bool // no call to DynamoDB gets there: how a process that was killed looks from outside
	customer string      // as the ledger calls the one who pays

	client *dynamodb.Client // of the function and its reconciler
	staged sync.Map         // what its transactions have done, by stagedAction

	mu            sync.Mutex
	sent, charged func()
}

const (
	callerARN    = "arn:aws:iam::123456789012:user/alice"
	caller       = "iam:" + callerARN // as the wrapper calls it
	withCustomer = `{"customer":"mallory","order":"17","amount":4990,"currency":"EUR","card":"card_visa"}`

	timeout = 3 * time.Second // of the function
	grace   = 10 * time.Minute
)

// inShop plays under both policies, and behind an HTTP API as well as without a door.
func inShop(t *testing.T, play func(s *shop, pay func() string)) {
	t.Helper()
	for name, policy := range map[string]idempotency.OnUnknown{"refuse": idempotency.Refuse, "rerun": idempotency.Rerun} {
		for _, door := range []string{"event", "http"} {
			t.Run(name+"/"+door, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newShop(t, policy)
					pay := s.payByEvent
					s.customer = aPayment().Customer
					if door == "http" {
						pay, s.customer = s.payOverHTTP, caller
					}
					play(s, pay)
				})
			})
		}
	}
}

func newShop(t *testing.T, policy idempotency.OnUnknown) *shop {
	t.Helper()
	s := &shop{t: t, db: localtest.Start(t), policy: policy}
	s.records = s.db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{}))
	s.client = s.db.Client(s.watch)
	s.cards = &cardprocessor.Server{Charged: func(cardprocessor.Charge) { s.happens(&s.charged) }}
	s.db.Inject(localtest.Fault{Kind: localtest.RequestLost, Times: -1, Match: func(localtest.Call) bool { return s.cut.Load() }})
	s.function = payments{
		cards:  httpProcessor{"http://cards/charges", &http.Client{Transport: s}},
		ledger: ledger{s.client, s.db.CreateTable(t, idempotency.Table("ledger", idempotency.Schema{}))},
	}
	var err error
	s.runner, err = idempotency.New(s.client, idempotency.Config{Table: s.records, OnUnknown: policy, UnknownRetention: unknownRetention, Classify: unlessMarked})
	if err != nil {
		t.Fatal(err)
	}
	s.clock = reconciler{s.function, s.runner, grace, func(context.Context, idempotency.Event) {}}
	return s
}

// RoundTrip is the network to the card processor, without sockets, which know no virtual time.
func (s *shop) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.lost.Load() {
		return nil, io.ErrUnexpectedEOF
	}
	if r.Method == http.MethodPost {
		s.happens(&s.sent)
	}
	w := httptest.NewRecorder()
	s.cards.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *shop) happens(what *func()) {
	s.mu.Lock()
	f := *what
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// whenSent sets what happens before the processor gets a charge, whenCharged what happens before it answers.
func (s *shop) whenSent(f func())    { s.when(&s.sent, f) }
func (s *shop) whenCharged(f func()) { s.when(&s.charged, f) }

func (s *shop) when(what *func(), f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*what = f
}

// outage keeps the calls of an operation, "" for all, from DynamoDB, after the first few, until end is called.
func (s *shop) outage(operation string, kind localtest.FaultKind, after int) (end func()) {
	var over atomic.Bool
	s.db.Inject(localtest.Fault{Operation: operation, Kind: kind, Times: -1, Nth: after + 1, Match: func(localtest.Call) bool { return !over.Load() }})
	return func() { over.Store(true) }
}

func (s *shop) payEvent(p Payment) (Receipt, error) {
	return lambda.Wrap(s.runner, request, s.function.pay)(localtest.Invocation(s.t, timeout), p)
}

// payByEvent returns the charge, or the error.
func (s *shop) payByEvent() string {
	r, err := s.payEvent(aPayment())
	if err != nil {
		return err.Error()
	}
	return r.Charge
}

// payOverHTTP returns the charge, or the status and what the body says.
func (s *shop) payOverHTTP() string {
	h := lambda.HTTPAPI(s.runner, contract(), through(s.function, toHTTPAPI))
	e := events.APIGatewayV2HTTPRequest{RouteKey: "POST /payments", RawPath: "/payments", Body: withCustomer, Headers: map[string]string{"idempotency-key": "k1", "content-type": "application/json"}}
	e.RequestContext.HTTP.Method = http.MethodPost
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: callerARN},
	}
	a, err := h(localtest.Invocation(s.t, timeout), e)
	if err != nil {
		return err.Error()
	}
	var receipt Receipt
	if err := json.Unmarshal([]byte(a.Body), &receipt); err != nil || a.StatusCode != http.StatusCreated || a.Headers["Content-Type"] != "application/json" {
		return http.StatusText(a.StatusCode) + " " + a.Body
	}
	return receipt.Charge
}

// dies is the end of a process, and of whatever its handler still tries.
func (s *shop) dies(pay func() string) {
	s.t.Helper()
	if got := pay(); got == "ch_1" {
		s.t.Errorf("the client got a receipt from a process that is dead")
	}
	s.cut.Store(false)
	s.whenCharged(nil)
}

func (s *shop) reconciles(want counts) {
	s.t.Helper()
	if got, err := s.clock.reconcile(s.t.Context(), nil); err != nil || got != want {
		s.t.Errorf("reconciled %+v, %v, want %+v", got, err, want)
	}
}

// receives: the client gets the receipt of the one charge.
func (s *shop) receives(pay func() string) {
	s.t.Helper()
	if got := pay(); got != "ch_1" {
		s.t.Errorf("the client got %s, want ch_1", got)
	}
}

func (s *shop) refuses(pay func() string) {
	s.t.Helper()
	if got := pay(); !strings.Contains(got, "outcome unknown") && !strings.Contains(got, "outcome_unknown") {
		s.t.Errorf("the client got %s, want that the outcome is unknown", got)
	}
}

func (s *shop) unknowns() (found []idempotency.Record, err error) {
	for rec, e := range s.runner.Unknowns(s.t.Context()) {
		found, err = append(found, rec), errors.Join(err, e)
	}
	return found, err
}

// passes lets virtual time pass.
func passes(d time.Duration) { <-time.After(d) }

// books checks that the ledger has these payments, all of order 17, and that the processor has charged as often.
func (s *shop) books(want int) {
	s.t.Helper()
	out, err := s.function.ledger.client.Scan(context.WithoutCancel(s.t.Context()), &dynamodb.ScanInput{TableName: &s.function.ledger.table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.t.Fatal(err)
	}
	var payments, published int
	var spent, total int64
	for _, it := range out.Items {
		var r struct {
			entry
			Spent int64 `dynamodbav:"spent"`
		}
		if err := attributevalue.UnmarshalMap(it, &r); err != nil {
			s.t.Fatal(err)
		}
		switch kind, _, _ := strings.Cut(r.ID, "#"); kind {
		case "payment":
			payments++
			spent += r.Amount
		case "outbox":
			published++
		case "total":
			total += r.Spent
		}
	}
	if charges := s.cards.Charges(); charges != want || payments != want || published != want || total != spent {
		s.t.Errorf("%d charges, %d payments of %d, %d in the outbox, total %d: want %d of each, and the total to be theirs", charges, payments, spent, published, total, want)
	}
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
	"github.com/oncekey/oncekey/localtest"
)

// hour is a market in which several things happen at once. What its functions, and AWS, write for CloudWatch is kept; the names in
// there are the template's references, as "${CommissionQueue.QueueName}".
//
// It is the same each time: what is drawn is drawn from a seed and the virtual time, and nothing is tried so often that the
// library's own jitter shows.
type hour struct {
	*market
	began  time.Time
	random *rand.Rand // for the plan, before anything runs
	plan   []planned

	mu     sync.Mutex // guards what follows
	lines  bytes.Buffer
	busy   int // invocations of the payments function
	outbox map[string]bool
	sentAt map[string]time.Time // of the messages in the queue
}

type planned struct {
	at time.Duration
	do func()
}

// fate is what an invocation meets, in its context.
type fate struct {
	diesAt string        // the call at which its process is gone: an operation of DynamoDB, or charge
	frozen time.Duration // for how long its process does not go on, once the card is charged
	steady bool          // its calls take the same time each: it makes several at once, in no order
	died   time.Time
}

type fateKey struct{}

func fateOf(ctx context.Context) *fate {
	if f, ok := ctx.Value(fateKey{}).(*fate); ok {
		return f
	}
	return new(fate)
}

// meets says whether the process is gone by this call.
func (f *fate) meets(call string) bool {
	if f.diesAt == call && f.died.IsZero() {
		f.died = time.Now()
	}
	return !f.died.IsZero()
}

const (
	functionTime = 25 * time.Second // the template's
	mostBusy     = 10               // as if that were the function's reserved concurrency
)

// anHour returns the lines in CloudWatch's embedded metric format. Those of AWS's own metrics have it, too.
func anHour(t *testing.T) (lines []byte) {
	t.Helper()
	localtest.OnlyEmbedded(t, "an hour of hundreds of payments, the same each time")
	synctest.Test(t, func(t *testing.T) {
		h := &hour{began: time.Now(), random: rand.New(rand.NewPCG(1, 2)), outbox: map[string]bool{}, sentAt: map[string]time.Time{}}
		h.market = &market{shop: newShop(t, idempotency.Refuse), queue: localtest.NewQueue("commissions")}
		h.queue.MaxReceives = 5
		client := h.db.Client(func(o *dynamodb.Options) {
			o.HTTPClient = wire{h, o.HTTPClient}
			o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { // without jitter, and for as long as it takes
				o.RateLimiter = ratelimit.None
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 80 * time.Millisecond, nil })
			})
		})
		count := lambda.Metrics(lambda.MetricsConfig{Service: "${AWS::StackName}", Writer: h})
		cfg := idempotency.Config{Table: h.records, UnknownRetention: unknownRetention, Classify: unlessMarked}
		cfg.Observe = func(ctx context.Context, e idempotency.Event) {
			if fateOf(ctx).diesAt == "" { // a process that is killed does not get to it
				count(ctx, e)
			}
		}
		var err, err2 error
		h.shop.runner, err = idempotency.New(client, cfg)
		h.runner, err2 = idempotency.New(client, forCommissions(cfg))
		if err := cmp.Or(err, err2); err != nil {
			t.Fatal(err)
		}
		h.function = payments{httpProcessor{"http://cards/charges", &http.Client{Transport: h}}, ledger{client, h.function.ledger.table}}
		h.clock = reconciler{h.function, h.shop.runner, grace, cfg.Observe}
		h.worker = commissions{h.function, "card_shop"}
		h.business()
		h.troubles()
		h.play()
		lines = h.lines.Bytes()
	})
	return lines
}

// at plans something, so long after the beginning.
func (h *hour) at(after time.Duration, do func()) { h.plan = append(h.plan, planned{after, do}) }

// upTo draws for the plan.
func (h *hour) upTo(d time.Duration) time.Duration { return time.Duration(h.random.Int64N(int64(d))) }

func (h *hour) play() {
	slices.SortStableFunc(h.plan, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
	var all sync.WaitGroup
	for _, p := range h.plan {
		passes(time.Until(h.began.Add(p.at)))
		all.Go(p.do)
	}
	all.Wait()
}

func (h *hour) pays(after time.Duration, p Payment, f fate) {
	h.at(after, func() { h.pay(p, f, functionTime) })
}

// pay invokes the function, unless there are too many at work.
func (h *hour) pay(p Payment, f fate, left time.Duration) {
	h.mu.Lock()
	throttled := h.busy == mostBusy
	if !throttled {
		h.busy++
	}
	h.mu.Unlock()
	if throttled {
		h.measures("AWS/Lambda", "FunctionName", "${PaymentsFunction}", map[string]float64{"Throttles": 1})
		return
	}
	h.measures("AWS/ApiGateway", "ApiId", "${PaymentsApi}", map[string]float64{"5xx": 0}) // a caller that is no client of the API's
	h.invokes("${PaymentsFunction}", &f, func() error {
		ctx := context.WithValue(localtest.Invocation(h.t, left), fateKey{}, &f)
		_, err := lambda.Wrap(h.shop.runner, request, h.function.pay)(ctx, p)
		return err
	})
	h.mu.Lock()
	h.busy--
	h.mu.Unlock()
}

func (h *hour) ticks() {
	f := &fate{steady: true}
	h.invokes("${ReconcileFunction}", f, func() error {
		_, err := h.clock.reconcile(context.WithValue(localtest.Invocation(h.t, 2*time.Minute), fateKey{}, f), nil)
		return err
	})
}

// publishes sends what is new in the outbox.
func (h *hour) publishes() {
	bodies, err := outboxpipe.Messages(h.t.Context(), h.db.Client(), h.function.ledger.table)
	if err != nil {
		h.t.Error(err)
	}
	for _, body := range bodies {
		var row published
		if err := row.UnmarshalJSON([]byte(body)); err != nil {
			h.t.Error(err)
		}
		h.mu.Lock()
		isNew := !h.outbox[row.ID]
		h.outbox[row.ID] = true
		h.mu.Unlock()
		if isNew {
			h.sends(body)
		}
	}
	h.measures("AWS/EventBridge/Pipes", "PipeName", "${OutboxPipe}", map[string]float64{"ExecutionFailed": 0})
}

func (h *hour) sends(body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sentAt[h.queue.Send(localtest.Message{Body: body})] = time.Now()
}

func (h *hour) works() {
	d, err := h.queue.Deliver(localtest.Invocation(h.t, 30*time.Second), 10, func(ctx context.Context, e events.SQSEvent) (answer events.SQSEventResponse, err error) {
		h.invokes("${CommissionFunction}", new(fate), func() error {
			answer, err = h.consume(ctx, e)
			return err
		})
		return answer, err
	})
	if err != nil {
		h.t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range d.Deleted {
		delete(h.sentAt, id)
	}
	for _, m := range h.queue.Dead() {
		delete(h.sentAt, m.MessageId)
	}
}

func (h *hour) measuresQueue() {
	oldest := time.Duration(0)
	h.mu.Lock()
	for _, at := range h.sentAt {
		oldest = max(oldest, time.Since(at))
	}
	h.mu.Unlock()
	const waiting = "ApproximateNumberOfMessagesVisible"
	h.measures("AWS/SQS", "QueueName", "${CommissionQueue.QueueName}", map[string]float64{waiting: float64(h.queue.Len()), "ApproximateAgeOfOldestMessage": oldest.Seconds()})
	h.measures("AWS/SQS", "QueueName", "${CommissionDeadLetterQueue.QueueName}", map[string]float64{waiting: float64(len(h.queue.Dead()))})
}

// invokes measures an invocation as Lambda does.
func (h *hour) invokes(function string, f *fate, handle func() error) {
	start, failed := time.Now(), 0.0
	if handle() != nil {
		failed = 1
	}
	took := min(time.Since(start), functionTime) // it has ended what goes on for longer
	if !f.died.IsZero() {
		took = f.died.Sub(start)
	}
	h.measures("AWS/Lambda", "FunctionName", function, map[string]float64{"Errors": failed, "Throttles": 0, "Duration": float64(took.Microseconds()) / 1000})
}

// measures writes what a service of AWS tells CloudWatch.
func (h *hour) measures(namespace, dimension, value string, metrics map[string]float64) {
	type definition struct{ Name string }
	var defined []definition
	line := map[string]any{dimension: value}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		defined = append(defined, definition{name})
		line[name] = metrics[name]
	}
	line["_aws"] = map[string]any{
		"Timestamp":         time.Now().UnixMilli(),
		"CloudWatchMetrics": []map[string]any{{"Namespace": namespace, "Dimensions": [][]string{{dimension}}, "Metrics": defined}},
	}
	text, err := json.Marshal(line)
	if err != nil {
		h.t.Error(err)
	}
	_, _ = h.Write(append(text, '\n'))
}

// Write is stdout.
func (h *hour) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines.Write(line)
}

// RoundTrip is the way to the card processor, and back.
func (h *hour) RoundTrip(r *http.Request) (*http.Response, error) {
	f := fateOf(r.Context())
	if f.meets(theCharge) {
		return nil, io.ErrUnexpectedEOF
	}
	answer, err := h.shop.RoundTrip(r)
	passes(cmp.Or(f.frozen, f.takes(150*time.Millisecond)))
	return answer, err
}

// wire is the way to DynamoDB, and back.
type wire struct {
	*hour
	dynamodb.HTTPClient
}

func (w wire) Do(r *http.Request) (*http.Response, error) {
	f := fateOf(r.Context())
	passes(f.takes(5 * time.Millisecond))
	if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); f.meets(operation) {
		return nil, io.ErrUnexpectedEOF
	}
	if w.throttles(r) {
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.WriteString(`{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}`)
		return w.Result(), nil
	}
	return w.HTTPClient.Do(r)
}

// takes is about that long, and seldom much longer: by the moment alone, so that it is the same each time.
func (f *fate) takes(usual time.Duration) time.Duration {
	if f.steady {
		return usual
	}
	r := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano())))
	t := usual/2 + time.Duration(r.Int64N(int64(usual)))
	if r.IntN(100) == 0 {
		t *= 8
	}
	return t
}

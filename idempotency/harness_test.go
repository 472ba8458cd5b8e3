package idempotency_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// fixture is one table, and what was seen of the workers on it.
type fixture struct {
	db     *localtest.DB
	table  string
	schema idempotency.Schema // of the workers' table
	plain  *dynamodb.Client   // the test's own look at the table

	runs atomic.Int32 // of handlers

	mu     sync.Mutex
	events []idempotency.Event
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	db := localtest.Start(tb)
	return &fixture{
		db:    db,
		table: db.CreateTable(tb, idempotency.Table("idempotency", idempotency.Schema{})),
		plain: db.Client(),
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }

// handler is what the tests run under a key.
type handler = func(context.Context) (string, error)

func returns(value string) handler {
	return func(context.Context) (string, error) { return value, nil }
}

func fails(err error) handler {
	return func(context.Context) (string, error) { return "", err }
}

func request(key string) idempotency.Request {
	return idempotency.Request{Operation: "charge", Scope: "tenant-1", Key: key, Input: map[string]int{"amount": 5}}
}

// other is the same key with other input.
func other(req idempotency.Request) idempotency.Request {
	req.Input = map[string]int{"amount": 6}
	return req
}

// worker is one process on the table: a Runner with a client and a clock of its own.
type worker struct {
	*fixture
	*link
	runner *idempotency.Runner
	skew   atomic.Int64 // of the clock, against the table's
}

// settings are what a worker is made with.
type settings struct {
	idempotency.Config
	client []func(*dynamodb.Options)
}

type option = func(*settings)

func rerun(s *settings) { s.OnUnknown = idempotency.Rerun }

// withoutRetries makes every try a call of the library's own.
func withoutRetries(s *settings) {
	s.client = append(s.client, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

func (f *fixture) worker(tb testing.TB, options ...option) *worker {
	tb.Helper()
	w := &worker{fixture: f, link: &link{}}
	s := settings{Config: idempotency.Config{
		Table:   f.table,
		Schema:  f.schema,
		Observe: f.observe,
		Now:     func() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) },
	}}
	for _, option := range options {
		option(&s)
	}
	w.Client = f.db.Client(s.client...)
	runner, err := idempotency.New(w.link, s.Config)
	if err != nil {
		tb.Fatal(err)
	}
	w.runner = runner
	return w
}

func (f *fixture) observe(_ context.Context, e idempotency.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

// do is Do, with its handler's runs counted.
func (w *worker) do(ctx context.Context, req idempotency.Request, h handler) (idempotency.Result[string], error) {
	return idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (string, error) {
		w.runs.Add(1)
		return h(ctx)
	})
}

// must runs a request that has to succeed.
func (w *worker) must(ctx context.Context, tb testing.TB, req idempotency.Request, h handler) idempotency.Result[string] {
	tb.Helper()
	res, err := w.do(ctx, req, h)
	if err != nil {
		tb.Fatalf("Do: %v", err)
	}
	return res
}

// abandon runs a request in a goroutine of its own that the handler may end, and waits for that end.
func (w *worker) abandon(ctx context.Context, req idempotency.Request, h handler) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.do(ctx, req, h)
	}()
	<-done
}

// crash is the death of the worker's process while its handler runs.
func (w *worker) crash(ctx context.Context, req idempotency.Request) {
	w.abandon(ctx, req, func(context.Context) (string, error) {
		w.die()
		return "", nil
	})
}

// hold starts a request whose handler runs until the returned function gives it an end, and waits until it runs.
// One that is given no end gets one with the test.
func (w *worker) hold(ctx context.Context, tb testing.TB, req idempotency.Request) (end func(handler) (idempotency.Result[string], error)) {
	tb.Helper()
	type answer struct {
		res idempotency.Result[string]
		err error
	}
	running, ending, answers := make(chan struct{}), make(chan handler, 1), make(chan answer, 1)
	go func() {
		defer close(answers)
		res, err := w.do(ctx, req, func(ctx context.Context) (string, error) {
			close(running)
			return (<-ending)(ctx)
		})
		answers <- answer{res, err}
	}()
	tb.Cleanup(func() {
		select {
		case ending <- returns("never asked for"):
		default:
		}
		for range answers { // until it has ended
		}
	})
	select {
	case <-running:
	case a := <-answers:
		tb.Fatalf("the handler was not run: %v", a.err)
	}
	return func(h handler) (idempotency.Result[string], error) {
		ending <- h
		a := <-answers
		return a.res, a.err
	}
}

// link is a worker's way to the table.
type link struct {
	idempotency.Client
	cut    atomic.Bool
	before func(operation string) error // an error: the call fails with it and is not made
	after  func(operation string)
	sent   func(in any) // sees every request
}

var errCut = errors.New("cut off from the table")

// die ends the worker: its goroutine now, and with it every call that it would still make.
func (l *link) die() {
	l.cut.Store(true)
	runtime.Goexit()
}

func through[In, Out any](l *link, operation string, in In, call func() (Out, error)) (out Out, err error) {
	if l.sent != nil {
		l.sent(in)
	}
	if l.before != nil && !l.cut.Load() {
		if err := l.before(operation); err != nil {
			return out, err
		}
	}
	if l.cut.Load() {
		return out, errCut
	}
	out, err = call()
	if l.after != nil {
		l.after(operation)
	}
	return out, err
}

func (l *link) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return through(l, "GetItem", in, func() (*dynamodb.GetItemOutput, error) { return l.Client.GetItem(ctx, in, o...) })
}

func (l *link) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return through(l, "PutItem", in, func() (*dynamodb.PutItemOutput, error) { return l.Client.PutItem(ctx, in, o...) })
}

func (l *link) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return through(l, "UpdateItem", in, func() (*dynamodb.UpdateItemOutput, error) { return l.Client.UpdateItem(ctx, in, o...) })
}

func (l *link) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return through(l, "TransactWriteItems", in, func() (*dynamodb.TransactWriteItemsOutput, error) {
		return l.Client.TransactWriteItems(ctx, in, o...)
	})
}

func (l *link) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return through(l, "Scan", in, func() (*dynamodb.ScanOutput, error) { return l.Client.Scan(ctx, in, o...) })
}

// nth makes a hook that acts on the n-th call of an operation, counted from 1.
func nth(operation string, n int, act func()) func(string) {
	seen := 0
	return func(op string) {
		if op != operation {
			return
		}
		if seen++; seen == n {
			act()
		}
	}
}

// forever, as the times of a fault: until the faults are cleared.
const forever = -1

// faultKinds are the ways in which a call goes wrong without an answer that settles it.
var faultKinds = []localtest.FaultKind{
	localtest.RequestLost, localtest.ReplyLost, localtest.AppliedLate, localtest.TruncatedReply, localtest.Hang,
	localtest.HangApplied, localtest.Throttled, localtest.ServerError, localtest.ServerErrorApplied,
}

func (f *fixture) inject(operation string, kind localtest.FaultKind, times int) {
	f.db.Inject(localtest.Fault{Operation: operation, Kind: kind, Times: times, Delay: lateBy(kind)})
}

// lateBy is how long a late request takes.
func lateBy(kind localtest.FaultKind) time.Duration {
	if kind == localtest.AppliedLate {
		return 500 * time.Millisecond
	}
	return 0
}

func key(req idempotency.Request) item {
	return item{"id": text(idempotency.RecordID(nil, req.Operation, req.Scope, req.Key))}
}

// record reads the request's record; nil if there is none.
func (f *fixture) record(tb testing.TB, req idempotency.Request) item {
	tb.Helper()
	return f.at(tb, key(req))
}

func (f *fixture) at(tb testing.TB, k item) item {
	tb.Helper()
	out, err := f.plain.GetItem(tb.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: k, ConsistentRead: aws.Bool(true)})
	if err != nil {
		tb.Fatal(err)
	}
	return out.Item
}

// edit changes attributes of the request's record by hand; nil removes one.
func (f *fixture) edit(tb testing.TB, req idempotency.Request, change item) {
	tb.Helper()
	it := f.record(tb, req)
	if it == nil {
		it = key(req)
	}
	maps.Copy(it, change)
	maps.DeleteFunc(it, func(_ string, v types.AttributeValue) bool { return v == nil })
	f.put(tb, it)
}

// put puts an item as it is.
func (f *fixture) put(tb testing.TB, it item) {
	tb.Helper()
	if _, err := f.plain.PutItem(tb.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: it}); err != nil {
		tb.Fatal(err)
	}
}

func (f *fixture) remove(tb testing.TB, req idempotency.Request) {
	tb.Helper()
	if _, err := f.plain.DeleteItem(tb.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: key(req)}); err != nil {
		tb.Fatal(err)
	}
}

// quiet is f without what was seen so far.
func (f *fixture) quiet() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = nil
	f.runs.Store(0)
	f.db.ResetCalls()
}

func (f *fixture) seen() []idempotency.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

func (f *fixture) kinds() []idempotency.Kind {
	var kinds []idempotency.Kind
	for _, e := range f.seen() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (f *fixture) wantKinds(tb testing.TB, want ...idempotency.Kind) {
	tb.Helper()
	if got := f.kinds(); !slices.Equal(got, want) {
		tb.Errorf("events %v, want %v", got, want)
	}
}

func (f *fixture) wantRuns(tb testing.TB, want int) {
	tb.Helper()
	if got := int(f.runs.Load()); got != want {
		tb.Errorf("handlers ran %d times, want %d", got, want)
	}
}

func (f *fixture) wantStatus(tb testing.TB, req idempotency.Request, want string) item {
	tb.Helper()
	it := f.record(tb, req)
	if got := it.text("status"); got != want {
		tb.Errorf("the record's status is %q, want %q", got, want)
	}
	return it
}

// wantUntouched says that the record is what it was.
func (f *fixture) wantUntouched(tb testing.TB, req idempotency.Request, before item) {
	tb.Helper()
	if after := f.record(tb, req); !reflect.DeepEqual(after, before) {
		tb.Errorf("the record was changed from %v to %v", before, after)
	}
}

func wantErr(tb testing.TB, err error, want ...error) {
	tb.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			tb.Errorf("error %v, want %v", err, w)
		}
	}
}

// wantAnswer says that the request got the value without an error.
func wantAnswer(tb testing.TB, res idempotency.Result[string], err error, value string, replayed bool) {
	tb.Helper()
	if err != nil || res.Value != value || res.Replayed != replayed {
		tb.Errorf("got %q (replayed %t), error %v; want %q (replayed %t)", res.Value, res.Replayed, err, value, replayed)
	}
}

// wantCalls says which calls were made since the last quiet; a retry of the SDK is a call of its own.
func (f *fixture) wantCalls(tb testing.TB, want ...string) {
	tb.Helper()
	var got []string
	for _, c := range f.db.Calls("") {
		got = append(got, c.Operation)
	}
	if !slices.Equal(got, want) {
		tb.Errorf("calls %v, want %v", got, want)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// bill is what DynamoDB bills for the calls of one request.
type bill struct {
	calls       int
	write, read float64
	noBody      bool // the request got no answer: it was not stored
}

func billOf(calls []localtest.Call) (b bill) {
	for _, c := range calls {
		b.calls++
		b.write += c.WriteUnits
		b.read += c.ReadUnits
	}
	return b
}

// measured is what an answer costs, by the path that a request for it takes.
type measured struct {
	items, bytes         int // that it is stored as, with the rest of the record
	first, replay        bill
	firstRead, replayed  bill // under Request.ReadFirst
	pollRunning, pollEnd bill // of a duplicate that waits: while the first request runs, and when it has ended
}

// shop is one table, and who asks it.
type shop[T any] struct {
	db     *localtest.DB
	table  string
	runner *idempotency.Runner
	answer T
}

// measure makes one request for each path. Tables, keys and clocks are the same each time, and so is the bill.
func measure[T any](tb localtest.TB, answer T) (m measured, err error) {
	db := localtest.Start(tb)
	now := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC) }
	db.SetClock(now)
	table := db.CreateTable(tb, idempotency.Table("idempotency", idempotency.Schema{}))
	runner, err := idempotency.New(db.Client(), idempotency.Config{Table: table, Now: now})
	if err != nil {
		return m, err
	}
	s := shop[T]{db, table, runner, answer}
	if m.first, err = s.ask(request("one"), false); err != nil {
		return m, fmt.Errorf("first run: %w", err)
	}
	if m.first.write == 0 {
		return m, errors.New("a bill without units: the tables are those of the embedded DynamoDB, and the environment names another one")
	}
	if m.items, m.bytes, err = s.stored(); err != nil {
		return m, err
	}
	if m.replay, err = s.ask(request("one"), true); err != nil {
		return m, fmt.Errorf("replay: %w", err)
	}
	if m.replayed, err = s.ask(readFirst("one"), true); err != nil {
		return m, fmt.Errorf("replay, read first: %w", err)
	}
	if m.firstRead, err = s.ask(readFirst("two"), false); err != nil {
		return m, fmt.Errorf("first run, read first: %w", err)
	}
	if m.pollRunning, m.pollEnd, err = s.wait(request("three")); err != nil {
		return m, fmt.Errorf("waiting duplicate: %w", err)
	}
	return m, nil
}

func request(key string) idempotency.Request {
	return idempotency.Request{Operation: "list-orders", Scope: "customer 4711", Key: key, Input: "all orders of March"}
}

func readFirst(key string) idempotency.Request {
	req := request(key)
	req.ReadFirst = true
	return req
}

// ask makes a request and returns its bill.
func (s shop[T]) ask(req idempotency.Request, again bool) (bill, error) {
	s.db.ResetCalls()
	res, err := idempotency.Do(context.Background(), s.runner, req, func(context.Context) (T, error) { return s.answer, nil })
	return s.checked(res, err, again)
}

// checked is the bill of a request, once it is known that the request took its path: an answer that is not the handler's is
// an error, and so is one from elsewhere than it should come from.
func (s shop[T]) checked(res idempotency.Result[T], err error, again bool) (bill, error) {
	b := billOf(s.db.Calls(""))
	switch {
	case again && errors.Is(err, idempotency.ErrNoBody):
		b.noBody = true
	case err != nil:
		return b, err
	case res.Replayed != again:
		return b, fmt.Errorf("replayed is %t, want %t", res.Replayed, again)
	case !reflect.DeepEqual(res.Value, s.answer):
		return b, errors.New("the answer is another one than the handler's")
	}
	return b, nil
}

// stored asks the table how much is in it.
func (s shop[T]) stored() (items, bytes int, err error) {
	out, err := s.db.Client().DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		return 0, 0, err
	}
	return int(*out.Table.ItemCount), int(*out.Table.TableSizeBytes), nil
}

// wait makes a request, and a duplicate that polls once while it runs, and once more when it has ended.
func (s shop[T]) wait(req idempotency.Request) (running, ended bill, err error) {
	started, finish, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := idempotency.Do(context.Background(), s.runner, req, func(context.Context) (T, error) {
			close(started)
			<-finish
			return s.answer, nil
		})
		done <- err
	}()
	select {
	case <-started:
	case err := <-done:
		return running, ended, err
	}
	var first error
	s.db.Inject(localtest.Fault{Operation: "GetItem", After: func() { // no fault: the poll has its answer, and meanwhile the first request ends
		polls := s.db.Calls("GetItem")
		running = billOf(polls[len(polls)-1:])
		close(finish)
		first = <-done
		s.db.ResetCalls()
	}})
	req.Wait = time.Minute
	res, err := idempotency.Do(context.Background(), s.runner, req, func(context.Context) (T, error) { return s.answer, nil })
	if first != nil {
		return running, ended, first
	}
	ended, err = s.checked(res, err, true)
	return running, ended, err
}

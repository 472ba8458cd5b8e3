package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A retry gets the first answer, and the handler does not run again.
func ExampleDo() {
	r := exampleRunner()
	charges := 0
	pay := func(context.Context) (string, error) {
		charges++
		return fmt.Sprintf("charge %d", charges), nil
	}
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, pay)
		fmt.Println(res.Value, res.Replayed, err)
	}
	// Output:
	// charge 1 false <nil>
	// charge 1 true <nil>
}

// The outcome can be asked for later, without running anything.
func ExampleLookup() {
	r := exampleRunner()
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	_, err := idempotency.Lookup[string](context.Background(), r, req)
	fmt.Println(errors.Is(err, idempotency.ErrNotFound))

	_, err = idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
	if err != nil {
		log.Fatal(err)
	}
	res, err := idempotency.Lookup[string](context.Background(), r, req)
	fmt.Println(res.Value, err)
	// Output:
	// true
	// paid <nil>
}

// The same key for another request is a mistake of the caller's, and never gets the first one's answer.
func ExampleDo_mismatch() {
	r := exampleRunner()
	pay := func(context.Context) (string, error) { return "paid", nil }
	for _, amount := range []string{"19.90 EUR", "1990.00 EUR"} {
		req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: amount}
		res, err := idempotency.Do(context.Background(), r, req, pay)
		fmt.Printf("%q %t\n", res.Value, errors.Is(err, idempotency.ErrMismatch))
	}
	// Output:
	// "paid" false
	// "" true
}

// A duplicate that comes while the first one runs is told when to ask again.
func ExampleDo_inProgress() {
	r := exampleRunner()
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	_, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) {
		// Not with the handler's context, which would be a mistake: this is another request.
		_, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "again", nil })
		if state, ok := errors.AsType[*idempotency.StateError](err); ok && errors.Is(err, idempotency.ErrInProgress) {
			fmt.Println("in progress, attempt", state.Attempt, "retry after a moment:", state.RetryAfter > 0)
		}
		return "paid", nil
	})
	fmt.Println(err)
	// Output:
	// in progress, attempt 1 retry after a moment: true
	// <nil>
}

// A terminal failure is an answer too: it is recorded, and every retry gets it.
func ExampleTerminal() {
	r := exampleRunner()
	runs := 0
	pay := func(context.Context) (string, error) {
		runs++
		return "", idempotency.Terminal(errors.New("card declined"))
	}
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 2 {
		_, err := idempotency.Do(context.Background(), r, req, pay)
		_, replayed := errors.AsType[*idempotency.Failure](err)
		fmt.Println(err, replayed, runs)
	}
	// Output:
	// card declined false 1
	// card declined true 1
}

// An error after which the effect may have happened is never followed by a second run that nobody asked for.
func ExampleUnknown() {
	r := exampleRunner()
	pay := func(context.Context) (string, error) {
		return "", idempotency.Unknown(errors.New("the processor did not answer"))
	}
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR", Ref: "order 17"}
	_, err := idempotency.Do(context.Background(), r, req, pay)
	fmt.Println(err)
	_, err = idempotency.Do(context.Background(), r, req, pay)
	fmt.Println(errors.Is(err, idempotency.ErrOutcomeUnknown))
	// Output:
	// the processor did not answer
	// true
}

// A handler whose every effect is keyed may take an unknown over. It is told of the attempt before.
func ExampleRerun() {
	r := exampleRunner()
	pay := func(ctx context.Context) (string, error) {
		a := idempotency.AttemptFrom(ctx)
		if a.Prior == nil {
			return "", idempotency.Unknown(errors.New("the processor did not answer"))
		}
		return fmt.Sprintf("attempt %d, after attempt %d, with the same downstream key", a.Number, a.Prior.Number), nil
	}
	req := idempotency.Request{
		Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR", OnUnknown: idempotency.Rerun,
	}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, pay)
		fmt.Printf("%q %v\n", res.Value, err)
	}
	// Output:
	// "" the processor did not answer
	// "attempt 2, after attempt 1, with the same downstream key" <nil>
}

// exampleRunner stands for New on dynamodb.NewFromConfig.
func exampleRunner() *idempotency.Runner {
	db := localtest.Start(example{})
	r, err := idempotency.New(db.Client(), idempotency.Config{
		Table: db.CreateTable(example{}, idempotency.Table("idempotency", idempotency.Schema{})),
	})
	if err != nil {
		log.Fatal(err)
	}
	return r
}

// example is a localtest.TB where there is no *testing.T.
type example struct{}

func (example) Helper()                   {}
func (example) Cleanup(func())            {}
func (example) Name() string              { return "example" }
func (example) Logf(f string, a ...any)   { log.Printf(f, a...) }
func (example) Errorf(f string, a ...any) { log.Printf(f, a...) }
func (example) Fatalf(f string, a ...any) { log.Fatalf(f, a...) }

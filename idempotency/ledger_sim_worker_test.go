package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ledgerRequest is one request of a client for a payment.
type ledgerRequest struct {
	payment *ledgerPayment
	name    string
	mode    ledgerMode

	window   *ledgerWindow // that was open, or the last one, when the request came
	settled  bool          // it had an outcome by then
	runs     []string      // of the handler
	returned []string      // that it may have recorded
	nothing  bool          // the client was told that it has written nothing
	came     time.Time     // by its process's clock
}

// work serves requests one after the other; after a crash the next one meets a new process.
func (w *ledgerWorker) work() {
	for n := range 1 + w.rng.IntN(4) {
		w.idle()
		p := w.payments[w.rng.IntN(len(w.payments))]
		q := &ledgerRequest{payment: p, name: fmt.Sprintf("%s/%d.%d", p.key, w.number, n), mode: p.modes[w.rng.IntN(len(p.modes))]}
		if w.dead || w.chance(3) {
			w.begin() // another process
		}
		w.asking = q
		w.serves(&w.background, func() { w.serve(q) })
	}
}

// begin makes the process anew: what it remembered is gone.
func (w *ledgerWorker) begin() {
	cfg := Config{
		Table: w.records, Retention: w.retention(), UnknownRetention: max(w.retention(), 20*time.Second),
		Now: w.clock, Observe: func(_ context.Context, e Event) { w.count(string(e.Kind)) },
	}
	w.dead = false
	w.r = w.runner(w.t, w, cfg, func() bool { return w.chance(5) })
	w.r.table.jitter = w.upTo
}

func (w *ledgerWorker) serve(q *ledgerRequest) {
	req := Request{Operation: "pay", Scope: "scope", Key: q.payment.key, Input: q.payment.key, Tx: q.mode.tx, ReadFirst: q.payment.reads}
	if w.chance(20) {
		req.Wait = w.upTo(10 * time.Second)
	}
	ctx, cancel := w.invocation()
	defer cancel()
	w.comes(q)
	res, err := Do(ctx, w.r, req, func(ctx context.Context) (string, error) { return w.pay(ctx, q) })
	w.answered(w, q, res.Value, err)
}

// ledgerError is a handler's error, and what it means.
type ledgerError struct {
	text  string
	class Class
}

func (e *ledgerError) Error() string { return e.text }

// pay is the handler.
func (w *ledgerWorker) pay(ctx context.Context, q *ledgerRequest) (string, error) {
	p := q.payment
	run := fmt.Sprintf("%s#%d", q.name, len(q.runs))
	w.started(q, run, AttemptFrom(ctx))
	failure := func(text string, class Class) error {
		q.returned = append(q.returned, text+" in "+run)
		return marked(&ledgerError{text + " in " + run, class}, class)
	}
	if p.looks && w.balance(p.from) < p.amount {
		w.count("looked")
		return "", failure("insufficient funds", max(p.poor, Released))
	}
	charged := false
	charge := func(ctx context.Context) (string, error) {
		charged = q.mode.card == "bare"
		return w.charge(q, AttemptFrom(ctx))
	}
	switch q.mode.card {
	case "bare":
		if _, err := charge(ctx); err != nil {
			return "", err
		}
	case "step":
		if _, err := Step(ctx, "charge", charge); err != nil {
			return "", err
		}
	}
	if w.chance(8) {
		pause(w.upTo(60 * time.Second)) // frozen, or it does not look at its context
	} else {
		sleep(ctx, w.upTo(4*time.Second))
	}
	class := Released
	if charged {
		class = Ambiguous // the charge may be done again
	}
	w.stage(TxFrom(ctx), p, run, failure, class)
	switch w.rng.IntN(20) {
	case 0:
		return "", failure("declined", Recorded)
	case 1:
		return "", failure("who knows", Ambiguous)
	case 2, 3:
		return "", failure("try again", class)
	case 4:
		panic("handler")
	}
	q.returned = append(q.returned, run)
	return run, nil
}

// ledgerAccount and ledgerRow are items of the books.
type ledgerAccount struct {
	ID      string `dynamodbav:"id"`
	Balance int64  `dynamodbav:"balance"`
}

type ledgerRow struct {
	ID      string `dynamodbav:"id"`
	Payment string `dynamodbav:"payment"`
	Amount  int64  `dynamodbav:"amount"`
}

func accountID(i int) string     { return fmt.Sprintf("account/%d", i) }
func rowID(run string) string    { return "payment/" + run }
func outboxID(run string) string { return "outbox/" + run }

// stage stages the payment. Its row has an id of the run's own, so that it does not keep a second one out.
func (w *ledgerWorker) stage(tx *Tx, p *ledgerPayment, run string, failure func(string, Class) error, least Class) {
	debit := tx.Update(w.books, ledgerKey(accountID(p.from)), "SET balance = balance - :a").If("balance >= :a").Value(":a", p.amount)
	switch {
	case p.poor == Recorded:
		debit.Else(failure("insufficient funds", Recorded))
	case p.poor != 0 || least == Ambiguous:
		debit.Else(failure("insufficient funds", least))
	}
	tx.Update(w.books, ledgerKey(accountID(p.to)), "SET balance = balance + :a").Value(":a", p.amount)
	row := tx.Put(w.books, ledgerRow{rowID(run), p.key, p.amount})
	if p.guarded {
		row.If("attribute_not_exists(id)")
		if least == Ambiguous {
			row.Else(failure("a row twice", Ambiguous))
		}
	}
	tx.Put(w.books, ledgerRow{outboxID(run), p.key, p.amount})
}

func ledgerKey(id string) map[string]string { return map[string]string{"id": id} }

func (w *ledgerWorker) balance(account int) int64 {
	pause(w.upTo(20 * time.Millisecond))
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.balances[account]
}

// charge asks the card processor, which knows a charge by its key.
func (w *ledgerWorker) charge(q *ledgerRequest, a *Attempt) (string, error) {
	w.mayCrash("before charge")
	pause(w.upTo(100 * time.Millisecond))
	if w.chance(5) {
		return "", &ledgerError{"the processor cannot be reached", Released}
	}
	w.charged(q, a)
	w.mayCrash("after charge")
	pause(w.upTo(100 * time.Millisecond))
	if w.chance(5) {
		return "", Unknown(errReset)
	}
	return "charge of " + a.DownstreamKey("card"), nil
}

// move is another writer, which empties accounts and fills them up again.
func (s *ledgerSim) move(rng interface{ Int64N(int64) int64 }) {
	for range 3 {
		pause(time.Duration(rng.Int64N(int64(30 * time.Second))))
		from := int(rng.Int64N(int64(len(s.balances))))
		to := (from + 1 + int(rng.Int64N(int64(len(s.balances)-1)))) % len(s.balances)
		s.transfer(from, to, rng.Int64N(100))
	}
}

// sweep deletes what the table's time to live would, at its own times.
func (s *ledgerSim) sweep(rng interface{ Int64N(int64) int64 }) {
	for range 4 {
		pause(time.Duration(rng.Int64N(int64(40 * time.Second))))
		for _, p := range s.payments {
			s.mu.Lock()
			if p.now != nil && p.now.expires < time.Now().Unix() {
				s.counts["swept"]++
				s.note(nil, "%s swept", p.key)
				p.now = nil
				s.past.add(p.id, nil)
				if _, err := s.inner.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &s.records, Key: item{"id": textValue(p.id)}}); err != nil {
					s.t.Error(err)
				}
			}
			s.mu.Unlock()
		}
	}
}

// reconcile looks for unknowns now and then, and resolves them by what the books and the processor say.
func (w *ledgerWorker) reconcile() {
	for range w.rng.IntN(3) {
		pause(w.upTo(60 * time.Second))
		found, err := w.unknowns(w.t.Context())
		if err != nil {
			w.t.Errorf("schedule %d: Unknowns: %v", w.seed, err)
			return
		}
		for _, rec := range found {
			pause(w.upTo(time.Second))
			if as, ok := w.truth(rec); ok {
				w.resolve(rec, as)
			}
		}
	}
}

func (w *ledgerWorker) resolve(rec Record, as Resolution) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := w.r.Resolve(ctx, rec, as)
	w.remark(nil, "resolve %s as %s: %v", rec.ID[:8], as.status, short(err))
	words, wrong := resolved(as, err)
	w.count(words)
	if wrong != nil {
		w.t.Errorf("schedule %d: Resolve: %v", w.seed, wrong)
	}
}

// put is a plain write of the books, before anything begins.
func (s *ledgerSim) put(a ledgerAccount) {
	_, err := s.inner.PutItem(s.t.Context(), &dynamodb.PutItemInput{
		TableName: &s.books, Item: item{"id": textValue(a.ID), "balance": numberValue(a.Balance)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// transfer is a payment that bypasses the library, of as much as is there.
func (s *ledgerSim) transfer(from, to int, amount int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if amount = min(amount, s.balances[from]); amount == 0 {
		return 0
	}
	change := func(account int, by int64) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &s.books, Key: item{"id": textValue(accountID(account))}, UpdateExpression: aws.String("ADD balance :by"),
			ExpressionAttributeValues: item{":by": numberValue(by)},
		}}
	}
	if _, err := s.inner.TransactWriteItems(s.t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{change(from, -amount), change(to, amount)},
	}); err != nil {
		s.t.Error(err)
	}
	s.balances[from] -= amount
	s.balances[to] += amount
	s.note(nil, "%d moved from account %d to %d: %v", amount, from, to, s.balances)
	return amount
}

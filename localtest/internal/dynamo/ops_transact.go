package dynamo

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

const (
	maxActions     = 100
	maxTransaction = 4 << 20
	maxToken       = 36
	tokenLife      = 10 * time.Minute
)

var (
	errDuplicateItem   = invalid("Transaction request cannot include multiple operations on one item")
	errTransactionSize = invalid("Transaction size has exceeded the maximum allowed size of 4 MB")
)

// commit is what the engine remembers of a committed transaction with a ClientRequestToken.
type commit struct {
	fingerprint string
	at          time.Time
}

type transactWrite struct {
	TransactItems               []transactAction
	ClientRequestToken          string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string

	writes      []*write
	fingerprint string
}

type transactAction struct{ Put, Update, Delete, ConditionCheck *write }

// write is the action's one write.
func (a transactAction) write() (*write, verb, error) {
	var w *write
	var v verb
	n := 0
	for i, one := range []*write{a.Put, a.Update, a.Delete, a.ConditionCheck} {
		if one != nil {
			w, v = one, verb(i+1)
			n++
		}
	}
	if n != 1 {
		return nil, 0, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return w, v, nil
}

func (r *transactWrite) describe(q *Request) {
	for _, a := range r.TransactItems {
		if w, v, err := a.write(); err == nil {
			q.mention(w.TableName, v.action())
		}
	}
}

// mention adds a table and an IAM action, each once.
func (r *Request) mention(table, action string) {
	if !slices.Contains(r.Tables, table) {
		r.Tables = append(r.Tables, table)
	}
	if !slices.Contains(r.Actions, action) {
		r.Actions = append(r.Actions, action)
	}
}

// checkActions checks how many actions a transaction has.
func checkActions(n int, given bool) error {
	switch {
	case !given:
		return missing("transactItems")
	case n == 0:
		return violation("[]", "transactItems", "Member must have length greater than or equal to 1")
	case n > maxActions:
		return violation("[...]", "transactItems", "Member must have length less than or equal to 100")
	}
	return nil
}

func (r *transactWrite) check() error {
	if err := checkActions(len(r.TransactItems), r.TransactItems != nil); err != nil {
		return err
	}
	if len(r.ClientRequestToken) > maxToken {
		return violation(r.ClientRequestToken, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	if err := checkReports(r.ReturnConsumedCapacity, r.ReturnItemCollectionMetrics); err != nil {
		return err
	}
	size := 0
	for _, a := range r.TransactItems {
		w, v, err := a.write()
		if err != nil {
			return err
		}
		if err := w.check(v); err != nil {
			return err
		}
		if v == verbUpdate && w.update == nil {
			return missing("transactItems.member.update.updateExpression")
		}
		if v == verbCheck && w.condition == nil {
			return missing("transactItems.member.conditionCheck.conditionExpression")
		}
		r.writes = append(r.writes, w)
		size += w.attrs.size()
	}
	if size > maxTransaction {
		return errTransactionSize
	}
	var err error
	if r.ClientRequestToken != "" {
		r.fingerprint, err = canonicalJSON(r.TransactItems)
	}
	return err
}

// canonicalJSON does not depend on the order of members, which a client's encoder may change from call to call.
func canonicalJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return "", err
	}
	b, err = json.Marshal(tree)
	return string(b), err
}

// prepared is an action whose item was looked up.
type prepared struct {
	*write
	table     *table
	key       key
	old, next *item
}

func (r *transactWrite) run(e *Engine, used usage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	repeated, err := e.repeated(r.ClientRequestToken, r.fingerprint)
	if err != nil {
		return nil, err
	}
	actions, reasons, err := r.prepare(e)
	if err != nil {
		return nil, err
	}
	if repeated {
		for _, a := range actions {
			used.read(a.TableName, 2*readUnits(a.old.bytes(), true))
		}
		return r.reply(used, nil), nil
	}
	for i := range actions {
		a := &actions[i]
		if reasons[i].Code == "None" {
			reasons[i] = a.decide()
		}
		// Two underlying writes of each item.
		used.write(a.TableName, 2*writeUnits(a.old.bytes(), a.next.bytes()))
	}
	if err := cancelled(reasons); err != nil {
		return nil, err
	}
	for _, a := range actions {
		if a.verb != verbCheck {
			used.writeIndexes(a.TableName, a.table.contents.put(a.key, a.next), 2)
		}
	}
	if r.ClientRequestToken != "" {
		e.tokens[r.ClientRequestToken] = commit{r.fingerprint, e.now()}
	}
	return r.reply(used, r.metrics(actions)), nil
}

// metrics are those of the collections that the actions wrote to, if they were asked for.
func (r *transactWrite) metrics(actions []prepared) collections {
	if r.ReturnItemCollectionMetrics != "SIZE" {
		return nil
	}
	c := collections{}
	for _, a := range actions {
		if a.verb != verbCheck {
			c.add(a.table, a.key, a.attrs)
		}
	}
	return c
}

// repeated reports whether the transaction was committed before under the token. e.mu is held.
func (e *Engine) repeated(token, fingerprint string) (bool, error) {
	now := e.now()
	maps.DeleteFunc(e.tokens, func(_ string, c commit) bool { return now.Sub(c.at) >= tokenLife })
	c, ok := e.tokens[token]
	if ok && c.fingerprint != fingerprint {
		return false, newError("IdempotentParameterMismatchException", "Request was already processed with other parameters under this ClientRequestToken")
	}
	return ok, nil
}

// prepare looks up every action's item. A key that does not fit its table is a reason to cancel; an empty one is
// refused outright.
func (r *transactWrite) prepare(e *Engine) ([]prepared, []reason, error) {
	actions := make([]prepared, len(r.writes))
	reasons := make([]reason, len(r.writes))
	seen := items{}
	for i, w := range r.writes {
		t, err := e.table(w.TableName)
		if err != nil {
			return nil, nil, err
		}
		actions[i] = prepared{write: w, table: t}
		if err := w.fits(t); err != nil {
			reasons[i] = reasonOf(err)
			continue
		}
		k, err := w.keyIn(t)
		if err != nil {
			return nil, nil, err
		}
		if !seen.add(t, k) {
			return nil, nil, errDuplicateItem
		}
		actions[i].key, actions[i].old = k, t.contents.get(k)
		reasons[i] = reason{Code: "None"}
	}
	return actions, reasons, nil
}

// decide checks the condition and makes the item that is to be written.
func (a *prepared) decide() reason {
	err := a.allowed(a.old)
	if err == nil {
		a.next, err = a.write.next(a.table, a.old)
	}
	if err != nil {
		return reasonOf(err)
	}
	return reason{Code: "None"}
}

func (r *transactWrite) reply(used usage, metrics collections) any {
	return struct {
		ConsumedCapacity      []consumed  `json:",omitempty"`
		ItemCollectionMetrics collections `json:",omitempty"`
	}{used.report(r.ReturnConsumedCapacity, true), metrics}
}

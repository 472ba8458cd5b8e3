package dynamo

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

const (
	maxActions     = 100
	maxTransaction = 4 << 20
)

var (
	errDuplicateItem   = invalid("Transaction request cannot include multiple operations on one item")
	errTransactionSize = invalid("Transaction size has exceeded the maximum allowed size of 4 MB")
)

type transactWrite struct {
	TransactItems               []transactAction
	ClientRequestToken          *string // nil: none
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string

	writes []*write
	print  fingerprint // if there is a token
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

// mention adds a table, which may be named by its ARN, and an IAM action, each once.
func (r *Request) mention(table, action string) {
	table = bareName(table)
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
	if err := checkToken(r.ClientRequestToken); err != nil {
		return err
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
	if r.ClientRequestToken != nil {
		r.print, err = fingerprintOf(r.TransactItems)
	}
	return err
}

// fingerprintOf does not depend on the order of members, which a client's encoder may change from call to call.
func fingerprintOf(v any) (fingerprint, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return fingerprint{}, err
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return fingerprint{}, err
	}
	b, err = json.Marshal(tree)
	return sha256.Sum256(b), err
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
	repeated, err := r.repeated(e)
	if err != nil {
		return nil, err
	}
	actions, err := r.prepare(e)
	if err != nil {
		return nil, err
	}
	if repeated {
		for _, a := range actions {
			used.read(a.TableName, 2*readUnits(a.old.bytes(), true))
		}
		return r.reply(used, nil), nil
	}
	reasons := make([]reason, len(actions))
	for i := range actions {
		a := &actions[i]
		reasons[i] = a.decide()
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
	if r.ClientRequestToken != nil {
		e.tokens.remember(*r.ClientRequestToken, r.print, e.now())
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

// repeated reports whether the transaction was committed before under its token, if it has one. e.mu is held.
func (r *transactWrite) repeated(e *Engine) (bool, error) {
	if r.ClientRequestToken == nil {
		return false, nil
	}
	return e.tokens.repeated(*r.ClientRequestToken, r.print, e.now())
}

// prepare looks up every action's item. A key that does not fit its table is a reason to cancel, before any condition
// is asked; an empty one is refused outright.
func (r *transactWrite) prepare(e *Engine) ([]prepared, error) {
	actions := make([]prepared, len(r.writes))
	var bad misfit
	seen := items{}
	for i, w := range r.writes {
		t, err := e.table(w.TableName)
		if err != nil {
			return nil, err
		}
		if err := w.fits(t); err != nil {
			bad.note(i, err)
			continue
		}
		k, err := w.keyIn(t)
		if err != nil {
			return nil, err
		}
		if !seen.add(t, k) {
			return nil, errDuplicateItem
		}
		actions[i] = prepared{write: w, table: t, key: k, old: t.contents.get(k)}
	}
	return actions, bad.cancels(len(actions))
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

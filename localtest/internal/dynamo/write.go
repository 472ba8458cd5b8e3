package dynamo

// verb is what a write does.
type verb uint8

const (
	verbPut verb = iota + 1
	verbUpdate
	verbDelete
	verbCheck // of transactions: only the condition
)

// action is the IAM action that the verb needs.
func (v verb) action() string {
	return [...]string{"", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}[v]
}

// write is one conditional write, alone or in a transaction.
type write struct {
	TableName                           string
	Item, Key                           rawItem
	UpdateExpression                    *string
	ConditionExpression                 *string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           rawItem
	ReturnValuesOnConditionCheckFailure string

	verb      verb
	attrs     attrs     // the item to put, or the key
	condition condition // nil: always holds
	update    *update
	measured  bool // the reply tells of the item's collection
}

func (w *write) describe(q *Request) {
	q.Tables = []string{w.TableName}
	q.Actions = []string{"dynamodb:" + q.Operation} // of one that stands alone; the verb is not known of what can't be read
	q.key = w.attrs
	if w.ConditionExpression != nil {
		q.Condition = *w.ConditionExpression
	}
	if w.UpdateExpression != nil {
		q.Update = *w.UpdateExpression
	}
}

// check reads everything that can be read without the table.
func (w *write) check(v verb) error {
	w.verb = v
	if err := checkTableName(&w.TableName); err != nil {
		return err
	}
	raw, other, name := w.Key, w.Item, "Item"
	if v == verbPut {
		raw, other, name = w.Item, w.Key, "Key"
	}
	switch {
	case other != nil:
		return unsupported(name)
	case raw == nil && v == verbPut:
		return missing("item")
	case raw == nil:
		return missing("key")
	case w.UpdateExpression != nil && v != verbUpdate:
		return unsupported("UpdateExpression")
	}
	switch w.ReturnValuesOnConditionCheckFailure {
	case "", "NONE", "ALL_OLD":
	default:
		return violation(w.ReturnValuesOnConditionCheckFailure, "returnValuesOnConditionCheckFailure", "Member must satisfy enum value set: [ALL_OLD, NONE]")
	}
	var err error
	if w.attrs, err = raw.decode(checkName, nil); err != nil {
		return err
	}
	if v == verbPut && w.attrs.size() > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	return w.parse()
}

func (w *write) parse() error {
	absent := "ConditionExpression is"
	if w.verb == verbUpdate {
		absent = "UpdateExpression and ConditionExpression are"
	}
	expressions := w.UpdateExpression != nil || w.ConditionExpression != nil
	ph, err := newPlaceholders(w.ExpressionAttributeNames, w.ExpressionAttributeValues, expressions, absent)
	if err != nil {
		return err
	}
	if w.UpdateExpression != nil {
		if w.update, err = parseUpdate(*w.UpdateExpression, ph); err != nil {
			return err
		}
	}
	if w.ConditionExpression != nil {
		if w.condition, err = parseCondition("ConditionExpression", *w.ConditionExpression, ph); err != nil {
			return err
		}
	}
	return ph.checkUsed()
}

// fits checks the write against the table's keys.
func (w *write) fits(t *table) error {
	if err := w.fitsKey(t.schema); err != nil {
		return err
	}
	return w.fitsIndexes(t)
}

// fitsKey checks the write against the table's primary key.
func (w *write) fitsKey(s keySchema) error {
	if w.verb == verbPut {
		return s.fitsItem(w.attrs)
	}
	for _, p := range w.touched() {
		if s.has(p[0].name) {
			return invalidParameter("Cannot update attribute %s. This attribute is part of the key", p[0].name)
		}
	}
	return s.fitsKey(w.attrs)
}

// touched are the places that an update touches.
func (w *write) touched() []path {
	if w.update == nil {
		return nil
	}
	return w.update.touched
}

// keyIn is the key of the item that the write is about, in a table that the write fits.
func (w *write) keyIn(t *table) (key, error) {
	k, err := t.schema.key(w.attrs)
	if err == nil {
		err = w.fillsIndexes(t)
	}
	return k, err
}

// allowed checks the condition.
func (w *write) allowed(old *item) error {
	if w.condition == nil || w.condition.holds(old.of()) {
		return nil
	}
	if w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
		return conditionFailed(old.of())
	}
	return conditionFailed(nil)
}

// next is the item in t after the write, nil if there is none.
func (w *write) next(t *table, old *item) (*item, error) {
	switch w.verb {
	case verbPut:
		return newItem(w.attrs), nil
	case verbDelete:
		return nil, nil
	case verbCheck:
		return old, nil
	case verbUpdate:
	}
	from := w.attrs // an update of what is not there starts from its key
	switch {
	case old != nil:
		from = old.attrs
	case w.update.onlyRemoves(): // from nothing, whatever the paths are
		return nil, nil
	}
	a, err := w.update.apply(from)
	if err != nil {
		return nil, err
	}
	if err := checkDepth(&value{kind: kindM, m: a}, 0); err != nil {
		return nil, err
	}
	it := newItem(a)
	if it.size > maxItem {
		return nil, invalid("Item size to update has exceeded the maximum allowed size")
	}
	if err := t.contents.accept(a); err != nil {
		return nil, err
	}
	return it, nil
}

// outcome is the item before and after a write, and the collection that it is in.
type outcome struct {
	old, next  *item
	collection *collectionMetrics // nil if it was not asked for
}

// run carries out a write that stands alone.
func (w *write) run(e *Engine, used usage) (outcome, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, err := e.table(w.TableName)
	if err != nil {
		return outcome{}, err
	}
	if err := w.fits(t); err != nil {
		return outcome{}, err
	}
	k, err := w.keyIn(t)
	if err != nil {
		return outcome{}, err
	}
	old := t.contents.get(k)
	if err := w.allowed(old); err != nil {
		// A refused write is billed by the item that is there.
		used.write(t.name, writeUnits(old.bytes()))
		return outcome{}, err
	}
	next, err := w.next(t, old)
	if err != nil {
		return outcome{}, err
	}
	used.write(t.name, writeUnits(old.bytes(), next.bytes()))
	used.writeIndexes(t.name, t.contents.put(k, next), 1)
	o := outcome{old: old, next: next}
	if w.measured {
		o.collection = t.collection(k, w.attrs)
	}
	return o, nil
}

// checkDepth refuses lists and maps nested too deep.
func checkDepth(v *value, depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	if v.kind.member() != 0 { // the members of a set are no level of their own
		return nil
	}
	for _, e := range v.list {
		if err := checkDepth(e, depth+1); err != nil {
			return err
		}
	}
	for _, e := range v.m {
		if err := checkDepth(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

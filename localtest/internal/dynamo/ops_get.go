package dynamo

// get is one read by key, alone or in a batch or transaction.
type get struct {
	TableName                string
	Key                      rawItem
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string

	attrs      attrs
	projection []path // nil: everything
}

func (g *get) check() error {
	if err := checkTableName(&g.TableName); err != nil {
		return err
	}
	if g.Key == nil {
		return missing("key")
	}
	var err error
	if g.attrs, err = g.Key.decode(checkName, nil); err != nil {
		return err
	}
	g.projection, err = parseOnlyProjection(g.ProjectionExpression, g.ExpressionAttributeNames)
	return err
}

// parseOnlyProjection is for requests whose only expression is a projection.
func parseOnlyProjection(text *string, names map[string]string) ([]path, error) {
	ph, err := newPlaceholders(names, nil, text != nil, "")
	if err != nil || text == nil {
		return nil, err
	}
	paths, err := parseProjection(*text, ph)
	if err != nil {
		return nil, err
	}
	return paths, ph.checkUsed()
}

// find is the stored item, nil if there is none. e.mu is held.
func (g *get) find(e *Engine) (*item, error) {
	t, err := e.table(g.TableName)
	if err != nil {
		return nil, err
	}
	k, err := t.schema.ofKey(g.attrs)
	if err != nil {
		return nil, err
	}
	return t.contents.get(k), nil
}

// cut is what the reply shows of the item, nil of an absent one.
func (g *get) cut(it *item) *attrs {
	if it == nil {
		return nil
	}
	a := it.attrs
	if g.projection != nil {
		a = project(a, g.projection)
	}
	return &a
}

type getItem struct {
	get
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

func (r *getItem) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:GetItem"}
	q.key = r.attrs
}

func (r *getItem) check() error {
	if err := r.get.check(); err != nil {
		return err
	}
	return checkReturnConsumedCapacity(r.ReturnConsumedCapacity)
}

func (r *getItem) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	it, err := r.find(e)
	e.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	used.read(r.TableName, readUnits(it.bytes(), r.ConsistentRead))
	return struct {
		Item             *attrs    `json:",omitempty"`
		ConsumedCapacity *consumed `json:",omitempty"`
	}{r.cut(it), used.reportOne(r.ReturnConsumedCapacity)}, nil
}

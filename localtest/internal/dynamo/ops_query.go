package dynamo

import (
	"maps"
	"slices"
)

type query struct {
	paging
	KeyConditionExpression *string
	ScanIndexForward       *bool

	keys condition
}

func (r *query) describe(q *Request) {
	q.Tables = []string{bareName(r.TableName)}
	q.Actions = []string{"dynamodb:Query"}
	q.Index = r.index()
	if r.KeyConditionExpression != nil {
		q.Condition = *r.KeyConditionExpression
	}
}

func (r *query) check() error {
	if r.KeyConditionExpression == nil {
		return invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	var err error
	r.keys, err = r.paging.check(r.KeyConditionExpression)
	return err
}

func (r *query) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	from, err := r.source(e)
	if err != nil {
		return nil, err
	}
	if err := r.checkFilter(from); err != nil {
		return nil, err
	}
	hash, sort, err := keyConditions(r.keys, from.schema)
	if err != nil {
		return nil, err
	}
	after, err := r.after(from, hash, sort)
	if err != nil {
		return nil, err
	}
	p := r.newPage()
	for it := range from.rows.query(hash, r.ScanIndexForward != nil && !*r.ScanIndexForward, after) {
		if sort != nil && !sort.holds(it.attrs) {
			continue
		}
		if r.add(p, from, it) {
			break
		}
	}
	r.bill(p, from, used)
	return p, nil
}

// checkFilter refuses a filter on the key, which is what key conditions are for, and one on what an index does not
// show. (A scan's filter takes the latter for absent.)
func (r *query) checkFilter(from *source) error {
	for _, k := range from.schema.attributes() {
		if r.filtered[k.name] {
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", k.name)
		}
	}
	if from.index == nil {
		return nil
	}
	var hidden []string
	for _, name := range slices.Sorted(maps.Keys(r.filtered)) {
		if !from.index.projects(name) {
			hidden = append(hidden, name)
		}
	}
	if hidden != nil {
		return invalidParameter("Secondary index %s does not project one or more filter attributes: [%s]", from.index.name, join(hidden))
	}
	return nil
}

// after is the key that the query goes on behind, nil if it starts anew. It must be one that the query itself could
// have come to.
func (r *query) after(from *source, hash string, sort condition) (*key, error) {
	if r.start == nil {
		return nil, nil
	}
	k, err := from.after(r.start)
	switch {
	case err != nil:
		return nil, err
	case sort != nil && !sort.holds(r.start):
		return nil, invalid("The provided starting key does not match the range key predicate")
	case k.hash != hash:
		return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	return k, nil
}

// keyConditions takes a key condition apart: the partition it names, and the condition on the sort key, if any.
func keyConditions(c condition, s keySchema) (hash string, sort condition, err error) {
	parts := []condition{c}
	if both, ok := c.(andOf); ok {
		parts = []condition{both.a, both.b}
	}
	found := false
	for _, part := range parts {
		name, values, equality, err := keyOperands(part)
		if err != nil {
			return "", nil, err
		}
		attribute := s.hash
		if name != s.hash.name {
			attribute = s.sort
		}
		switch {
		case name == s.hash.name && found, name == s.sort.name && sort != nil:
			return "", nil, invalid("KeyConditionExpressions must only contain one condition per key")
		case name != attribute.name:
			return "", nil, invalid("Query condition missed key schema element: %s", s.hash.name)
		}
		for _, v := range values {
			if v.kind != attribute.kind {
				return "", nil, invalidParameter("Condition parameter type does not match schema type")
			}
		}
		if attribute == s.sort {
			sort = part
			continue
		}
		if !equality {
			return "", nil, invalid("Query key condition not supported")
		}
		a := attrs{s.hash.name: values[0]}
		k, err := keySchema{hash: s.hash}.key(a)
		if err != nil {
			return "", nil, err
		}
		hash, found = k.hash, true
	}
	if !found {
		return "", nil, invalid("Query condition missed key schema element: %s", s.hash.name)
	}
	return hash, sort, nil
}

// keyOperands is the attribute and the constants of one condition on a key, and whether it asks for equality.
func keyOperands(c condition) (name string, values []*value, equality bool, err error) {
	var operands []operand
	switch c := c.(type) {
	case comparison:
		if c.operator == "<>" {
			return "", nil, false, invalid("Invalid KeyConditionExpression: Unsupported operator in KeyConditionExpression: <>")
		}
		operands, equality = []operand{c.a, c.b}, c.operator == "="
		if _, ok := c.a.(constant); ok { // :v < attribute
			operands[0], operands[1] = c.b, c.a
		}
	case between:
		operands = []operand{c.v, c.low, c.high}
	case beginsWith:
		operands = []operand{c.v, c.prefix}
	default:
		return "", nil, false, invalid("Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression")
	}
	attribute, ok := operands[0].(path)
	if !ok || len(attribute) != 1 {
		return "", nil, false, invalid("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes")
	}
	for _, o := range operands[1:] {
		v, ok := o.(constant)
		if !ok {
			return "", nil, false, invalid("Invalid KeyConditionExpression: No key is compared with a constant")
		}
		values = append(values, v.v)
	}
	return attribute[0].name, values, equality, nil
}

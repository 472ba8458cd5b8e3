package dynamo

import "slices"

// replying are the parameters of a plain write that say what to answer.
type replying struct {
	ReturnValues                string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

func (r *replying) check(allowed ...string) error {
	if r.ReturnValues != "" && !slices.Contains([]string{"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"}, r.ReturnValues) {
		return violation(r.ReturnValues, "returnValues", "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]")
	}
	if r.ReturnValues != "" && len(allowed) > 0 && !slices.Contains(allowed, r.ReturnValues) {
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	return checkReports(r.ReturnConsumedCapacity, r.ReturnItemCollectionMetrics)
}

// measures reports whether the reply tells of the item's collection.
func (r *replying) measures() bool { return r.ReturnItemCollectionMetrics == "SIZE" }

// written is the reply to a plain write.
type written struct {
	Attributes            attrs              `json:",omitempty"`
	ConsumedCapacity      *consumed          `json:",omitempty"`
	ItemCollectionMetrics *collectionMetrics `json:",omitempty"`
}

// answer makes the reply.
func (r *replying) answer(o outcome, touched []path, used usage) written {
	w := written{ConsumedCapacity: used.reportOne(r.ReturnConsumedCapacity), ItemCollectionMetrics: o.collection}
	switch r.ReturnValues {
	case "ALL_OLD":
		w.Attributes = o.old.of()
	case "ALL_NEW":
		w.Attributes = o.next.of()
	case "UPDATED_OLD":
		w.Attributes = project(o.old.of(), touched)
	case "UPDATED_NEW":
		w.Attributes = project(o.next.of(), touched)
	}
	return w
}

type putItem struct {
	write
	replying
}

func (r *putItem) check() error {
	r.measured = r.measures()
	if err := r.write.check(verbPut); err != nil {
		return err
	}
	return r.replying.check("NONE", "ALL_OLD")
}

func (r *putItem) run(e *Engine, used usage) (any, error) {
	o, err := r.write.run(e, used)
	return r.answer(o, nil, used), err
}

type updateItem struct {
	write
	replying
}

func (r *updateItem) check() error {
	r.measured = r.measures()
	if err := r.write.check(verbUpdate); err != nil {
		return err
	}
	return r.replying.check()
}

func (r *updateItem) run(e *Engine, used usage) (any, error) {
	o, err := r.write.run(e, used)
	return r.answer(o, r.touched(), used), err
}

type deleteItem struct {
	write
	replying
}

func (r *deleteItem) check() error {
	r.measured = r.measures()
	if err := r.write.check(verbDelete); err != nil {
		return err
	}
	return r.replying.check("NONE", "ALL_OLD")
}

func (r *deleteItem) run(e *Engine, used usage) (any, error) {
	o, err := r.write.run(e, used)
	return r.answer(o, nil, used), err
}

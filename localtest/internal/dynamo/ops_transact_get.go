package dynamo

type transactGet struct {
	TransactItems          []struct{ Get *get }
	ReturnConsumedCapacity string
}

func (r *transactGet) describe(q *Request) {
	for _, a := range r.TransactItems {
		if a.Get != nil {
			q.mention(a.Get.TableName, "dynamodb:GetItem")
		}
	}
}

func (r *transactGet) check() error {
	if err := checkActions(len(r.TransactItems), r.TransactItems != nil); err != nil {
		return err
	}
	for _, a := range r.TransactItems {
		if a.Get == nil {
			return missing("transactItems.member.get")
		}
		if err := a.Get.check(); err != nil {
			return err
		}
	}
	return checkReturnConsumedCapacity(r.ReturnConsumedCapacity)
}

type itemResponse struct {
	Item attrs `json:",omitempty"` // empty: no such item, or nothing of it was asked for
}

func (r *transactGet) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	responses := make([]itemResponse, len(r.TransactItems))
	var bad misfit
	seen := items{}
	size := 0
	for i, a := range r.TransactItems {
		t, err := e.table(a.Get.TableName)
		if err != nil {
			return nil, err
		}
		if err := t.schema.fitsKey(a.Get.attrs); err != nil {
			bad.note(i, err)
			continue
		}
		k, err := t.schema.key(a.Get.attrs)
		if err != nil {
			return nil, err
		}
		if !seen.add(t, k) {
			return nil, errDuplicateItem
		}
		it := t.contents.get(k)
		if shown := a.Get.cut(it); shown != nil {
			responses[i].Item = *shown
		}
		size += it.bytes()
		used.read(t.name, 2*readUnits(it.bytes(), true))
	}
	if err := bad.cancels(len(r.TransactItems)); err != nil {
		return nil, err
	}
	if size > maxTransaction {
		return nil, errTransactionSize
	}
	return struct {
		Responses        []itemResponse
		ConsumedCapacity []consumed `json:",omitempty"`
	}{responses, used.report(r.ReturnConsumedCapacity, true)}, nil
}

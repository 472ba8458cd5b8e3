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
	Item *attrs `json:",omitempty"`
}

func (r *transactGet) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	responses := make([]itemResponse, len(r.TransactItems))
	reasons := make([]reason, len(r.TransactItems))
	seen := items{}
	size := 0
	for i, a := range r.TransactItems {
		t, err := e.table(a.Get.TableName)
		if err != nil {
			return nil, err
		}
		reasons[i] = reason{Code: "None"}
		if err := t.schema.fitsKey(a.Get.attrs); err != nil {
			reasons[i] = reasonOf(err)
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
		responses[i].Item = a.Get.cut(it)
		size += it.bytes()
		used.read(t.name, 2*readUnits(it.bytes(), true))
	}
	if err := cancelled(reasons); err != nil {
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

package dynamo

import (
	"maps"
	"slices"
)

const (
	maxBatchWrites = 25
	maxBatchGets   = 100
	maxBatchReply  = 16 << 20
)

const batchConstraint = "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"

var errDuplicateKeys = invalid("Provided list of item keys contains duplicates")

// batch is an operation of which the service may carry out a part and hand the rest back.
type batch interface {
	// hold makes the batch carry out its first half only, rounded down.
	hold()
}

type batchWrite struct {
	RequestItems                map[string][]batchRequest
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string

	writes []batchedWrite
	held   int // how many of the last ones are left undone
}

type batchRequest struct {
	PutRequest    *struct{ Item rawItem } `json:",omitempty"`
	DeleteRequest *struct{ Key rawItem }  `json:",omitempty"`
}

type batchedWrite struct {
	*write
	raw batchRequest
}

func (r *batchWrite) describe(q *Request) {
	mentionAll(q, r.RequestItems, "dynamodb:BatchWriteItem")
}

// mentionAll adds the tables of a batch in order of their names.
func mentionAll[V any](q *Request, items map[string]V, action string) {
	names := make([]string, 0, len(items))
	for table := range items {
		names = append(names, bareName(table))
	}
	slices.Sort(names)
	for _, name := range names {
		q.mention(name, action)
	}
}

// checkRequestItems refuses a batch of nothing.
func checkRequestItems[V any](items map[string]V, operation string) error {
	switch {
	case items == nil:
		return missing("requestItems")
	case len(items) == 0:
		return invalid("The requestItems parameter is required for %s", operation)
	}
	return nil
}

func (r *batchWrite) hold() { r.held = len(r.writes) - len(r.writes)/2 }

func (r *batchWrite) check() error {
	if err := checkRequestItems(r.RequestItems, "BatchWriteItem"); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(r.RequestItems)) {
		requests := r.RequestItems[table]
		if len(requests) == 0 {
			return violation("{"+table+"=[]}", "requestItems", batchConstraint)
		}
		for _, one := range requests {
			w, v := &write{TableName: table}, verbPut
			switch {
			case (one.PutRequest == nil) == (one.DeleteRequest == nil):
				return invalid("Exactly one of PutRequest and DeleteRequest must be given for each item of table %s", table)
			case one.PutRequest != nil:
				w.Item = one.PutRequest.Item
			default:
				w.Key, v = one.DeleteRequest.Key, verbDelete
			}
			if err := w.check(v); err != nil {
				return err
			}
			r.writes = append(r.writes, batchedWrite{w, one})
		}
	}
	if len(r.writes) > maxBatchWrites {
		return violation("{...}", "requestItems", batchConstraint)
	}
	return checkReports(r.ReturnConsumedCapacity, r.ReturnItemCollectionMetrics)
}

func (r *batchWrite) run(e *Engine, used usage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// All keys are checked before anything is written.
	keys := make([]key, len(r.writes))
	seen := items{}
	for i, w := range r.writes {
		t, err := e.table(w.TableName)
		if err != nil {
			return nil, err
		}
		if w.fitsKey(t.schema) != nil {
			return nil, errKeySchema // of a put, too
		}
		if err := w.fitsIndexes(t); err != nil {
			return nil, err
		}
		if keys[i], err = w.keyIn(t); err != nil {
			return nil, err
		}
		if !seen.add(t, keys[i]) {
			return nil, errDuplicateKeys
		}
	}
	undone := map[string][]batchRequest{}
	metrics := collections{}
	for i, w := range r.writes {
		if i >= len(r.writes)-r.held {
			undone[w.TableName] = append(undone[w.TableName], w.raw)
			continue
		}
		t := e.tables[w.TableName]
		old := t.contents.get(keys[i])
		next, err := w.next(t, old)
		if err != nil {
			return nil, err
		}
		used.write(t.name, writeUnits(old.bytes(), next.bytes()))
		used.writeIndexes(t.name, t.contents.put(keys[i], next), 1)
	}
	if r.ReturnItemCollectionMetrics == "SIZE" {
		for i, w := range r.writes[:len(r.writes)-r.held] {
			metrics.add(e.tables[w.TableName], keys[i], w.attrs)
		}
	}
	return struct {
		UnprocessedItems      map[string][]batchRequest
		ConsumedCapacity      []consumed  `json:",omitempty"`
		ItemCollectionMetrics collections `json:",omitempty"`
	}{undone, used.report(r.ReturnConsumedCapacity, false), metrics}, nil
}

type batchGet struct {
	RequestItems           map[string]*keysAndAttributes
	ReturnConsumedCapacity string

	gets []batchedGet
	held int
}

type keysAndAttributes struct {
	Keys                     []rawItem
	ConsistentRead           bool              `json:",omitempty"`
	ProjectionExpression     *string           `json:",omitempty"`
	ExpressionAttributeNames map[string]string `json:",omitempty"`
}

type batchedGet struct {
	*get
	from *keysAndAttributes
}

func (r *batchGet) describe(q *Request) {
	mentionAll(q, r.RequestItems, "dynamodb:BatchGetItem")
}

func (r *batchGet) hold() { r.held = len(r.gets) - len(r.gets)/2 }

func (r *batchGet) check() error {
	if err := checkRequestItems(r.RequestItems, "BatchGetItem"); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(r.RequestItems)) {
		from := r.RequestItems[table]
		if from == nil || len(from.Keys) == 0 {
			return missing("requestItems." + table + ".member.keys")
		}
		for _, raw := range from.Keys {
			g := &get{TableName: table, Key: raw, ProjectionExpression: from.ProjectionExpression, ExpressionAttributeNames: from.ExpressionAttributeNames}
			if err := g.check(); err != nil {
				return err
			}
			r.gets = append(r.gets, batchedGet{g, from})
		}
	}
	if len(r.gets) > maxBatchGets {
		return invalid("Too many items requested for the BatchGetItem call")
	}
	return checkReturnConsumedCapacity(r.ReturnConsumedCapacity)
}

func (r *batchGet) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	responses := map[string][]*attrs{}
	undone := map[string]*keysAndAttributes{}
	seen := items{}
	size := 0
	for i, g := range r.gets {
		t, err := e.table(g.TableName)
		if err != nil {
			return nil, err
		}
		k, err := t.schema.ofKey(g.attrs)
		if err != nil {
			return nil, err
		}
		if !seen.add(t, k) {
			return nil, errDuplicateKeys
		}
		if responses[t.name] == nil {
			responses[t.name] = []*attrs{}
		}
		it := t.contents.get(k)
		if size += it.bytes(); size > maxBatchReply || i >= len(r.gets)-r.held {
			if undone[t.name] == nil {
				rest := *g.from
				rest.Keys = nil
				undone[t.name] = &rest
			}
			undone[t.name].Keys = append(undone[t.name].Keys, g.Key)
			continue
		}
		used.read(t.name, readUnits(it.bytes(), g.from.ConsistentRead))
		if it != nil {
			responses[t.name] = append(responses[t.name], g.cut(it))
		}
	}
	return struct {
		Responses        map[string][]*attrs
		UnprocessedKeys  map[string]*keysAndAttributes
		ConsumedCapacity []consumed `json:",omitempty"`
	}{responses, undone, used.report(r.ReturnConsumedCapacity, false)}, nil
}

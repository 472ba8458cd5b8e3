package idempotency

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TxMode says how a request's staged writes and its claim relate; the zero value is Do's.
type TxMode int

const (
	// Claimed promises that the handler's every effect is a staged write or a [Step]. The key is claimed as by [Do], so one
	// handler runs at a time, and its outcome and its staged writes commit in one transaction: 2 calls. A crash leaves
	// nothing behind, so the next request runs without asking [OnUnknown], unless a step has begun.
	Claimed TxMode = iota + 1

	// SingleShot promises that the handler only reads and stages. Nothing is claimed: outcome and staged writes commit in
	// one call, and of several handlers that ran at once the first one's commit counts; the others get its outcome. So
	// the handler may run several times, at once, also for a request that will be refused, and before the table is
	// asked: steps are refused there, and [Attempt.Number], Fence and Prior say nothing.
	SingleShot
)

// DoTx is [Do] for a handler whose every effect is a staged write: they commit in the same transaction as the outcome, at
// most once and never one without the other, whatever crashes (I10). The request's Tx says how; its default is [Claimed].
//
//	res, err := idempotency.DoTx(ctx, r, req, func(ctx context.Context, tx *idempotency.Tx) (Receipt, error) {
//		tx.Update("accounts", Key{ID: from}, "SET balance = balance - :a").
//			If("balance >= :a").Value(":a", amount).
//			Else(idempotency.Terminal(ErrFunds))
//		tx.Put("payments", payment).If("attribute_not_exists(id)")
//		return receipt, nil
//	})
//
// If the handler returns an error, or an error marked [Terminal], nothing of what it has staged is written. If a staged
// write's condition fails, its [Write.Else] is the handler's error, or else a [WriteError]; both mean what they would if the
// handler had returned them. (Under [Do] with [TxFrom], where the request's Tx promises nothing, a WriteError is as if marked
// [Unknown]: what the handler may have done elsewhere is there, and what belongs to it is not.) A transaction that meets
// another one on an item, or is throttled, is sent again while there is time.
func DoTx[T any](ctx context.Context, r *Runner, req Request, fn func(context.Context, *Tx) (T, error)) (Result[T], error) {
	if req.Tx == 0 {
		req.Tx = Claimed
	}
	if fn == nil {
		return Do[T](ctx, r, req, nil)
	}
	return Do(ctx, r, req, func(ctx context.Context) (T, error) { return fn(ctx, TxFrom(ctx)) })
}

// Tx collects writes that commit with the outcome: at most 99, of 4 MB together, and one an item. What is staged is read at
// once, so that a value may be changed afterwards. A mistake, such as a value that cannot be marshalled, or a limit surfaces
// at the commit, as a [FieldError], and nothing is written. It is safe for concurrent use. Staging on a nil Tx panics, and so
// does whatever is staged or changed after the handler has returned, since it would be lost.
type Tx struct {
	mu     sync.Mutex
	writes []*Write
	sealed bool
}

// TxFrom returns what collects the staged writes of the run that ctx belongs to, and nil outside of a handler. It serves
// every handler that [Do] or a wrapper runs, with any Request.Tx. Within a [Step]'s function it is nil: what that would stage
// is lost where the step is not run again.
func TxFrom(ctx context.Context) *Tx {
	if run := runningFrom(ctx); run != nil && ctx.Value(stepKey{}) == nil {
		return &run.tx
	}
	return nil
}

// Put stages a PutItem. The item is a struct or map as package attributevalue marshals it, or a
// map[string]types.AttributeValue.
func (tx *Tx) Put(table string, item any) *Write {
	attributes, err := marshalItem("item", item)
	return tx.stage(&Write{put: &types.Put{TableName: &table, Item: attributes}}, err)
}

// Update stages an UpdateItem: key as Put's item, and an update expression such as "SET balance = balance - :a", whose
// names and values [Write.Name] and [Write.Value] give.
func (tx *Tx) Update(table string, key any, expression string) *Write {
	attributes, err := marshalItem("key", key)
	return tx.stage(&Write{update: &types.Update{TableName: &table, Key: attributes, UpdateExpression: &expression}}, err)
}

// Delete stages a DeleteItem.
func (tx *Tx) Delete(table string, key any) *Write {
	attributes, err := marshalItem("key", key)
	return tx.stage(&Write{remove: &types.Delete{TableName: &table, Key: attributes}}, err)
}

// Check stages a condition on an item that is not written; [Write.If] is required.
func (tx *Tx) Check(table string, key any) *Write {
	attributes, err := marshalItem("key", key)
	return tx.stage(&Write{check: &types.ConditionCheck{TableName: &table, Key: attributes}}, err)
}

// Add stages an action that was built elsewhere. Of its four members one must be set. Its condition can be given by the
// action or by [Write.If], not by both.
func (tx *Tx) Add(action types.TransactWriteItem) *Write {
	w := &Write{}
	n := 0
	if action.Put != nil {
		own := *action.Put
		own.Item, own.ExpressionAttributeValues = cloneItem(own.Item), cloneItem(own.ExpressionAttributeValues)
		w.put, n = &own, n+1
	}
	if action.Update != nil {
		own := *action.Update
		own.Key, own.ExpressionAttributeValues = cloneItem(own.Key), cloneItem(own.ExpressionAttributeValues)
		w.update, n = &own, n+1
	}
	if action.Delete != nil {
		own := *action.Delete
		own.Key, own.ExpressionAttributeValues = cloneItem(own.Key), cloneItem(own.ExpressionAttributeValues)
		w.remove, n = &own, n+1
	}
	if action.ConditionCheck != nil {
		own := *action.ConditionCheck
		own.Key, own.ExpressionAttributeValues = cloneItem(own.Key), cloneItem(own.ExpressionAttributeValues)
		w.check, n = &own, n+1
	}
	var err error
	if n == 1 {
		p := w.parts()
		*p.names = maps.Clone(*p.names)
		for _, text := range []**string{p.tableName, p.condition, p.expression} {
			if text != nil && *text != nil {
				*text = aws.String(**text)
			}
		}
	} else {
		w = &Write{}
		err = fmt.Errorf("has %d of Put, Update, Delete and ConditionCheck, must have one", n)
	}
	return tx.stage(w, err)
}

// Actions returns what is staged, as the commit will send it, or the first mistake: for tests of a bare handler, and for
// programs that stage the same writes on a Tx of their own (the zero value will do) and send them by themselves.
func (tx *Tx) Actions() ([]types.TransactWriteItem, error) {
	return actionsOf(tx.staged(), 0, 0)
}

func (tx *Tx) stage(w *Write, err error) *Write {
	if tx == nil {
		panic("idempotency: a write is staged on a nil Tx: the context is not one that Do gave to the handler, or that of a step" +
			" (in a test of a bare handler, use WithAttempt)")
	}
	w.tx = tx
	w.fail(err)
	if p := w.parts(); p.onFailure != nil {
		*p.onFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	tx.mustBeOpen()
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.writes = append(tx.writes, w)
	return w
}

func (tx *Tx) mustBeOpen() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.sealed {
		panic("idempotency: a write is staged, or changed, after the handler has returned: it would be lost")
	}
}

func (tx *Tx) seal() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.sealed = true
}

func (tx *Tx) staged() []*Write {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return append([]*Write(nil), tx.writes...)
}

// marshalItem reads an item or a key.
func marshalItem(what string, v any) (item, error) {
	it, ok := v.(map[string]types.AttributeValue)
	if !ok {
		var err error
		if it, err = attributevalue.MarshalMap(v); err != nil {
			return nil, fmt.Errorf("its %s, a %T, cannot be marshalled: %w", what, v, err)
		}
	}
	if len(it) == 0 {
		return nil, fmt.Errorf("its %s, a %T, has no attributes", what, v)
	}
	return cloneItem(it), nil
}

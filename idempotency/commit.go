package idempotency

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// commit ends the attempt with its result and what it has staged, in one transaction (I10). done is false if the transaction
// was refused and nothing is written; err is then the handler's error, with its mark.
//
// Without an answer the very same transaction is sent again, and the handler never: it would stage something else (H5, rule
// 17).
func (e ending) commit(ctx context.Context, staged []*Write, res result) (a answer, done bool, err error) {
	as := e.outcome(ctx, completed, res)
	actions, mistake := actionsOf(staged, 0, len(as.body.data))
	if mistake != nil {
		return answer{}, false, mistake
	}
	e.storeOrDrop(ctx, &as)
	w := e.r.table.finish(e.own, as, e.req.Retention).with(nil, actions)
	e.own.noteSent(as.at)
	rep, err := e.persist(ctx, w, allSends)
	switch {
	case err == nil && rep.staged != nil:
		return answer{}, false, failedWrite(staged, rep.staged)
	case err == nil:
		a, err = e.finished(ctx, rep, as, nil)
		return a, true, err
	case (refused(err) || cancelledAlways(err)) && !badRecord(err):
		// If an earlier copy has committed all the same, the ending write that follows will say so.
		return answer{}, false, &WriteError{Index: -1, Err: err}
	}
	a, err = e.notRecorded(ctx, err, nil)
	return a, true, err
}

// storedNow is now as a record has it.
func (r *Runner) storedNow() time.Time { return r.wallNow().UTC().Truncate(time.Millisecond) }

// failedWrite is the handler's error for a cancelled transaction: of the first staged write whose condition has failed.
func failedWrite(staged []*Write, reasons []types.CancellationReason) error {
	for i, r := range reasons {
		if !failedCondition(r) {
			continue
		}
		if w := staged[i]; w.otherwise != nil {
			return w.otherwise
		}
		p := staged[i].parts()
		return &WriteError{Index: i, Kind: p.kind, Table: *p.table, Item: r.Item}
	}
	return nil // not reached: one of them has
}

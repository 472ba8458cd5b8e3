package idempotency

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What a single shot writes over a record that is there. Two requests meet there as in the claims of the same conditions; the
// loser gets the winner's outcome.
const (
	shotUpdate = newTokenUpdate + "#status = :status, #form = :form, #started = :started, #completed = :now, #expiry = :expiry"
)

// shot records an outcome without a claim before it: where there is no record, or one whose window is over, under acquire's
// condition (H9, rule 12), over a released record or an unknown under the token that was seen.
func (t *table) shot(c claim, as ended, seen *record, inside bool) write {
	expiry := numberValue(upToSecond(as.at.Add(c.retention)))
	if seen == nil {
		it := t.newRecord(c)
		it[t.schema.Expiry] = expiry
		it[attrStatus] = t.val.status(as.status)
		it[attrCompleted] = timeValue(as.at)
		as.body.put(it, bodyAttributes)
		c.now = as.at // what is over by then is over
		return t.create(c, it)
	}
	values := item{
		":seen": textValue(seen.token), ":mine": textValue(c.token), ":one": t.val.one, ":status": t.val.status(as.status),
		":form": t.val.form(c.form), ":started": timeValue(c.now), ":now": timeValue(as.at), ":expiry": expiry,
	}
	shape := as.body.put(values, bodyValues)
	return t.over(c, as.at, seen, inside, shotUpdate+setStored(shape)+outcomeRemove, values)
}

// over is an update of a record that was seen, under the condition of the claim that it would take.
func (t *table) over(c claim, now time.Time, seen *record, inside bool, update string, values item) write {
	condition := takeOverCondition
	switch {
	case seen.status == released:
		condition = reacquireCondition
		values[":released"] = t.val.released
	case inside:
		condition = takeOverTxCondition
		values[":tx"] = t.val.tx
		fallthrough
	default:
		values[":inprogress"], values[":unknown"], values[":now"] = t.val.inProgress, t.val.unknown, timeValue(now)
	}
	e := newExpression(t.schema, condition, update)
	w := t.update(c.id, &e, values)
	w.pending = stillSeen(seen.token, now)
	return w
}

// keepOutUpdate leaves a record as it was but for the token.
const keepOutUpdate = newTokenUpdate + "#status = :status, #expiry = :expiry"

// keepOut writes a record without an outcome under another token, after a single shot's transaction was refused. A copy of
// that may still be on its way, and meets this record's condition: it can no longer commit what the caller was told did not
// happen. What was unknown stays so.
func (t *table) keepOut(c claim, seen *record, inside bool) write {
	if seen == nil {
		it := t.newRecord(c)
		it[t.schema.Expiry] = c.expiry()
		it[attrStatus] = t.val.released
		it[attrLease] = timeValue(c.leaseEnd)
		it[attrSteps] = t.val.noSteps
		return t.create(c, it)
	}
	s := released
	if seen.status != released && !inside {
		s = unknown
	}
	return t.over(c, c.now, seen, inside, keepOutUpdate, item{
		":seen": textValue(seen.token), ":mine": textValue(c.token), ":one": t.val.one, ":status": t.val.status(s), ":expiry": c.expiry(),
	})
}

// free is a check beside a single shot's write: that the key has no record under this id that is ahead of it. A new record
// needs that there is none; one that takes up what was there only gives way to an outcome or a live lease.
func (t *table) free(c claim, takesUp bool) types.TransactWriteItem {
	p := t.create(c, nil).put
	condition := *p.ConditionExpression
	if takesUp {
		condition += " OR #status IN (:released, :unknown) OR (#status = :inprogress AND #in_progress_expiration < :now)"
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: p.TableName, Key: t.key(c.id), ConditionExpression: &condition,
		ExpressionAttributeNames: p.ExpressionAttributeNames, ExpressionAttributeValues: p.ExpressionAttributeValues,
	}}
}

package idempotency

import (
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The transitions of a record. Each is ONE conditional write: two attempts never decide by a read followed by a
// write (I2). "#name" stands for the attribute of that name; "#pk" and "#expiry" for those that Schema names.
const (
	// Two requests meet here, or a request and a record that was left. The first write creates the record and
	// wins. A record whose window is over is replaced whole, unless its lease is still alive (I6). The
	// statuses are listed: an item without one, or with one of a newer release, is never overwritten.
	// Nor is a record that this very token has created: a copy of the put that comes late must not claim the key
	// again after it was given back.
	acquireCondition = "attribute_not_exists(#pk) OR (#attempt <> :mine AND #expiry < :expired AND " +
		"(#status IN (:completed, :failed, :released, :unknown) OR (#status = :inprogress AND #in_progress_expiration < :now)))"

	// Two requests (claims, single shots) that found the same released record: the first one's token replaces the token that both have
	// seen, the other fails. The token also pins the fingerprint: a record of a later window has another one.
	reacquireCondition = "#attempt = :seen AND #status = :released"

	// Two requests (claims, single shots) or resolvers that found the same unknown, or one of them and the late owner itself. The owner has not
	// ended by then (status), is past its lease by the record's own word, and is out once the token is replaced.
	takeOverCondition = "#attempt = :seen AND (#status = :unknown OR (#status = :inprogress AND #in_progress_expiration < :now))"

	// The same between requests that promise that nothing but staged writes and steps happens. Where no step was recorded,
	// nothing has: the transaction was not committed, or the record would say so. A step that the late owner records at the
	// last moment makes this fail, and so does the unknown of an attempt of another form (H3, rule 13).
	takeOverTxCondition = takeOverCondition + " AND #form = :tx AND attribute_not_exists(#ext) AND attribute_not_exists(#prior_no)"

	// The owner against whoever took the record over, and against its own earlier write whose reply was lost:
	// only the present token ends an attempt or records a step of it, and it ends it once (I3, I4).
	ownCondition = "#attempt = :mine AND #status = :inprogress"
)

// What the updates set. Re-acquire and take-over are updates, not puts: what the record keeps, the steps that a
// late owner adds at the last moment among it, must not be replaced by what was read before (H7, rule 5).
const (
	// newTokenUpdate puts out whoever has had the record: each of its writes asks for its token.
	newTokenUpdate = "SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one, "

	ownUpdate = newTokenUpdate + "#status = :inprogress, #form = :form, #started = :now, #in_progress_expiration = :lease, #expiry = :expiry"

	takeOverUpdate = ownUpdate + ", #prior_no = #attempt_no, #prior_started = if_not_exists(#prior_started, #started), " +
		"#prior_lease = #in_progress_expiration"

	// Steps are added one by one, each under the owner's token: the map is there since the acquire.
	stepUpdate = "SET #steps.#step = :result, #ext = :true"

	// Where the owner has promised that all effects are steps and staged writes, the record says that a step begins before
	// it does: an attempt that dies in it, or cannot record it, must not be taken for one that has done nothing.
	beginUpdate = "SET #ext = :true"

	outcomeRemove = " REMOVE #steps, #prior_no, #prior_started, #prior_lease, #in_progress_expiration"

	// outcomeUpdate and outcomeRemove have between them what the shape of the body needs; see setStored.
	outcomeUpdate = "SET #status = :status, #completed = :now, #expiry = :expiry"

	releaseUpdate = "SET #status = :status, #expiry = :expiry"

	// releasePriorUpdate is for an attempt that has a prior: the unknown that it found is not erased by its own
	// release (H1, rule 1), and the next attempt must hear of it.
	releasePriorUpdate = releaseUpdate + ", #prior_no = :prior_no, #prior_started = :prior_started, #prior_lease = :prior_lease"
)

// expression is a condition, perhaps an update, and the names that the two use: DynamoDB refuses unused ones.
type expression struct {
	condition, update string
	names             map[string]string
}

func newExpression(s Schema, condition, update string) expression {
	e := expression{condition: condition, update: update, names: map[string]string{}}
	for _, word := range strings.FieldsFunc(condition+" "+update, betweenWords) {
		name, ok := strings.CutPrefix(word, "#")
		switch {
		case !ok:
		case name == "pk":
			e.names[word] = s.PartitionKey
		case name == "expiry":
			e.names[word] = s.Expiry
		default:
			e.names[word] = name
		}
	}
	return e
}

func betweenWords(c rune) bool { return c != '#' && c != '_' && (c < 'a' || c > 'z') }

// expressions are made once for a Runner; only their values differ from call to call.
type expressions struct {
	acquire, reacquire, takeOver, takeOverTx, release, releasePrior, step, begin expression

	outcome [shapes]expression // by the shape of the body
}

func newExpressions(s Schema) expressions {
	e := expressions{
		acquire:      newExpression(s, acquireCondition, ""),
		reacquire:    newExpression(s, reacquireCondition, ownUpdate),
		takeOver:     newExpression(s, takeOverCondition, takeOverUpdate),
		takeOverTx:   newExpression(s, takeOverTxCondition, ownUpdate),
		release:      newExpression(s, ownCondition, releaseUpdate),
		releasePrior: newExpression(s, ownCondition, releasePriorUpdate),
		step:         newExpression(s, ownCondition, stepUpdate),
		begin:        newExpression(s, ownCondition, beginUpdate),
	}
	for shape := range e.outcome {
		e.outcome[shape] = newExpression(s, ownCondition, outcomeUpdate+setStored(shape)+outcomeRemove)
	}
	return e
}

// write is one conditional write, ready to be sent, and to be sent again as it is.
type write struct {
	put      *dynamodb.PutItemInput
	update   *dynamodb.UpdateItemInput
	transact *dynamodb.TransactWriteItemsInput // put or update, and what commits with it
	others   int                               // of its actions, those on other records of the key

	// pending says of an item that is in the table (nil: there is none) whether this write may still be needed:
	// it has not been applied, and its condition could still hold.
	pending func(*record) bool
}

// claim is what an attempt writes to become the owner.
type claim struct {
	id          string
	token       string
	ref         string
	fingerprint string
	form        string
	now         time.Time // the attempt's start
	leaseEnd    time.Time
	retention   time.Duration // of a record without an outcome
}

// expiry of a record without an outcome lies its whole retention behind the lease's end: one that crashes at
// the last moment stays protected just as long (H8, rule 7).
func (c claim) expiry() types.AttributeValue {
	return numberValue(upToSecond(c.leaseEnd.Add(c.retention)))
}

// acquire creates the record, or replaces one whose window is over.
func (t *table) acquire(c claim) write {
	it := t.newRecord(c)
	it[t.schema.Expiry] = c.expiry()
	it[attrStatus] = t.val.inProgress
	it[attrLease] = timeValue(c.leaseEnd)
	it[attrSteps] = t.val.noSteps // what a step is added to
	return t.create(c, it)
}

// newRecord is what the first attempt of a window writes of itself.
func (t *table) newRecord(c claim) item {
	it := make(item, 15) // a map that grows costs more than one with room for the most
	t.putKey(it, c.id)
	now := timeValue(c.now)
	it[attrAttempt] = textValue(c.token)
	it[attrNumber] = t.val.one
	it[attrWindow] = now
	it[attrStarted] = now
	it[attrForm] = t.val.form(c.form)
	it[attrSchema] = t.val.schema
	if c.fingerprint != "" {
		it[attrValidation] = textValue(c.fingerprint)
	}
	if c.ref != "" {
		it[attrRef] = textValue(c.ref)
	}
	return it
}

// create puts a record where there is none, or one whose window is over.
func (t *table) create(c claim, it item) write {
	return write{
		put: &dynamodb.PutItemInput{
			TableName:                &t.name,
			Item:                     it,
			ConditionExpression:      &t.expr.acquire.condition,
			ExpressionAttributeNames: t.expr.acquire.names,
			ExpressionAttributeValues: item{
				":mine":       textValue(c.token),
				":expired":    numberValue(expiredBefore(c.now)),
				":now":        timeValue(c.now),
				":inprogress": t.val.inProgress,
				":completed":  t.val.completed,
				":failed":     t.val.failed,
				":released":   t.val.released,
				":unknown":    t.val.unknown,
			},
			// The replaced record tells whether an unknown has just been forgotten (rule 8).
			ReturnValues:                        types.ReturnValueAllOld,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			ReturnConsumedCapacity:              t.capacity,
		},
		pending: func(rec *record) bool { return rec == nil || rec.free(c.now) },
	}
}

// reacquire makes the claim the owner of a released record.
func (t *table) reacquire(c claim, seen *record) write {
	return t.claimOver(&t.expr.reacquire, c, seen, item{":released": t.val.released})
}

// takeOver makes the claim the owner of a record whose last attempt ended without telling.
func (t *table) takeOver(c claim, seen *record) write {
	return t.claimOver(&t.expr.takeOver, c, seen, item{":unknown": t.val.unknown})
}

// takeOverTx is takeOver where nothing can have happened: there is no unknown to remember.
func (t *table) takeOverTx(c claim, seen *record) write {
	return t.claimOver(&t.expr.takeOverTx, c, seen, item{":unknown": t.val.unknown, ":tx": t.val.tx})
}

// stillSeen says of an item, for a write over a record that was seen, that it may still be needed.
func stillSeen(token string, now time.Time) func(*record) bool {
	return func(rec *record) bool {
		return rec != nil && rec.token == token && !rec.live(now) && !rec.finished()
	}
}

func (t *table) claimOver(e *expression, c claim, seen *record, values item) write {
	values[":seen"] = textValue(seen.token)
	values[":mine"] = textValue(c.token)
	values[":one"] = t.val.one
	values[":inprogress"] = t.val.inProgress
	values[":form"] = t.val.form(c.form)
	values[":now"] = timeValue(c.now)
	values[":lease"] = timeValue(c.leaseEnd)
	values[":expiry"] = c.expiry()
	w := t.update(c.id, e, values)
	// The steps, the number and the prior of the attempt are those of the item as it then is (rule 5).
	w.update.ReturnValues = types.ReturnValueAllNew
	w.pending = stillSeen(seen.token, c.now)
	return w
}

// finish ends the attempt with an outcome.
func (t *table) finish(o *ownership, as ended, retention time.Duration) write {
	values := make(item, 8)
	shape := as.body.put(values, bodyValues)
	values[":now"] = timeValue(as.at)
	return t.end(o, &t.expr.outcome[shape], values, as.status, as.at.Add(retention))
}

// leave ends the attempt without an outcome: s is released or unknown.
func (t *table) leave(o *ownership, s status, expiry time.Time) write {
	e, values := &t.expr.release, item{}
	if p := o.attempt.Prior; p != nil {
		e = &t.expr.releasePrior
		values[":prior_no"] = numberValue(p.Number)
		values[":prior_started"] = timeValue(p.Started)
		values[":prior_lease"] = timeValue(p.LeaseEnd)
	}
	return t.end(o, e, values, s, expiry)
}

// step records the result of a step.
func (t *table) step(o *ownership, name string, data []byte) write {
	e := t.expr.step
	e.names = maps.Clone(e.names)
	e.names["#step"] = name
	w := t.update(o.attempt.id, &e, item{
		":mine": textValue(o.attempt.Token), ":inprogress": t.val.inProgress,
		":result": jsonValue(data), ":true": t.val.yes,
	})
	w.pending = func(rec *record) bool {
		return rec != nil && rec.token == o.attempt.Token && rec.status == inProgress && rec.steps[name] == nil
	}
	return w
}

// beginSteps says that a step begins.
func (t *table) beginSteps(o *ownership) write {
	w := t.update(o.attempt.id, &t.expr.begin, item{
		":mine": textValue(o.attempt.Token), ":inprogress": t.val.inProgress, ":true": t.val.yes,
	})
	w.pending = func(rec *record) bool {
		return rec != nil && rec.token == o.attempt.Token && rec.status == inProgress && !rec.external
	}
	return w
}

func (t *table) end(o *ownership, e *expression, values item, s status, expiry time.Time) write {
	values[":mine"] = textValue(o.attempt.Token)
	values[":inprogress"] = t.val.inProgress
	values[":status"] = t.val.status(s)
	values[":expiry"] = numberValue(upToSecond(expiry))
	w := t.update(o.attempt.id, e, values)
	w.pending = func(rec *record) bool {
		return rec != nil && rec.token == o.attempt.Token && rec.status == inProgress
	}
	return w
}

func (t *table) update(id string, e *expression, values item) write {
	return write{update: &dynamodb.UpdateItemInput{
		TableName:                           &t.name,
		Key:                                 t.key(id),
		ConditionExpression:                 &e.condition,
		UpdateExpression:                    &e.update,
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ReturnConsumedCapacity:              t.capacity,
	}}
}

package idempotency

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// table is the DynamoDB table behind a Runner. It knows the transitions and how to get an answer to one; what
// an answer means is decided by its callers.
type table struct {
	client   Client
	name     string
	schema   Schema
	expr     expressions
	val      constants
	capacity types.ReturnConsumedCapacity
	jitter   func(time.Duration) time.Duration // up to its argument; a simulation makes it repeatable
}

func newTable(client Client, cfg Config) table {
	t := table{client: client, name: cfg.Table, schema: cfg.Schema, expr: newExpressions(cfg.Schema), val: newConstants(), jitter: rand.N[time.Duration]}
	if cfg.Observe != nil {
		t.capacity = types.ReturnConsumedCapacityTotal
	}
	return t
}

// key returns a new map with the record's key, for the caller to add to.
func (t *table) key(id string) item {
	k := make(item, 4)
	t.putKey(k, id)
	return k
}

func (t *table) putKey(it item, id string) {
	it[t.schema.PartitionKey] = textValue(id)
	if t.schema.SortKey != "" {
		it[t.schema.SortKey] = textValue(t.schema.SortKeyValue)
	}
}

// meter adds up what the calls of one request consumed. Steps may be recorded side by side.
type meter struct {
	mu          sync.Mutex
	read, write float64
}

func (m *meter) add(read, write float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read += read
	m.write += write
}

// take returns what was added since the last time.
func (m *meter) take() (read, write float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	read, write = m.read, m.write
	m.read, m.write = 0, 0
	return read, write
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

// reply is the table's answer to a conditional write.
type reply struct {
	// applied: the write was made now. Otherwise its condition failed: because another request's write is
	// there, or because an earlier copy of this very write is.
	applied bool

	// rec is what an applied put has replaced, or an applied re-acquire or take-over has made; of a failed
	// condition, what is there instead. nil: there was, or is, nothing.
	rec *record

	// staged are the reasons why a transaction was cancelled, one a staged write, if the record's own write was none.
	staged []types.CancellationReason

	// elsewhere: it was cancelled because the key has a record under another id.
	elsewhere bool
}

// How often a write without an answer is sent, and how long one call may take: the SDK has retries of its own
// inside a call, with pauses of up to 7 s when it is throttled, and no time limit.
const (
	fewSends    = 3             // the caller is better told soon: nothing has happened, or nothing must be remembered
	allSends    = math.MaxInt32 // while there is time: an effect has happened
	maxCall     = 10 * time.Second
	minCall     = 100 * time.Millisecond
	conflictMin = 25 * time.Millisecond
)

// persist sends w until the table has answered it, ctx ends, or it was sent as often as sends says. It returns an
// error only if it cannot be known whether the write was applied, or if the table refused it; see [refused].
//
// A write without an answer (a lost reply, a 500, a throttled table) may have been applied, and then its
// repetition fails on itself. Therefore the record is read in between: reads are not throttled together with
// writes, and the record shows whether the write is still needed (I7, rule 9).
func (t *table) persist(ctx context.Context, m *meter, w write, sends int) (reply, error) {
	var lastErr error
	always := true // every answer so far was that nothing is written
	for sent := range sends {
		rep, err := t.send(ctx, m, w)
		if err == nil || refused(err) {
			return rep, err
		}
		always = always && isCancelled(err)
		if _, known := errors.AsType[smithy.APIError](lastErr); !known {
			lastErr = err // the table's own words say more than the end of a context after them
		}
		rec, err := t.get(ctx, m, w.id(t.schema))
		if err == nil && !w.pending(rec) {
			return reply{rec: rec}, nil
		}
		if badRecord(err) {
			return reply{}, err
		}
		if sent+1 == sends || !sleep(ctx, t.backoff(sent, conflictMin)) {
			break
		}
	}
	if always {
		return reply{}, alwaysCancelledError{lastErr}
	}
	return reply{}, lastErr
}

// send makes one call, and repeats it while the item is held by a transaction or a replication: such a write has
// certainly not been applied, and the SDK does not retry it (rule 18).
func (t *table) send(ctx context.Context, m *meter, w write) (reply, error) {
	for n := 0; ; n++ {
		rep, err := t.sendOnce(ctx, m, w)
		if !conflicting(err) || !sleep(ctx, t.backoff(n, conflictMin)) {
			return rep, err
		}
	}
}

func (t *table) sendOnce(ctx context.Context, m *meter, w write) (reply, error) {
	callCtx, cancel := limitCall(ctx)
	defer cancel()
	var it item
	var err error
	if w.transact != nil {
		return t.sendTransaction(ctx, callCtx, m, w)
	}
	if w.put != nil {
		var out *dynamodb.PutItemOutput
		if out, err = t.client.PutItem(callCtx, w.put); err == nil {
			m.add(0, units(out.ConsumedCapacity))
			it = out.Attributes
		}
	} else {
		var out *dynamodb.UpdateItemOutput
		if out, err = t.client.UpdateItem(callCtx, w.update); err == nil {
			m.add(0, units(out.ConsumedCapacity))
			it = out.Attributes
		}
	}
	if err == nil {
		if len(it) == 0 {
			return reply{applied: true}, nil
		}
		rec, err := readRecord(it, t.schema)
		if w.put != nil {
			// The record is ours. One that it replaced and that cannot be read takes nothing back.
			return reply{applied: true, rec: rec}, nil
		}
		return reply{applied: true, rec: rec}, err
	}
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return reply{}, err
	}
	t.billRefused(m, failed.Item)
	if len(failed.Item) == 0 {
		// Nothing is there, or the endpoint does not know ALL_OLD (rule 29).
		rec, err := t.get(ctx, m, w.id(t.schema))
		return reply{rec: rec}, err
	}
	rec, err := readRecord(failed.Item, t.schema)
	return reply{rec: rec}, err
}

// billRefused counts what DynamoDB bills for a condition that has failed, by the size of the item that is there: it does not
// tell.
func (t *table) billRefused(m *meter, it item) {
	if t.capacity != "" {
		m.add(0, float64(writeUnits(sizeOf(it))))
	}
}

// id of the record that the write is about.
func (w write) id(s Schema) string {
	var key item
	if w.put != nil {
		key = w.put.Item
	} else {
		key = w.update.Key
	}
	id, _ := key[s.PartitionKey].(*types.AttributeValueMemberS)
	return id.Value
}

// get reads the record as it is now; nil if there is none.
func (t *table) get(ctx context.Context, m *meter, id string) (*record, error) {
	return t.read(ctx, m, id, true)
}

// read with consistent false costs half, and may find what was there a moment ago: that decides nothing but a replay
// (rule 24).
func (t *table) read(ctx context.Context, m *meter, id string, consistent bool) (*record, error) {
	it, err := t.getItem(ctx, m, id, consistent)
	if err != nil || len(it) == 0 {
		return nil, err
	}
	return readRecord(it, t.schema)
}

// getItem returns nothing if there is no such item.
func (t *table) getItem(ctx context.Context, m *meter, id string, consistent bool) (item, error) {
	callCtx, cancel := limitCall(ctx)
	defer cancel()
	out, err := t.client.GetItem(callCtx, &dynamodb.GetItemInput{
		TableName:              &t.name,
		Key:                    t.key(id),
		ConsistentRead:         aws.Bool(consistent),
		ReturnConsumedCapacity: t.capacity,
	})
	if err != nil {
		return nil, err
	}
	m.add(units(out.ConsumedCapacity), 0)
	return out.Item, nil
}

// refused says that the table has answered, and that it will answer the same again: no permission, no such
// table, an invalid request. A throttled request is none of these.
func refused(err error) bool {
	if badRecord(err) {
		return true
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || conflicting(err) || undecided(err) {
		return false
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
		return false
	}
	// An error that the SDK has no type for, such as AccessDeniedException, is known by its status.
	reply, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return api.ErrorFault() == smithy.FaultClient || ok && reply.HTTPStatusCode()/100 == 4 && reply.HTTPStatusCode() != http.StatusRequestTimeout
}

func badRecord(err error) bool { return errors.Is(err, ErrBadRecord) }

func conflicting(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return hasReason(cancelled, "TransactionConflict")
	}
	_, ok := errors.AsType[*types.ReplicatedWriteConflictException](err)
	return ok
}

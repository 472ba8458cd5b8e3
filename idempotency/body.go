package idempotency

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An outcome that is too long for the record is kept beside it, in items that are written before the outcome is recorded, and
// that have no status: nothing takes one for a record. Each time that an answer is stored its items get a name of their own, so
// that no two attempts, nor two answers of one attempt, ever write the same item: they need no condition (H20, rule 25). Items
// of an attempt that loses its record afterwards are left to time to live.
const (
	chunkSize = 384 << 10
	maxChunks = 20 // one request writes them all, and one reads them: DynamoDB takes 25, and 16 MB

	// chunkGrace is how much longer the items live than the record: a day, and what a single shot's rounds may take.
	chunkGrace = 25 * time.Hour

	attrKind  = "kind" // of an item that is no record
	kindChunk = "body"
)

// chunks is the record's pointer to the items of its outcome's body.
type chunks struct {
	name   string // in their ids
	count  int
	size   int // bytes, of all
	digest [sha256.Size]byte
}

func newChunks(data []byte) *chunks {
	return &chunks{name: rand.Text(), count: (len(data) + chunkSize - 1) / chunkSize, size: len(data), digest: sha256.Sum256(data)}
}

func (c *chunks) id(record string, index int) string {
	return record + "#" + c.name + "#" + strconv.Itoa(index)
}

// The members of the attribute body.
const (
	memberName   = "name"
	memberCount  = "items"
	memberSize   = "bytes"
	memberDigest = "sha256"
)

func (c *chunks) value() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: item{
		memberName: textValue(c.name), memberCount: numberValue(int64(c.count)), memberSize: numberValue(int64(c.size)),
		memberDigest: &types.AttributeValueMemberB{Value: c.digest[:]},
	}}
}

// chunks reads the attribute body.
func (r *reader) chunks() *chunks {
	m, ok := r.item[attrBody].(*types.AttributeValueMemberM)
	if !ok {
		r.fail(attrBody, "must be a map")
		return nil
	}
	in := reader{item: m.Value}
	c := &chunks{name: in.text(memberName), count: int(in.number(memberCount)), size: int(in.number(memberSize))}
	digest, _ := m.Value[memberDigest].(*types.AttributeValueMemberB)
	switch {
	case in.err != nil:
		r.failWith(fmt.Errorf("in attribute %s: %w", attrBody, in.err))
	case digest == nil || len(digest.Value) != len(c.digest):
		r.fail(attrBody, "must have the "+memberDigest+" of the body")
	case c.count < 1 || c.count > maxChunks || c.size < 1 || c.size > maxOutcome:
		r.failWith(badAttribute(attrBody, fmt.Sprintf("%d items with %d bytes", c.count, c.size), fmt.Sprintf("this release reads up to %d with %d", maxChunks, maxOutcome)))
	default:
		copy(c.digest[:], digest.Value)
	}
	return c
}

// writeChunks writes all items of a record that expires then, or returns an error. Each can be sent again as it is.
func (t *table) writeChunks(ctx context.Context, m *meter, record string, c *chunks, data []byte, expires time.Time) error {
	var left []types.WriteRequest
	for i := range c.count {
		it := t.key(c.id(record, i))
		it[attrKind] = textValue(kindChunk)
		it[t.schema.Expiry] = numberValue(upToSecond(expires.Add(chunkGrace)))
		it[attrData] = &types.AttributeValueMemberB{Value: data[i*chunkSize : min((i+1)*chunkSize, len(data))]}
		left = append(left, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	return t.repeat(ctx, allSends, func(ctx context.Context) (done bool, err error) {
		if c.count == 1 { // needs no permission beside that of the record's own writes
			out, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: aws.String(t.name), Item: left[0].PutRequest.Item, ReturnConsumedCapacity: t.capacity,
			})
			if err == nil {
				m.add(0, units(out.ConsumedCapacity))
			}
			return true, err
		}
		out, err := t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.name: left}, ReturnConsumedCapacity: t.capacity,
		})
		if err != nil {
			return false, err
		}
		for _, used := range out.ConsumedCapacity {
			m.add(0, units(&used))
		}
		left = left[:0:0]
		for _, unprocessed := range out.UnprocessedItems { // by the table's name, or its ARN
			left = append(left, unprocessed...)
		}
		return len(left) == 0, nil
	})
}

// errBodyLost is a typed error's cause: it never leads to a run (rule 25).
var errBodyLost = errors.New("the answer's items are lost")

// readChunks reads all items and checks that they are what was written. Half a unit each 4 KB finds them, unless they were
// written a moment ago: what is missing is asked for once more, at full price.
func (t *table) readChunks(ctx context.Context, m *meter, record string, c *chunks) ([]byte, error) {
	found := make([][]byte, c.count)
	missing := make([]int, c.count)
	for i := range missing {
		missing[i] = i
	}
	for _, consistent := range []bool{false, true} {
		if err := t.readSome(ctx, m, record, c, missing, consistent, found); err != nil {
			return nil, err
		}
		missing = missing[:0]
		for i := range found {
			if found[i] == nil {
				missing = append(missing, i)
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %d of %d are not there, the first is %s", errBodyLost, len(missing), c.count, c.id(record, missing[0]))
	}
	data := bytes.Join(found, nil)
	if len(data) != c.size || sha256.Sum256(data) != c.digest {
		return nil, fmt.Errorf("%w: the answer's items are not what was written: %d bytes, where %d with SHA-256 %x belong", ErrBadRecord, len(data), c.size, c.digest)
	}
	return data, nil
}

// readSome reads the items with the given indices into found.
func (t *table) readSome(ctx context.Context, m *meter, record string, c *chunks, indices []int, consistent bool, found [][]byte) error {
	keys := types.KeysAndAttributes{ConsistentRead: aws.Bool(consistent)}
	index := map[string]int{}
	for _, i := range indices {
		id := c.id(record, i)
		index[id] = i
		keys.Keys = append(keys.Keys, t.key(id))
	}
	take := func(it item) {
		id, _ := it[t.schema.PartitionKey].(*types.AttributeValueMemberS)
		if id == nil {
			return
		}
		if i, ok := index[id.Value]; ok {
			found[i] = []byte{} // there, whatever it holds
			if data, ok := it[attrData].(*types.AttributeValueMemberB); ok && data.Value != nil {
				found[i] = data.Value
			}
		}
	}
	return t.repeat(ctx, fewSends, func(ctx context.Context) (done bool, err error) {
		if c.count == 1 { // as in writeChunks
			it, err := t.getItem(ctx, m, c.id(record, 0), consistent)
			take(it)
			return true, err
		}
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.name: keys}, ReturnConsumedCapacity: t.capacity,
		})
		if err != nil {
			return false, err
		}
		for _, used := range out.ConsumedCapacity {
			m.add(units(&used), 0)
		}
		for _, items := range out.Responses {
			for _, it := range items {
				take(it)
			}
		}
		keys.Keys = nil
		for _, unprocessed := range out.UnprocessedKeys {
			keys.Keys = append(keys.Keys, unprocessed.Keys...)
		}
		return len(keys.Keys) == 0, nil
	})
}

package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The sizes that decide where an outcome is kept, in bytes. DynamoDB bills a write by the KB, and a condition that fails, as a
// replay's does, by the size of the item that is there.
const (
	// recordSize is what the record's own attributes take, about: the first KB has room for half a KB of answer.
	recordSize = 512

	// DefaultInline keeps a record within two write units, where its operation and ref are short.
	DefaultInline = 2<<10 - recordSize

	// maxInline is the most that fits into the record. DynamoDB's limit for an item is 400 KB with all names; what is left
	// pays for the other attributes at their longest.
	maxInline = 400<<10 - 8<<10

	// maxOutcome is the most that is stored at all, before and after compression. Lambda's own limit for an answer is 6 MB.
	maxOutcome = maxChunks * chunkSize
)

// tooLong says why an outcome of that many bytes is not stored.
func tooLong(bytes int) error {
	return fmt.Errorf("the outcome has %d bytes, over 7.5 MiB, and is not stored", bytes)
}

// packing says how the bytes of an outcome are to be read. What was done to them stands in this order.
type packing struct {
	none      bool // there are none: the outcome could not be stored
	reference bool // of which the request's Rebuild makes the answer
	deflated  bool // RFC 1951
	sealed    bool // by the Config's Codec
}

func (e packing) String() string {
	if e == (packing{}) {
		return ""
	}
	var words []string
	for _, w := range []struct {
		set  bool
		word string
	}{{e.none, "none"}, {e.reference, "reference"}, {e.deflated, "deflate"}, {e.sealed, "sealed"}} {
		if w.set {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, "+")
}

func parsePacking(s string) (e packing, ok bool) {
	if s == "" {
		return e, true
	}
	for word := range strings.SplitSeq(s, "+") {
		switch word {
		case "none":
			e.none = true
		case "reference":
			e.reference = true
		case "deflate":
			e.deflated = true
		case "sealed":
			e.sealed = true
		}
	}
	return e, e.String() == s && (!e.none || s == "none")
}

// stored is the body of an outcome as the record has it.
type stored struct {
	encoding packing
	data     []byte // kept in the record; nil: in items of its own, or nowhere
	items    *chunks
}

func (s stored) equal(other stored) bool {
	same := s.items == other.items || s.items != nil && other.items != nil && *s.items == *other.items
	return same && s.encoding == other.encoding && bytes.Equal(s.data, other.data)
}

// The shapes of a stored body: which of its attributes the record has.
const (
	hasData = 1 << iota
	hasEncoding
	hasItems
	shapes
)

// bodyNames are names of the attributes of a stored body, or of the values of an update that sets them.
type bodyNames struct{ data, encoding, items string }

var (
	bodyAttributes = bodyNames{attrData, attrEncoding, attrBody}
	bodyValues     = bodyNames{":" + attrData, ":" + attrEncoding, ":" + attrBody}
)

// put adds the body to an item, or to the values of an update, and returns its shape.
func (s stored) put(it item, names bodyNames) (shape int) {
	if e := s.encoding.String(); e != "" {
		it[names.encoding], shape = textValue(e), hasEncoding
	}
	switch {
	case s.items != nil:
		it[names.items] = s.items.value()
		return shape | hasItems
	case s.encoding.none:
		return shape
	case s.encoding.deflated || s.encoding.sealed:
		it[names.data] = &types.AttributeValueMemberB{Value: s.data}
	default: // text where it is text, which a person can read in the console
		it[names.data] = jsonValue(s.data)
	}
	return shape | hasData
}

// setStored is the part of an update that sets the attributes of a shape, whose values are named like these.
func setStored(shape int) string {
	var set strings.Builder
	for _, a := range []struct {
		shape int
		name  string
	}{{hasData, attrData}, {hasEncoding, attrEncoding}, {hasItems, attrBody}} {
		if shape&a.shape != 0 {
			set.WriteString(", #" + a.name + " = :" + a.name)
		}
	}
	return set.String()
}

// result is what a handler's end leaves to be recorded.
type result struct {
	data      []byte
	reference bool  // data is one
	err       error // why there is no data
}

// ended is an outcome as it is written: its bytes and its time are fixed once, and sent again as they are (rule 22).
type ended struct {
	id     string // of its record, for which it is sealed and its items are named
	status status
	at     time.Time
	body   stored
	err    error  // why the body is not stored
	data   []byte // what the body was made of
	beside []byte // of which the body's items are yet to be made
}

// outcome makes an outcome of a result: what cannot be stored is done all the same. It does not ask the table.
func (c *call) outcome(ctx context.Context, s status, res result) ended {
	as := ended{id: c.id, status: s, at: c.r.storedNow(), data: res.data, err: res.err}
	if as.err == nil {
		as.err = c.pack(ctx, &as, res)
	}
	if as.err != nil {
		as.drop(as.err)
	}
	return as
}

// drop leaves the outcome without a body.
func (as *ended) drop(err error) {
	as.err, as.body, as.data, as.beside = err, stored{encoding: packing{none: true}}, nil, nil
}

func (c *call) pack(ctx context.Context, as *ended, res result) error {
	data, e := res.data, packing{reference: res.reference}
	if len(data) > maxOutcome {
		return tooLong(len(data))
	}
	if short := c.r.deflate(data); writeUnits(recordSize+len(short)) < writeUnits(recordSize+len(data)) {
		data, e.deflated = short, true
	}
	if codec := c.r.cfg.Codec; codec != nil {
		sealing, cancel := halfOf(ctx)
		defer cancel()
		var err error
		if data, err = codec.Seal(sealing, outcomeName(c.id, as.status, e), bytes.Clone(data)); err != nil {
			return fmt.Errorf("the outcome could not be sealed: %w", err)
		}
		e.sealed = true
	}
	switch as.body.encoding = e; {
	case len(data) > maxOutcome:
		return tooLong(len(data))
	case len(data) > c.r.cfg.Inline:
		as.beside = data
	default:
		as.body.data = data
	}
	return nil
}

// storeBeside writes the body's items, if it has any, before the outcome that points to them. The record expires then.
func (c *call) storeBeside(ctx context.Context, as *ended, expires time.Time) error {
	if as.beside == nil {
		return nil
	}
	ctx, cancel := halfOf(ctx)
	defer cancel()
	items := newChunks(as.beside)
	if err := c.r.table.writeChunks(ctx, &c.meter, c.id, items, as.beside, expires); err != nil {
		return fmt.Errorf("the items of the outcome's body could not be written: %w", err)
	}
	as.body.items, as.beside = items, nil
	return nil
}

// halfOf the time that is left is for what comes before the outcome's own write.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(maxTrying)
	if deadline, ok := ctx.Deadline(); ok {
		end = earlier(end, time.Now().Add(time.Until(deadline)/2))
	}
	return context.WithDeadline(ctx, end)
}

// bytes are the stored outcome's, as the handler's end has left them. The error is one of the package's sentinels, with its
// cause: [ErrNoBody], [ErrBadRecord] or [ErrUnavailable].
func (c *call) bytes(ctx context.Context, rec *record) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTrying)
	defer cancel()
	body := rec.body
	if body.encoding.none {
		return nil, ErrNoBody
	}
	data := body.data
	if body.items != nil {
		var err error
		switch data, err = c.r.table.readChunks(ctx, &c.meter, c.id, body.items); {
		case errors.Is(err, errBodyLost):
			return nil, fmt.Errorf("%w: %w", ErrNoBody, err)
		case badRecord(err):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: read the answer's items, table %s: %w", ErrUnavailable, c.r.table.name, err)
		}
	}
	if body.encoding.sealed {
		if c.r.cfg.Codec == nil {
			return nil, badAttribute(attrEncoding, fmt.Sprintf("%q", body.encoding), "is read with a Config.Codec")
		}
		var err error
		if data, err = c.r.cfg.Codec.Open(ctx, outcomeName(c.id, rec.status, body.encoding), data); err != nil {
			return nil, fmt.Errorf("%w: its outcome cannot be opened: %w", ErrBadRecord, err)
		}
	}
	if body.encoding.deflated {
		var err error
		if data, err = c.r.inflate(data); err != nil {
			return nil, fmt.Errorf("%w: its outcome cannot be decompressed: %w", ErrBadRecord, err)
		}
	}
	return data, nil
}

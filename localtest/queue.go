package localtest

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// Queue is an SQS queue with its dead-letter queue, and with Lambda's poller, whose event source mapping has
// FunctionResponseTypes: [ReportBatchItemFailures]. Its methods may be called concurrently.
//
// Nothing happens by itself: [Queue.Deliver] is one round of the poller. A message that comes back is available at once, at
// the end of a standard queue, or at its place in a FIFO queue: there are no visibility timeouts, delays or retention
// periods. Messages of a standard queue are delivered in that order, and each once a round; SQS promises neither. Nothing is
// checked against SQS's limits but the size of a batch.
//
// Sources: "Handling errors for an SQS event source in Lambda" (AWS Lambda Developer Guide); "Learn how to configure a
// dead-letter queue redrive in Amazon SQS" and "Using the message deduplication ID in Amazon SQS" (Amazon SQS Developer Guide).
type Queue struct {
	// MaxReceives is the redrive policy's maxReceiveCount: a message that comes back from its MaxReceives-th delivery, or a
	// later one, goes to the dead-letter queue. That counts those of a FIFO group that have come back without a run, behind one
	// that has failed, too. Set it before the first Deliver. Default 0: there is no dead-letter queue.
	MaxReceives int

	name string
	fifo bool

	mu       sync.Mutex // guards what follows; never held while a consumer runs
	places   int        // that have been taken so far
	messages []*queued  // by place; those in flight are among them
	dead     []events.SQSMessage
}

// Message is what a producer sends.
type Message struct {
	Body string

	// Group is the MessageGroupId. A FIFO queue requires it and keeps the order within it; a standard queue only hands it on.
	Group string

	// DeduplicationID is the MessageDeduplicationId of a message to a FIFO queue. Default: the body's SHA-256, as by
	// content-based deduplication. The queue drops no duplicates: two messages with one id are sent more than 5 minutes
	// apart, which is as long as SQS remembers it.
	DeduplicationID string

	// Attributes are the message's own, which are not SQS's.
	Attributes map[string]events.SQSMessageAttribute
}

// Delivery is what one round has done. Without a message there was none to deliver, and nobody was invoked.
type Delivery struct {
	Event    events.SQSEvent
	Deleted  []string // ids of the messages that are gone
	Returned []string // ids of those that have come back, those that went on to the dead-letter queue among them
}

// queued is a message in a queue.
type queued struct {
	events.SQSMessage // Attributes: SQS's, as of the last delivery
	receives          int
	place             int // in the queue's order
	inFlight, gone    bool
}

// NewQueue returns an empty queue. It is a FIFO queue if its name ends in ".fifo". Its ARN is
// arn:aws:sqs:us-east-1:000000000000:<name>.
//
// It panics without a name.
func NewQueue(name string) *Queue {
	if name == "" {
		panic("localtest: new queue: name is empty, must be that of a queue")
	}
	return &Queue{name: name, fifo: strings.HasSuffix(name, ".fifo")}
}

// Send puts a message at the end of the queue and returns its message id, a UUID. SentTimestamp is time.Now. It panics where
// SQS refuses the message: one without a group to a FIFO queue, one with a deduplication id to a standard queue.
func (q *Queue) Send(m Message) string {
	switch {
	case q.fifo && m.Group == "":
		panic("localtest: send to " + q.name + ": Group is empty, must be set for a FIFO queue")
	case !q.fifo && m.DeduplicationID != "":
		panic("localtest: send to " + q.name + ": DeduplicationID is set, must be empty for a standard queue")
	}
	attributes := map[string]string{"SenderId": "localtest"}
	if m.Group != "" {
		attributes["MessageGroupId"] = m.Group
	}
	if q.fifo {
		sum := sha256.Sum256([]byte(m.Body))
		attributes["MessageDeduplicationId"] = cmp.Or(m.DeduplicationID, hex.EncodeToString(sum[:]))
	}
	own := maps.Clone(m.Attributes)
	if own == nil {
		own = map[string]events.SQSMessageAttribute{} // as Lambda has it
	}
	sum := md5.Sum([]byte(m.Body))
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(events.SQSMessage{
		Body: m.Body, Md5OfBody: hex.EncodeToString(sum[:]), Attributes: attributes, MessageAttributes: own,
		EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" + q.name, AWSRegion: "us-east-1",
	})
}

// add puts a new message at the end.
func (q *Queue) add(m events.SQSMessage) string {
	q.places++
	m.MessageId = runtimeapi.NewUUID()
	m.Attributes["SentTimestamp"] = milliseconds()
	if q.fifo {
		m.Attributes["SequenceNumber"] = fmt.Sprintf("%020d", q.places)
	}
	q.messages = append(q.messages, &queued{SQSMessage: m, place: q.places})
	return m.MessageId
}

func milliseconds() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }

// Deliver takes up to size messages, invokes consume with them, and deletes those that its answer does not name. consume is a
// handler in this process, or [Function.Consume]; ctx is what it gets, such as an [Invocation]. Fewer than size messages are
// delivered at once, without a batching window.
//
// A FIFO queue hands its messages out in order, and none of a group of which another Deliver has some in flight. Where a
// message comes back, the consumer must have named those of its group behind it, too: they are deleted otherwise.
//
// The whole batch comes back if consume returns an error or panics, and if it names a message that is not of the batch, or
// an empty id. Deliver returns that error as it is, or says which id it was, beside the Delivery; a panic goes on. Other
// errors: size is less than 1, or more than Lambda's largest batch: 10,000 messages of a standard queue, 10 of a FIFO queue.
//
// A deletion that gets lost is a consume that does its work and returns an error.
func (q *Queue) Deliver(ctx context.Context, size int, consume func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)) (d Delivery, err error) {
	largest := 10_000
	if q.fifo {
		largest = 10
	}
	if size < 1 || size > largest {
		return d, fmt.Errorf("localtest: deliver from %s: size is %d, must be 1 to %d", q.name, size, largest)
	}
	batch := q.take(size)
	if len(batch) == 0 {
		return d, nil
	}
	for _, m := range batch {
		d.Event.Records = append(d.Event.Records, copied(m.SQSMessage))
	}
	failed := map[string]bool{} // by id: what comes back of a consumer that does not return, too
	for _, m := range batch {
		failed[m.MessageId] = true
	}
	defer func() { q.settle(&d, batch, failed) }()
	answer, err := consume(ctx, d.Event)
	if err != nil {
		return d, err
	}
	some := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		if !failed[f.ItemIdentifier] {
			return d, fmt.Errorf("localtest: deliver from %s: the whole batch comes back: itemIdentifier is %q, must be a messageId of the batch", q.name, f.ItemIdentifier)
		}
		some[f.ItemIdentifier] = true
	}
	failed = some
	return d, nil
}

// take marks the next messages as in flight.
func (q *Queue) take(size int) (batch []*queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	busy := map[string]bool{}
	for _, m := range q.messages {
		if m.inFlight {
			busy[m.Attributes["MessageGroupId"]] = true
		}
	}
	for _, m := range q.messages {
		if m.inFlight || q.fifo && busy[m.Attributes["MessageGroupId"]] {
			continue
		}
		m.inFlight = true
		m.receives++
		m.ReceiptHandle = runtimeapi.NewUUID()
		m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(m.receives)
		if m.receives == 1 {
			m.Attributes["ApproximateFirstReceiveTimestamp"] = milliseconds()
		}
		if batch = append(batch, m); len(batch) == size {
			break
		}
	}
	return batch
}

// copied is a message for somebody who may change it.
func copied(m events.SQSMessage) events.SQSMessage {
	m.Attributes, m.MessageAttributes = maps.Clone(m.Attributes), maps.Clone(m.MessageAttributes)
	return m
}

// settle ends a delivery.
func (q *Queue) settle(d *Delivery, batch []*queued, failed map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range batch {
		m.inFlight = false
		if !failed[m.MessageId] {
			m.gone = true
			d.Deleted = append(d.Deleted, m.MessageId)
			continue
		}
		d.Returned = append(d.Returned, m.MessageId)
		switch {
		case q.MaxReceives > 0 && m.receives >= q.MaxReceives:
			m.gone = true
			if q.fifo { // whose dead-letter queue must keep two messages with one deduplication id
				m.Attributes["MessageDeduplicationId"] = m.MessageId
			}
			q.dead = append(q.dead, m.SQSMessage)
		case !q.fifo:
			q.places++
			m.place = q.places
		}
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *queued) bool { return m.gone })
	slices.SortFunc(q.messages, func(a, b *queued) int { return cmp.Compare(a.place, b.place) })
}

// Len is how many messages are in the queue, those in flight among them, without the dead-letter queue.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// Dead is the dead-letter queue, oldest arrival first: the messages as they were delivered last, with their message ids. A
// FIFO queue's message has its message id for a MessageDeduplicationId there.
func (q *Queue) Dead() []events.SQSMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	var dead []events.SQSMessage
	for _, m := range q.dead {
		dead = append(dead, copied(m))
	}
	return dead
}

// Redrive moves the messages of the dead-letter queue to the end of the queue, as new ones: with other message ids, which it
// returns, a SentTimestamp of now, and no delivery. What knew a message by its id does not know it any more.
func (q *Queue) Redrive() (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.dead {
		ids = append(ids, q.add(m))
	}
	q.dead = nil
	return ids
}

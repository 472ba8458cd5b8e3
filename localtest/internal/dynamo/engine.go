// Package dynamo is a DynamoDB in memory: operations come in and go out in the service's JSON protocol.
// It implements the operations listed in [operations] and refuses everything else; what it implements, it does as
// the service documents it, including what the service rejects and what it bills.
package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Engine is a set of tables. Its methods may be called at once from several goroutines.
type Engine struct {
	now func() time.Time

	// mu guards everything below. Stored items are immutable, so that replies are made after it is released.
	mu     sync.RWMutex
	tables map[string]*table
	tokens tokens
	serial int
}

// New is an empty engine whose clock is now.
func New(now func() time.Time) *Engine {
	return &Engine{now: now, tables: map[string]*table{}, tokens: tokens{prints: map[string]fingerprint{}}}
}

// Request is one request, read but not yet carried out.
type Request struct {
	Operation string
	// Tables are the names of the tables it is about, in order of their mention, those of a batch in order of the
	// names; each once.
	Tables []string
	// Index is the secondary index that is read, "" if it is the table.
	Index string
	// Key is the item's key, in a request about one item: the partition key, then, if any, "/" and the sort key.
	Key string
	// Condition and Update are the expressions of a request about one item.
	Condition, Update string
	// Actions are the IAM actions that the request needs, on [Request.Resource].
	Actions []string

	key attrs // the item or key that Key is cut out of
	op  operation
	err error
}

// Resource is the ARN of the first table, or of the index, that the request is about; "*" if it is about none.
func (r *Request) Resource() string {
	switch {
	case len(r.Tables) == 0:
		return "*"
	case r.Index != "":
		return indexARN(r.Tables[0], r.Index)
	default:
		return tableARN(r.Tables[0])
	}
}

// Reply is the answer to a request and what it cost.
type Reply struct {
	Status int
	Body   []byte
	// Code is the error's code, "" of a success.
	Code                  string
	ReadUnits, WriteUnits float64

	text bool // Body is no JSON
}

// operation is a decoded request.
type operation interface {
	// describe fills in what the call log shows.
	describe(r *Request)
	// run carries it out: the reply's body, or the error to answer, and in both cases what was consumed.
	run(e *Engine, used usage) (any, error)
}

// operations are the ones implemented: each checks a body as far as that goes without looking at a table.
var operations = map[string]func(body []byte) (operation, error){
	"CreateTable":        parse(func(r *createTable) error { return r.check() }),
	"DescribeTable":      parse(func(r *describeTable) error { return checkTableName(&r.TableName) }),
	"DeleteTable":        parse(func(r *deleteTable) error { return checkTableName(&r.TableName) }),
	"ListTables":         parse(func(r *listTables) error { return r.check() }),
	"UpdateTimeToLive":   parse(func(r *updateTimeToLive) error { return r.check() }),
	"DescribeTimeToLive": parse(func(r *describeTimeToLive) error { return checkTableName(&r.TableName) }),
	"PutItem":            parse(func(r *putItem) error { return r.check() }),
	"GetItem":            parse(func(r *getItem) error { return r.check() }),
	"UpdateItem":         parse(func(r *updateItem) error { return r.check() }),
	"DeleteItem":         parse(func(r *deleteItem) error { return r.check() }),
	"Query":              parse(func(r *query) error { return r.check() }),
	"Scan":               parse(func(r *scan) error { return r.check() }),
	"BatchGetItem":       parse(func(r *batchGet) error { return r.check() }),
	"BatchWriteItem":     parse(func(r *batchWrite) error { return r.check() }),
	"TransactGetItems":   parse(func(r *transactGet) error { return r.check() }),
	"TransactWriteItems": parse(func(r *transactWrite) error { return r.check() }),
}

// Implements reports whether there is such an operation here.
func Implements(operation string) bool { return operations[operation] != nil }

// parse decodes a body into a T and checks it.
func parse[T any, P interface {
	*T
	operation
}](check func(P) error) func([]byte) (operation, error) {
	members := membersOf(reflect.TypeFor[T]())
	return func(body []byte) (operation, error) {
		r := P(new(T))
		if err := decodeBody(body, r, members); err != nil {
			return r, err
		}
		return r, check(r)
	}
}

// decodeBody is strict: a member that is not implemented is refused rather than ignored.
func decodeBody(body []byte, into any, members *members) error {
	err := json.Unmarshal(body, into)
	if err == nil {
		return members.check(&jsonReader{b: body})
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return malformed("Unexpected JSON %s at %s", wrong.Value, wrong.Field)
	}
	return malformed("The request body is not well-formed JSON")
}

// Parse reads a request. One that can't be read is answered with the reason by [Engine.Apply].
func (e *Engine) Parse(operation string, body []byte) *Request {
	r := &Request{Operation: operation}
	parse := operations[operation]
	if parse == nil {
		err := newError("UnknownOperationException", "The operation %q is not implemented by the embedded server", operation)
		err.namespace = service
		r.err = err
		return r
	}
	r.op, r.err = parse(body)
	r.op.describe(r)
	r.Key = e.keyText(r)
	return r
}

// keyText is the item's key as far as the request has it: only the table knows which attributes that is.
func (e *Engine) keyText(r *Request) string {
	if r.key == nil {
		return ""
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.tables[r.Tables[0]]
	if t == nil {
		return ""
	}
	var parts []string
	for _, k := range t.schema.attributes() {
		if v := r.key[k.name]; v != nil && v.kind == k.kind {
			parts = append(parts, v.scalar())
		}
	}
	return strings.Join(parts, "/")
}

// Apply carries the request out.
func (e *Engine) Apply(r *Request) Reply {
	used := usage{}
	var out any
	err := r.err
	if err == nil {
		out, err = r.op.run(e, used)
	}
	reply := Reply{Status: http.StatusOK}
	if err == nil {
		reply.Body, err = encode(out)
	}
	if err != nil {
		failure, ok := errors.AsType[*apiError](err)
		if !ok {
			failure = newError("InternalServerError", "%v", err)
			failure.status = http.StatusInternalServerError
		}
		reply = replyTo(failure)
	}
	total := used.total()
	reply.ReadUnits, reply.WriteUnits = total.read, total.write
	return reply
}

// encode is JSON with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

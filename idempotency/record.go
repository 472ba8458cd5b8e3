package idempotency

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// schemaVersion is the record format of this release. Attributes can be added without raising it.
const schemaVersion = 1

// The attributes of a record, besides those that [Schema] names.
const (
	attrStatus       = "status"
	attrAttempt      = "attempt"    // the owner's token
	attrNumber       = "attempt_no" // of the owner, counted in the window
	attrWindow       = "window"     // ms: when the window's first attempt started; the upper part of the fence
	attrStarted      = "started"    // ms: when the present attempt started
	attrLease        = "in_progress_expiration"
	attrCompleted    = "completed" // ms: when the outcome was recorded
	attrValidation   = "validation"
	attrRef          = "ref"
	attrSteps        = "steps"
	attrPriorNumber  = "prior_no"
	attrPriorStarted = "prior_started"
	attrPriorLease   = "prior_lease"
	attrPrev         = "prev"     // token of the owner before
	attrPrevEnd      = "prev_end" // the status that one left behind
	attrForm         = "form"     // of the owner: "do", or "tx" if its only effects are steps and staged writes
	attrExternal     = "ext"      // a step was recorded: an effect outside of the table has happened
	attrData         = "data"
	attrEncoding     = "encoding" // of the outcome; absent: JSON text
	attrBody         = "body"     // instead of data: the items that the outcome is kept in
	attrSchema       = "schema"
)

// attributes are the names that a table's own keys must not have, of a record and of what is beside it.
var attributes = []string{
	attrStatus, attrAttempt, attrNumber, attrWindow, attrStarted, attrLease, attrCompleted, attrValidation, attrRef,
	attrSteps, attrPriorNumber, attrPriorStarted, attrPriorLease, attrPrev, attrPrevEnd, attrForm, attrExternal,
	attrData, attrEncoding, attrBody, attrSchema, attrKind,
}

// status is where a record stands.
type status string

const (
	inProgress status = "INPROGRESS"
	completed  status = "COMPLETED"
	failed     status = "FAILED" // a recorded terminal failure
	released   status = "RELEASED"
	unknown    status = "UNKNOWN"
)

const (
	formDo = "do"
	formTx = "tx"
)

type item = map[string]types.AttributeValue

// record is an item of the table, read.
type record struct {
	status      status
	token       string
	number      int64
	window      time.Time
	started     time.Time
	leaseEnd    time.Time // zero once there is an outcome
	completed   time.Time // zero until there is one
	expires     int64     // unix seconds
	fingerprint string    // "": the request came with AnyInput
	ref         string
	steps       map[string][]byte // results by name
	prior       *Prior
	form        string
	external    bool // a step was recorded: an effect outside of the table may have happened
	prev        string
	prevEnd     status
	body        stored // of an outcome
}

func (rec *record) finished() bool { return rec.status == completed || rec.status == failed }

// expired says whether the window is over. The clock margin is taken off, so that a clock which is ahead does
// not end a window before its time (rule 11).
func (rec *record) expired(now time.Time) bool {
	return rec.expires < expiredBefore(now)
}

// expiredBefore is the bound that expiries are compared with, in the condition as here: seconds, rounded down.
func expiredBefore(now time.Time) int64 { return now.Add(-clockMargin).Unix() }

// givenBack says that the record was created and given back while secrets rotated: it never counted.
func (rec *record) givenBack() bool { return rec.expires < rec.window.Unix() }

// live says whether the lease of an attempt in progress still holds.
func (rec *record) live(now time.Time) bool {
	return rec.status == inProgress && rec.leaseEnd.UnixMilli() >= now.UnixMilli()
}

// free says whether a new request may have the whole record replaced: acquire's condition, read.
func (rec *record) free(now time.Time) bool { return rec.expired(now) && !rec.live(now) }

// readRecord refuses whatever it does not know: a guess could run a handler twice. The error wraps
// [ErrBadRecord] and names the attribute, what it holds and the rule.
func readRecord(it item, s Schema) (*record, error) {
	r := reader{item: it}
	if v := r.number(attrSchema); r.err == nil && v != schemaVersion {
		return nil, badAttribute(attrSchema, strconv.FormatInt(v, 10), fmt.Sprintf("this release reads format %d", schemaVersion))
	}
	rec := &record{
		status:      status(r.text(attrStatus)),
		token:       r.text(attrAttempt),
		number:      r.number(attrNumber),
		window:      r.time(attrWindow),
		started:     r.time(attrStarted),
		expires:     r.second(s.Expiry),
		fingerprint: r.optionalText(attrValidation),
		ref:         r.optionalText(attrRef),
		prev:        r.optionalText(attrPrev),
		prevEnd:     status(r.optionalText(attrPrevEnd)),
	}
	switch rec.status {
	case completed, failed:
		rec.completed = r.time(attrCompleted)
		rec.body = r.body()
	case inProgress, released, unknown:
		rec.leaseEnd = r.time(attrLease)
		rec.steps = r.steps()
		rec.form = r.optionalText(attrForm)
		_, rec.external = it[attrExternal]
		if _, ok := it[attrPriorNumber]; ok {
			rec.prior = &Prior{
				Number:   r.number(attrPriorNumber),
				Started:  r.time(attrPriorStarted),
				LeaseEnd: r.time(attrPriorLease),
				Steps:    rec.stepNames(),
			}
		}
	default:
		if r.err == nil {
			return nil, badAttribute(attrStatus, fmt.Sprintf("%q", rec.status), "is not a status that this release knows")
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// priorOf describes the attempt that rec's owner left without telling.
func (rec *record) priorOf() *Prior {
	p := &Prior{Number: rec.number, Started: rec.started, LeaseEnd: rec.leaseEnd, Steps: rec.stepNames()}
	if rec.prior != nil {
		p.Started = rec.prior.Started
	}
	return p
}

// reader reads attributes and keeps the first error.
type reader struct {
	item item
	err  error
}

func (r *reader) text(name string) string {
	s, ok := r.item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.fail(name, "must be a string")
		return ""
	}
	return s.Value
}

func (r *reader) optionalText(name string) string {
	if _, ok := r.item[name]; !ok {
		return ""
	}
	return r.text(name)
}

func (r *reader) number(name string) int64 {
	n, ok := r.item[name].(*types.AttributeValueMemberN)
	if !ok {
		r.fail(name, "must be a number")
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		r.fail(name, "must be a whole number")
	}
	return v
}

// maxSecond is the end of the year 9999, up to which RFC 3339 and JSON have times.
const maxSecond = 253402300799

// time reads milliseconds since 1970.
func (r *reader) time(name string) time.Time {
	ms := r.number(name)
	if ms < 0 || ms/1000 > maxSecond {
		r.fail(name, "must be milliseconds between the years 1970 and 9999")
	}
	return time.UnixMilli(ms).UTC()
}

// second reads seconds since 1970.
func (r *reader) second(name string) int64 {
	s := r.number(name)
	if s < 0 || s > maxSecond {
		r.fail(name, "must be seconds between the years 1970 and 9999")
	}
	return s
}

// body reads the outcome: text as a string, or as bytes where it is none.
func (r *reader) body() (s stored) {
	word := r.optionalText(attrEncoding)
	var known bool
	if s.encoding, known = parsePacking(word); !known {
		r.failWith(badAttribute(attrEncoding, fmt.Sprintf("%q", word), "is not an encoding that this release reads"))
	}
	if s.encoding.none {
		return s
	}
	if _, beside := r.item[attrBody]; beside {
		s.items = r.chunks()
		return s
	}
	switch v := r.item[attrData].(type) {
	case *types.AttributeValueMemberS:
		s.data = []byte(v.Value)
	case *types.AttributeValueMemberB:
		s.data = slices.Clone(v.Value)
	default:
		r.fail(attrData, "must be a string or bytes")
	}
	return s
}

func (r *reader) steps() map[string][]byte {
	switch steps := r.item[attrSteps].(type) {
	case nil:
	case *types.AttributeValueMemberM:
		read := make(map[string][]byte, len(steps.Value))
		for name, v := range steps.Value {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				read[name] = []byte(v.Value)
			case *types.AttributeValueMemberB:
				read[name] = slices.Clone(v.Value)
			default:
				r.fail(attrSteps, "must hold strings or bytes")
			}
		}
		return read
	default:
		r.fail(attrSteps, "must be a map")
	}
	return nil
}

// stepNames are sorted.
func (rec *record) stepNames() []string { return slices.Sorted(maps.Keys(rec.steps)) }

func (r *reader) fail(name, rule string) {
	found := "absent"
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		found = v.Value
	default:
		// Its value could be a caller's data; its type is enough to find the fault.
		found = fmt.Sprintf("a %T", v)
	}
	r.failWith(badAttribute(name, found, rule))
}

func (r *reader) failWith(err error) {
	if r.err == nil {
		r.err = err
	}
}

func badAttribute(name, value, rule string) error {
	return fmt.Errorf("%w: attribute %s is %s: %s", ErrBadRecord, name, value, rule)
}

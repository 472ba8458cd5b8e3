package localtest

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// FaultKind is what goes wrong.
type FaultKind int

const (
	// RequestLost cuts the connection before the request is applied.
	RequestLost FaultKind = iota + 1
	// ReplyLost applies the request, then cuts the connection: the caller can't know.
	ReplyLost
	// AppliedLate cuts the connection at once and applies the request afterwards: when Delay has passed by the
	// database's clock, or at [DB.Flush].
	AppliedLate
	// TruncatedReply applies the request and sends half of the reply's body. The SDK does not send the request again;
	// on loopback, on a busy machine, it may: Go's client then takes the end for that of a connection.
	TruncatedReply
	// Hang does not apply the request and answers nothing until the caller's context ends.
	Hang
	// HangApplied applies the request and answers nothing until the caller's context ends.
	HangApplied
	// Throttled answers ThrottlingException, or ProvisionedThroughputExceededException where the table is not billed
	// by request; TransactionCanceledException with such a reason for the first action to a transaction. [Fault.Reason]
	// is the throttling reason.
	Throttled
	// ServerError answers InternalServerError, HTTP status 500, without applying the request.
	ServerError
	// Unavailable answers ServiceUnavailable, HTTP status 503, without applying the request.
	Unavailable
	// ServerErrorApplied applies the request, then answers InternalServerError.
	ServerErrorApplied
	// AccessDenied answers AccessDeniedException.
	AccessDenied
	// Conflict answers TransactionConflictException; TransactionCanceledException with the reason TransactionConflict
	// to a transaction.
	Conflict
	// ReplicatedConflict answers ReplicatedWriteConflictException, as a strongly consistent global table does.
	ReplicatedConflict
	// TransactionInProgress answers TransactionInProgressException, as to a transaction whose twin of the same
	// ClientRequestToken is under way.
	TransactionInProgress
	// Unprocessed carries out the first half, rounded down, of a BatchGetItem or BatchWriteItem and returns the rest
	// as unprocessed. Other operations are served as usual.
	Unprocessed
)

var faultNames = [...]string{
	"", "RequestLost", "ReplyLost", "AppliedLate", "TruncatedReply", "Hang", "HangApplied", "Throttled", "ServerError",
	"Unavailable", "ServerErrorApplied", "AccessDenied", "Conflict", "ReplicatedConflict", "TransactionInProgress", "Unprocessed",
}

// String is the constant's name.
func (k FaultKind) String() string {
	if !k.known() {
		return fmt.Sprintf("FaultKind(%d)", int(k))
	}
	return faultNames[k]
}

func (k FaultKind) known() bool { return k >= 0 && int(k) < len(faultNames) }

// applies: the request is carried out at once.
func (k FaultKind) applies() bool {
	return slices.Contains([]FaultKind{0, ReplyLost, TruncatedReply, HangApplied, ServerErrorApplied, Unprocessed}, k)
}

// silent: the caller gets no answer.
func (k FaultKind) silent() bool {
	return slices.Contains([]FaultKind{RequestLost, ReplyLost, AppliedLate, Hang, HangApplied}, k)
}

// Fault is something that goes wrong with chosen calls. The zero value of each field chooses everything, and a
// fault without Kind serves the call as usual, after Delay and with the hooks.
type Fault struct {
	// Operation is the API operation to hit, as "PutItem"; one that the database implements.
	Operation string
	// Table is the table to hit.
	Table string
	// Match, if set, says whether to hit a call; it sees the call as far as that is known before it is applied. It
	// must not call methods of the DB.
	Match func(Call) bool
	// Nth is the first call to hit, among those that match from now on: 1, the default, is the next one.
	Nth int
	// Times is how many calls to hit, one after the other. Default 1; negative: every one from the Nth on.
	Times int

	// Kind is what goes wrong.
	Kind FaultKind
	// Delay passes before the caller is answered, unless the caller's context ends first. If Kind is zero it passes
	// before the request is applied, and a caller that is gone by then is logged as a Hang; otherwise after it. For
	// AppliedLate it is how late the request arrives; 0: at [DB.Flush].
	Delay time.Duration
	// Reason is what [Throttled] gives as the reason for the first table of the request, one of those that
	// ThrottlingReason in the API reference has, as "TableWriteKeyRangeThroughputExceeded". Default: the one for the
	// limit of the table's billing mode. A cancelled transaction has none.
	Reason string
	// Before runs when the call has arrived, before it is applied. It may use the database, or end the process.
	Before func()
	// After runs when the call has been applied, before it is answered; not if it is not applied.
	After func()
}

// armed is a fault that was injected, and what it has seen.
type armed struct {
	Fault
	seen, hit int
}

// Inject arms a fault. Of several that fit a call, the first one injected hits; the others count the call as seen.
// It panics if the fault cannot strike: Kind or Operation is none that there is, Kind is none for the Operation, or the
// database is a real one that cannot do it ([OnlyEmbedded] skips a test for that).
//
// A fault that has never struck by the end of the test fails it: what it was to show was not shown. That is not so of
// one with Times below zero, nor of one that [DB.ClearFaults] has disarmed.
func (db *DB) Inject(f Fault) {
	if wrong := f.wrong(db.real == nil); wrong != "" {
		panic("localtest: inject a fault: " + wrong)
	}
	f.Nth = max(1, f.Nth)
	if f.Times == 0 {
		f.Times = 1
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = append(db.faults, &armed{Fault: f})
}

// wrong says what keeps the fault from striking, "" for nothing.
func (f Fault) wrong(embedded bool) string {
	operations := map[FaultKind][]string{
		Unprocessed:           {"BatchGetItem", "BatchWriteItem"},
		TransactionInProgress: {"TransactWriteItems"},
	}[f.Kind]
	switch {
	case !f.Kind.known():
		return fmt.Sprintf("Kind is %v, must be one of the package's constants", f.Kind)
	case f.Operation != "" && !dynamo.Implements(f.Operation):
		return fmt.Sprintf("Operation is %q, must be one that the database implements", f.Operation)
	case f.Operation != "" && operations != nil && !slices.Contains(operations, f.Operation):
		return fmt.Sprintf("Kind is %v and Operation is %q, must be one of %v or left out", f.Kind, f.Operation, operations)
	case f.Reason != "" && f.Kind != Throttled:
		return fmt.Sprintf("Reason is %q and Kind is %v, must be Throttled to have a reason", f.Reason, f.Kind)
	case f.Reason != "" && !throttlingReason.MatchString(f.Reason):
		return fmt.Sprintf("Reason is %q, must be one such as TableWriteKeyRangeThroughputExceeded", f.Reason)
	case f.Nth < 0:
		return fmt.Sprintf("Nth is %d, must not be negative", f.Nth)
	case f.Delay < 0:
		return fmt.Sprintf("Delay is %v, must not be negative", f.Delay)
	case f.Kind == Unprocessed && !embedded:
		return "Kind is Unprocessed, which takes the embedded database: call OnlyEmbedded before"
	}
	return ""
}

// throttlingReason is the form that the API reference gives: resource, operation and limit.
var throttlingReason = regexp.MustCompile(`^(Table|Index)(Read|Write)(ProvisionedThroughput|AccountLimit|KeyRangeThroughput|MaxOnDemandThroughput)Exceeded$`)

// ClearFaults disarms every fault. Writes that are already on their way ([AppliedLate]) still arrive.
func (db *DB) ClearFaults() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = nil
}

// strike is the fault that hits the call; its zero value where none does.
func (db *DB) strike(c Call) Fault {
	db.mu.Lock()
	defer db.mu.Unlock()
	var struck *armed
	for _, f := range db.faults {
		if f.Operation != "" && f.Operation != c.Operation || f.Table != "" && !c.about(f.Table) || f.Match != nil && !f.Match(c) {
			continue
		}
		f.seen++
		if struck == nil && f.seen >= f.Nth && (f.Times < 0 || f.hit < f.Times) {
			struck = f
			f.hit++
		}
	}
	if struck == nil {
		return Fault{}
	}
	return struck.Fault
}

// complain fails the test for faults that have never struck: what they were to show was not shown.
func (db *DB) complain(tb TB) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, f := range db.faults {
		if f.hit == 0 && f.Times > 0 {
			kind := f.Kind.String()
			if f.Kind == 0 {
				kind = "without Kind"
			}
			tb.Errorf("localtest: the fault %s never struck: Operation %q, Table %q, Nth %d; %d calls fitted", kind, f.Operation, f.Table, f.Nth, f.seen)
		}
	}
}

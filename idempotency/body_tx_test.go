package idempotency_test

import (
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Transactions whose answer is kept beside the record (H20, I10): the items come first, and the staged writes commit with the
// record that points to them.

// bodyCalls are the operations on the items of a body of that size.
func bodyCalls(size string) (write, read string) {
	if size == "one" {
		return "PutItem", "GetItem"
	}
	return "BatchWriteItem", "BatchGetItem"
}

// atEachSize runs the test with bodies of one item and of several, in transactions of both modes.
func atEachSize(t *testing.T, test func(t *testing.T, l ledger, req idempotency.Request, size string)) {
	t.Helper()
	for size := range sizes {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) { test(t, l, req, size) })
		})
	}
}

// A single shot, whose replay runs the handler and would send the transaction, looks at the record before it writes the answer's
// items, and does not write them again.
func TestBodyTx_FirstRunAndReplay(t *testing.T) {
	t.Parallel()
	atEachSize(t, func(t *testing.T, l ledger, req idempotency.Request, size string) {
		w := l.worker(t, long(sizes[size]))
		write, read := bodyCalls(size)
		l.quiet()
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.fixture.wantCalls(t, ofTx(req, "PutItem", "GetItem"), write, "TransactWriteItems")
		items := int64(1 + sizes[size]/block)
		l.wantBeside(t, id(req), items)
		for _, asking := range []idempotency.Request{req, readingFirst(req)} {
			if asking.ReadFirst && size == "several" {
				continue // the look is the same
			}
			l.quiet()
			res, err = w.doTx(soon(t), asking, l.pays)
			wantAnswer(t, res, err, "paid", true)
			look := ofTx(req, "PutItem", "GetItem")
			if asking.ReadFirst {
				look = "GetItem"
			}
			l.fixture.wantCalls(t, look, read)
		}
		if n := len(l.bodyItems(t)); n != int(items) {
			t.Errorf("%d items, want %d", n, items)
		}
		l.wantPaid(t, 1)
	})
}

// I7: the transaction's reply is lost. Its repetition, or the look at the record, finds the one commit; the items are those of
// the one write.
func TestBodyTx_LostReply(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.ReplyLost, localtest.AppliedLate, localtest.HangApplied, localtest.ServerErrorApplied} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t, withoutRetries, long(4<<10)).looksAhead(t)
				l.inject("TransactWriteItems", kind, 1)
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.wantBeside(t, id(req), 1)
				if n := len(l.bodyItems(t)); n != 1 {
					t.Errorf("%d items, want 1", n)
				}
				res, err = w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", true)
				l.wantPaid(t, 1)
			})
		})
	}
}

// Rule 25: the items cannot be written. The transaction commits all the same, and says that its answer is not stored.
func TestBodyTx_ItemsNotWritten(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.AccessDenied, localtest.Throttled, localtest.ReplyLost} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t, long(4<<10)).looksAhead(t)
				l.db.Inject(localtest.Fault{Match: ofBody, Table: l.table, Kind: kind, Times: forever})
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.db.ClearFaults()
				wantCause(t, l.lastErr(t, idempotency.KindCompleted), "the items of the outcome's body could not be written")
				for range 2 {
					res, err = w.doTx(soon(t), req, l.pays)
					if wantErr(t, err, idempotency.ErrNoBody); !res.Replayed {
						t.Errorf("got %+v", res)
					}
				}
				l.wantPaid(t, 1)
			})
		})
	}
}

// A transaction that is refused leaves items behind that nothing points to, and the record as without them.
func TestBodyTx_Refused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		status string
		items  int64 // of the record
		left   int
	}{
		"released": {errFunds, "RELEASED", 0, 1},
		"terminal": {idempotency.Terminal(errFunds), "FAILED", 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				short(t, l, req)
				w := l.worker(t, long(4<<10)).looksAhead(t)
				_, err := w.doTx(soon(t), req, l.paysIf(tt.err))
				wantErr(t, err, errFunds)
				if it := l.wantStatus(t, req, tt.status); it.has("body") != (tt.items > 0) {
					t.Errorf("the record is %v", it)
				}
				if n := len(l.bodyItems(t)); n != tt.left {
					t.Errorf("%d items, want %d", n, tt.left)
				}
				if tt.items > 0 {
					l.wantBeside(t, id(req), tt.items)
				}
			})
		})
	}
}

// C09: the process dies between the items and the transaction. Nothing is paid, and the next request pays; what was written is
// nobody's.
func TestBodyTx_Crash(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t, long(4<<10))
		die := nth("TransactWriteItems", 1, w.die)
		w.before = func(operation string) error { die(operation); return nil }
		w.abandonTx(soon(t), req, l.pays)
		if it := l.wantStatus(t, req, ofTx(req, "INPROGRESS", "")); it.has("body") {
			t.Errorf("the record is %v", it)
		}
		l.wantPaid(t, 0)
		pass(time.Minute)
		for _, replayed := range []bool{false, true} {
			res, err := l.worker(t, long(4<<10)).looksAhead(t).doTx(soon(t), req, l.pays)
			wantAnswer(t, res, err, "paid", replayed)
		}
		l.wantBeside(t, id(req), 1)
		if n := len(l.bodyItems(t)); n != 2 {
			t.Errorf("%d items, want that of the crash and the answer's", n)
		}
		l.wantPaid(t, 1)
	})
}

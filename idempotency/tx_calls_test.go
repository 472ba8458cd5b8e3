package idempotency_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// txPath is a way of a transaction through the protocol, and what it costs: in calls, and in write units as billed.
type txPath struct {
	name   string
	mode   idempotency.TxMode
	found  func(*testing.T, ledger, idempotency.Request)
	h      func(ledger) txHandler
	calls  []string
	units  float64
	reads  float64
	err    error
	status string
	kinds  []idempotency.Kind
}

func fresh(*testing.T, ledger, idempotency.Request) {}

func paidBefore(t *testing.T, l ledger, req idempotency.Request) {
	t.Helper()
	res, err := l.worker(t).doTx(soon(t), req, l.pays)
	wantAnswer(t, res, err, "paid", false)
}

func releasedBefore(t *testing.T, l ledger, req idempotency.Request) {
	t.Helper()
	req.Tx = idempotency.Claimed
	_, err := l.worker(t).doTx(soon(t), req, failsTx(errPlain))
	wantErr(t, err, errPlain)
}

func crashedBefore(t *testing.T, l ledger, req idempotency.Request) {
	t.Helper()
	req.Tx = idempotency.Claimed
	l.worker(t).crashTx(soon(t), req, l.pays)
	pass(6 * time.Second)
	l.wantStatus(t, req, "INPROGRESS")
}

func txPays(l ledger) txHandler { return l.pays }

func txFails(err error) func(ledger) txHandler {
	return func(ledger) txHandler { return failsTx(err) }
}

func txShort(otherwise error) func(ledger) txHandler {
	return func(l ledger) txHandler { return l.paysIf(otherwise) }
}

// short leaves too little for a payment.
func short(t *testing.T, l ledger, _ idempotency.Request) {
	t.Helper()
	l.put(t, attributes{"id": text("alice"), "balance": number(fee - 1)})
}

const (
	claimedTx = idempotency.Claimed
	shotTx    = idempotency.SingleShot
)

// A transaction's action has two units; three actions have six.
var txPaths = []txPath{
	{
		"first run", claimedTx, fresh, txPays,
		[]string{"PutItem", "TransactWriteItems"},
		1 + 6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindCompleted},
	},
	{
		"first run", shotTx, fresh, txPays,
		[]string{"TransactWriteItems"},
		6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindCompleted},
	},
	{
		"replay", claimedTx, paidBefore, txPays,
		[]string{"PutItem"},
		1, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"replay", shotTx, paidBefore, txPays,
		[]string{"TransactWriteItems"},
		6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{ // rule 16: the record's own reason goes before the staged one's
		"replay, condition", shotTx, paidBefore, txShort(errFunds),
		[]string{"TransactWriteItems"},
		6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"error", claimedTx, fresh, txFails(errPlain),
		[]string{"PutItem", "UpdateItem"},
		2, 0, errPlain, "RELEASED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindReleased},
	},
	{
		"error", shotTx, fresh, txFails(errPlain),
		[]string{"GetItem"},
		0, 1, errPlain, "",
		[]idempotency.Kind{idempotency.KindReleased},
	},
	{
		"terminal error", claimedTx, fresh, txFails(idempotency.Terminal(errPlain)),
		[]string{"PutItem", "UpdateItem"},
		2, 0, errPlain, "FAILED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindFailed},
	},
	{
		"terminal error", shotTx, fresh, txFails(idempotency.Terminal(errPlain)),
		[]string{"PutItem"},
		1, 0, errPlain, "FAILED",
		[]idempotency.Kind{idempotency.KindFailed},
	},
	{
		"error over an outcome", shotTx, paidBefore, txFails(errPlain),
		[]string{"GetItem"},
		0, 1, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"terminal error over an outcome", shotTx, paidBefore, txFails(idempotency.Terminal(errPlain)),
		[]string{"PutItem"},
		1, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindReplayed},
	},
	{
		"condition", claimedTx, short, txShort(errFunds),
		[]string{"PutItem", "TransactWriteItems", "UpdateItem"},
		1 + 6 + 1, 0, errFunds, "RELEASED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindReleased},
	},
	{
		"condition", shotTx, short, txShort(errFunds),
		[]string{"TransactWriteItems", "PutItem"},
		6 + 1, 0, errFunds, "RELEASED",
		[]idempotency.Kind{idempotency.KindReleased},
	},
	{
		"terminal condition", claimedTx, short, txShort(idempotency.Terminal(errFunds)),
		[]string{"PutItem", "TransactWriteItems", "UpdateItem"},
		1 + 6 + 1, 0, errFunds, "FAILED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindFailed},
	},
	{
		"terminal condition", shotTx, short, txShort(idempotency.Terminal(errFunds)),
		[]string{"TransactWriteItems", "PutItem"},
		6 + 1, 0, errFunds, "FAILED",
		[]idempotency.Kind{idempotency.KindFailed},
	},
	{
		"released", claimedTx, releasedBefore, txPays,
		[]string{"PutItem", "UpdateItem", "TransactWriteItems"},
		2 + 6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindAcquired, idempotency.KindCompleted},
	},
	{
		"released", shotTx, releasedBefore, txPays,
		[]string{"TransactWriteItems", "TransactWriteItems"},
		12, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindCompleted},
	},
	{
		"crashed", claimedTx, crashedBefore, txPays,
		[]string{"PutItem", "UpdateItem", "TransactWriteItems"},
		2 + 6, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindTakenOver, idempotency.KindCompleted},
	},
	{
		"crashed", shotTx, crashedBefore, txPays,
		[]string{"TransactWriteItems", "TransactWriteItems"},
		12, 0, nil, "COMPLETED",
		[]idempotency.Kind{idempotency.KindCompleted},
	},
}

func (p txPath) run(t *testing.T, test func(*testing.T, ledger, idempotency.Request)) {
	t.Helper()
	name := "claimed"
	if p.mode == idempotency.SingleShot {
		name = "single-shot"
	}
	t.Run(name+"/"+p.name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, req := newLedger(t), request("k")
			req.Tx = p.mode
			p.found(t, l, req)
			l.quiet()
			test(t, l, req)
		})
	})
}

// Calls per path, what they are billed, and the events that tell of them.
func TestTxCalls_PerPath(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	for _, p := range txPaths {
		p.run(t, func(t *testing.T, l ledger, req idempotency.Request) {
			_, err := l.worker(t).doTx(soon(t), req, p.h(l))
			if err != p.err { //nolint:errorlint // untouched
				t.Errorf("error %v, want %v", err, p.err)
			}
			l.wantCalls(t, p.calls...)
			l.wantKinds(t, p.kinds...)
			var read, write, applied, told float64
			for _, c := range l.workerCalls() {
				read, write = read+c.ReadUnits, write+c.WriteUnits
				if c.Applied || c.Operation != "TransactWriteItems" {
					applied += c.WriteUnits
				}
			}
			if read != p.reads || write != p.units {
				t.Errorf("billed %v read and %v write units, want %v and %v", read, write, p.reads, p.units)
			}
			for _, e := range l.seen() {
				told += e.WriteUnits
			}
			if told != applied { // a cancelled transaction's are not known
				t.Errorf("events tell of %v write units, billed were %v", told, applied)
			}
			l.wantStatus(t, req, p.status)
		})
	}
}

// The IAM actions that transactions need: those of their parts, on the tables of both.
func TestTxCalls_Actions(t *testing.T) {
	t.Parallel()
	for _, p := range txPaths {
		p.run(t, func(t *testing.T, l ledger, req idempotency.Request) {
			_, _ = l.worker(t).doTx(soon(t), req, p.h(l))
			for _, c := range l.workerCalls() {
				if strings.Contains(c.Table, l.accounts) != (c.Operation == "TransactWriteItems") {
					t.Errorf("%s is about %s", c.Operation, c.Table)
				}
				for _, action := range c.Actions {
					if !slices.Contains([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, action) {
						t.Errorf("%s needs %s", c.Operation, action)
					}
				}
			}
		})
	}
}

// A schema of a single-table design: the transactions use its names too.
func TestTxCalls_OtherSchema(t *testing.T) {
	t.Parallel()
	schema := idempotency.Schema{PartitionKey: "pk", SortKey: "sk", SortKeyValue: "IDEMPOTENCY", Expiry: "ttl"}
	for _, p := range txPaths {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, req := newLedger(t), request("k")
				req.Tx = p.mode
				l.schema, l.table = schema, l.db.CreateTable(t, idempotency.Table("single", schema))
				if p.name == "crashed" {
					l.worker(t).crashTx(soon(t), request("k"), l.pays)
					pass(6 * time.Second)
				} else {
					p.found(t, l, req)
				}
				l.quiet()
				_, err := l.worker(t).doTx(soon(t), req, p.h(l))
				if err != p.err { //nolint:errorlint // untouched
					t.Errorf("error %v, want %v", err, p.err)
				}
				l.wantCalls(t, p.calls...)
				it := l.at(t, item{"pk": key(req)["id"], "sk": text("IDEMPOTENCY")})
				if it.text("status") != p.status || it.has("ttl") != (p.status != "") || it.has("id") || it.has("expiration") {
					t.Errorf("record %v, want status %s", it, p.status)
				}
			})
		})
	}
}

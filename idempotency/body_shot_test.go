package idempotency_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Single shots, which find out late what their answer is written over (H9, H20).

// Two single shots: the other one commits after this one has written its items. There is one answer, the other's; the items of
// the two are not the same.
func TestBodyShot_Twins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		req.Tx = idempotency.SingleShot
		w, twin := l.worker(t, long(4<<10)), l.worker(t, long(4<<10))
		meet := nth("TransactWriteItems", 1, func() {
			res, err := twin.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
				_, err := l.pays(ctx, tx)
				return "the twin's", err
			})
			wantAnswer(t, res, err, "the twin's", false)
		})
		w.before = func(operation string) error { meet(operation); return nil }
		for range 2 {
			res, err := w.doTx(soon(t), req, l.pays)
			wantAnswer(t, res, err, "the twin's", true)
		}
		l.wantBeside(t, id(req), 1)
		if n := len(l.bodyItems(t)); n != 2 {
			t.Errorf("%d items, want one of each", n)
		}
		l.wantPaid(t, 1)
	})
}

// H20 (a): a single shot has waited for a twin that did not make it, before it has written its items, or after. The window
// counts from the commit, and so do the items that the record points to.
func TestBodyShot_Waited(t *testing.T) {
	t.Parallel()
	for name, meets := range map[string]string{"before its items": "", "after its items": "TransactWriteItems"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, req := newLedger(t), request("k")
				hold := func() {
					end := l.worker(t).hold(localtest.Invocation(t, 3*time.Minute), t, request("k"))
					go func() {
						pass(time.Minute)
						_, _ = end(fails(errPlain))
					}()
				}
				w := l.worker(t, long(4<<10)).looksAhead(t)
				if meets == "" {
					hold()
				} else {
					meet := nth(meets, 1, hold)
					w.before = func(operation string) error { meet(operation); return nil }
				}
				req.Tx, req.Wait, req.Retention = idempotency.SingleShot, 2*time.Minute, time.Hour
				res, err := w.doTx(localtest.Invocation(t, 3*time.Minute), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.wantBeside(t, id(req), 1)
				it := l.record(t, req)
				if left := it.number("expiration") - it.number("completed")/1000; left < 3600 || left > 3601 || time.Since(res.CompletedAt) > time.Second {
					t.Errorf("the window is %d s long, from %s; want an hour from now", left, res.CompletedAt)
				}
				l.wantPaid(t, 1)
			})
		})
	}
}

// sealing is the same key for every worker.
func sealing(t *testing.T) option {
	t.Helper()
	sealer, err := idempotency.NewSealer(idempotency.SealingKey{ID: "one", Key: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return func(s *settings) { s.Codec = sealer }
}

// Rule 27: while secrets rotate, the id under which the outcome is recorded is found late: before the commit, or by a commit that
// is refused. What was sealed, and the items' names, must be that id's, or nobody could ever open the answer.
func TestBodyShot_SecretsRotate(t *testing.T) {
	t.Parallel()
	states := map[string]func(*testing.T, *worker, ledger, idempotency.Request){
		"released": func(t *testing.T, w *worker, _ ledger, req idempotency.Request) {
			t.Helper()
			_, err := w.doTx(soon(t), req, failsTx(errPlain))
			wantErr(t, err, errPlain)
		},
		"crashed": func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
			t.Helper()
			w.crashTx(soon(t), req, l.pays)
			pass(10 * time.Second)
		},
	}
	for state, leave := range states {
		for answer, bytes := range map[string]int{"in the record": 100, "beside it": 10 << 10} {
			for first, second := range map[string]string{"prepared": "switched", "switched": "prepared"} {
				for _, when := range []string{"before", "at the commit"} {
					if state == "crashed" && when != "before" {
						continue // a lease that ends in between is another test's
					}
					t.Run(fmt.Sprintf("%s %s by %s/%s/%s", state, when, second, first, answer), func(t *testing.T) {
						t.Parallel()
						atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
							if req.Tx == idempotency.Claimed && when != "before" {
								return // its claim has settled the id
							}
							value := noise(bytes)
							earlier := func() {
								req := req
								req.Tx = idempotency.Claimed
								leave(t, l.worker(t, deployments[second], sealing(t)), l, req)
							}
							w := l.worker(t, deployments[first], sealing(t)).looksAhead(t)
							if when == "before" {
								earlier()
							} else {
								meet := nth("TransactWriteItems", 1, earlier)
								w.before = func(operation string) error { meet(operation); return nil }
							}
							res, err := w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
								_, err := l.pays(ctx, tx)
								return value, err
							})
							wantAnswer(t, res, err, value, false)
							l.wantOneRecord(t, req)

							// It is where the earlier attempt was, and all that belongs to it.
							at := under(map[string][]byte{"prepared": oldSecret, "switched": newSecret}[second], req)
							if it := l.at(t, at); it.text("status") != "COMPLETED" || !strings.Contains(it.text("encoding"), "sealed") {
								t.Errorf("the record is %v", it)
							}
							if answer == "beside it" {
								l.wantBeside(t, at.text("id"), 1)
							}
							for name := range deployments {
								res, err := l.worker(t, deployments[name], sealing(t)).doTx(soon(t), req, l.pays)
								wantAnswer(t, res, err, value, true)
							}
						})
					})
				}
			}
		}
	}
}

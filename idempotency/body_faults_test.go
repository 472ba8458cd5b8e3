package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H20, rule 25: what goes wrong while a body's items are written. The work is done, so the caller gets its answer and the record
// says completed: with the items, all of them, or without a body. Never unknown, and never a second run.

// sizes are of one item, which is put, and of several, which are a batch.
var sizes = map[string]int{"one": 4 << 10, "several": block + 1}

func TestBodyFaults_EveryKind(t *testing.T) {
	t.Parallel()
	kinds := append([]localtest.FaultKind{localtest.AccessDenied, localtest.Unavailable, localtest.Conflict, localtest.ReplicatedConflict}, faultKinds...)
	for _, kind := range kinds {
		for _, times := range []int{1, forever} {
			bodyFault(t, "one", kind, times, kind != localtest.AccessDenied && times == 1)
		}
	}
	for _, kind := range []localtest.FaultKind{localtest.Throttled, localtest.ReplyLost, localtest.Hang} {
		bodyFault(t, "several", kind, 1, true)
	}
	bodyFault(t, "several", localtest.AccessDenied, 1, false)
	bodyFault(t, "several", localtest.Unprocessed, forever, false)
}

func bodyFault(t *testing.T, size string, kind localtest.FaultKind, times int, kept bool) {
	t.Helper()
	for name, sdk := range map[string]option{"": func(*settings) {}, ", no SDK retries": withoutRetries} {
		if size == "several" && name == "" {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s, %d times%s", size, kind, times, name), func(t *testing.T) {
			t.Parallel()
			if kind == localtest.Unprocessed {
				localtest.OnlyEmbedded(t, "Unprocessed")
			}
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, sdk, long(sizes[size])).looksAhead(t)
				f.db.Inject(localtest.Fault{Match: ofBody, Kind: kind, Times: times, Delay: lateBy(kind)})
				began := time.Now()
				res, err := w.do(soon(t), req, returns("answer"))
				wantAnswer(t, res, err, "answer", false)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %s: half of the time is for the record", took)
				}
				f.db.ClearFaults()
				cause := f.lastErr(t, idempotency.KindCompleted)
				if kept {
					f.wantBeside(t, id(req), int64(1+sizes[size]/block))
					if cause != nil {
						t.Errorf("the event tells of %v", cause)
					}
					res, err = w.do(soon(t), req, returns("again"))
					wantAnswer(t, res, err, "answer", true)
				} else {
					if it := f.wantStatus(t, req, "COMPLETED"); it.text("encoding") != "none" || it.has("body") || it.has("data") {
						t.Errorf("the record is %v", it)
					}
					wantCause(t, cause, "the items of the outcome's body could not be written")
					w.wantNoBody(t, req)
				}
				f.wantRuns(t, 1)
			})
		})
	}
}

// A request that can never be right is not sent again, whichever item it is about.
func TestBodyFaults_Refused(t *testing.T) {
	t.Parallel()
	for size, operation := range map[string]string{"one": "PutItem", "several": "BatchWriteItem"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, long(sizes[size]))
				refused := 0
				refuse := nth(operation, map[string]int{"one": 2, "several": 1}[size], func() { refused++ })
				w.before = func(operation string) error {
					before := refused
					if refuse(operation); refused > before {
						return &smithy.GenericAPIError{Code: "ValidationException", Message: "Item size has exceeded", Fault: smithy.FaultClient}
					}
					return nil
				}
				res, err := w.do(soon(t), req, returns("answer"))
				wantAnswer(t, res, err, "answer", false)
				f.wantCalls(t, "PutItem", "UpdateItem")
				cause := f.lastErr(t, idempotency.KindCompleted)
				if api, ok := errors.AsType[smithy.APIError](cause); !ok || api.ErrorCode() != "ValidationException" {
					t.Errorf("the event tells of %v", cause)
				}
				w.wantNoBody(t, req)
			})
		})
	}
}

// Of a batch that was done in part only the rest is sent again, and the record waits for all of it.
func TestBodyFaults_OnlyTheRest(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "Unprocessed")
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, long(block+1))
		f.inject("BatchWriteItem", localtest.Unprocessed, 1)
		var sent [][]string
		w.sent = func(in any) {
			if batch, ok := in.(*dynamodb.BatchWriteItemInput); ok {
				var ids []string
				for _, write := range batch.RequestItems[f.table] {
					ids = append(ids, item(write.PutRequest.Item).text("id"))
				}
				sent = append(sent, ids)
			}
		}
		w.must(soon(t), t, req, returns("answer"))
		f.wantCalls(t, "PutItem", "BatchWriteItem", "BatchWriteItem", "UpdateItem")
		all := f.wantBeside(t, id(req), 2).ids(id(req))
		slices.Sort(all)
		for _, ids := range sent {
			slices.Sort(ids)
		}
		if len(sent) != 2 || !slices.Equal(sent[0], all) || !slices.Equal(sent[1], all[1:]) {
			t.Errorf("sent %v, want all of %v and then all but the first", sent, all)
		}
	})
}

// The record of an answer whose items could not be written is written like any other: its reply may be lost as well.
func TestBodyFaults_AndTheRecord(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.ReplyLost, localtest.AppliedLate, localtest.ServerErrorApplied} {
		for name, denied := range map[string]bool{"with items": false, "without": true} {
			t.Run(fmt.Sprint(kind, "/", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					w := f.worker(t, withoutRetries, long(4<<10)).looksAhead(t)
					if denied {
						f.db.Inject(localtest.Fault{Match: ofBody, Kind: localtest.AccessDenied})
					}
					f.inject("UpdateItem", kind, 1)
					res, err := w.do(soon(t), req, returns("answer"))
					wantAnswer(t, res, err, "answer", false)
					if cause := f.lastErr(t, idempotency.KindCompleted); (cause != nil) != denied {
						t.Errorf("the event tells of %v", cause)
					}
					f.wantRuns(t, 1)
					if denied {
						w.wantNoBody(t, req)
						return
					}
					f.wantBeside(t, id(req), 1)
					if n := len(f.bodyItems(t)); n != 1 {
						t.Errorf("%d items, want 1: they are written once", n)
					}
					res, err = w.do(soon(t), req, returns("again"))
					wantAnswer(t, res, err, "answer", true)
				})
			})
		}
	}
}

// C09, H20: the process dies before or after the items' write, or the record's. Until that is made the attempt has not ended:
// it is in progress and then unknown, and what it has left is nobody's answer.
func TestBodyFaults_Crash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		operation string
		n         int
		after     bool
		items     int // left behind
		status    string
	}{
		{"before the items", "PutItem", 2, false, 0, "INPROGRESS"},
		{"after the items", "PutItem", 2, true, 1, "INPROGRESS"},
		{"before the record", "UpdateItem", 1, false, 1, "INPROGRESS"},
		{"after the record", "UpdateItem", 1, true, 1, "COMPLETED"},
	} {
		for name, policy := range map[string]option{"refuse": refuse, "rerun": rerun} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					w := f.worker(t, long(4<<10)).looksAhead(t)
					die := nth(tt.operation, tt.n, w.die)
					if tt.after {
						w.after = die
					} else {
						w.before = func(operation string) error { die(operation); return nil }
					}
					w.abandon(soon(t), req, returns("answer"))
					it := f.wantStatus(t, req, tt.status)
					if n := len(f.bodyItems(t)); n != tt.items || it.has("body") != (tt.status == "COMPLETED") {
						t.Errorf("%d items, pointed to: %t", n, it.has("body"))
					}
					next := f.worker(t, policy, long(4<<10)).looksAhead(t)
					if tt.status == "COMPLETED" {
						res, err := next.do(soon(t), req, returns("again"))
						wantAnswer(t, res, err, "answer", true)
						return
					}
					_, err := next.do(soon(t), req, returns("again"))
					wantErr(t, err, idempotency.ErrInProgress)
					pass(time.Minute)
					seen := &witness{}
					res, err := next.do(soon(t), req, seen.then(returns("again")))
					if name == "refuse" {
						wantErr(t, err, idempotency.ErrOutcomeUnknown)
						f.wantRuns(t, 1)
						return
					}
					wantAnswer(t, res, err, "again", false)
					if seen.last().Prior == nil {
						t.Error("the next attempt is not told")
					}
					f.wantBeside(t, id(req), 1)
					if n := len(f.bodyItems(t)); n != tt.items+1 {
						t.Errorf("%d items, want one more than the %d that were left", n, tt.items)
					}
				})
			})
		}
	}
}

// I4: another attempt has taken over while the items were written. Its answer counts, and ours are items that nobody reads;
// the two never write the same one.
func TestBodyFaults_LeaseLost(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]int{"both beside": 1, "the other's in the record": 0} {
		others := map[int]option{0: func(*settings) {}, 1: long(4 << 10)}[beside]
		for _, when := range []string{"before", "after"} {
			t.Run(name+"/"+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					w, winner := f.worker(t, long(4<<10)), f.worker(t, rerun, others)
					winner.skew.Store(int64(time.Minute)) // our lease is over, by the other's clock
					takeOver := nth("PutItem", 2, func() {
						res, err := winner.do(soon(t), req, func(ctx context.Context) (string, error) {
							if idempotency.AttemptFrom(ctx).Prior == nil {
								t.Error("the other is not told of us")
							}
							return "the other's", nil
						})
						wantAnswer(t, res, err, "the other's", false)
					})
					if when == "after" {
						w.after = takeOver
					} else {
						w.before = func(operation string) error { takeOver(operation); return nil }
					}
					res, err := w.do(soon(t), req, returns("ours"))
					wantErr(t, err, idempotency.ErrLeaseLost)
					if !res.Replayed || res.Value != "the other's" {
						t.Errorf("got %+v, want the other's", res)
					}
					if n, want := len(f.bodyItems(t)), 1+beside; n != want {
						t.Errorf("%d items, want %d", n, want)
					}

					f.quiet()
					reader := f.worker(t, others)
					reader.sent = func(in any) {
						if get, ok := in.(*dynamodb.GetItemInput); ok {
							if want := f.wantBeside(t, id(req), 1).ids(id(req))[0]; item(get.Key).text("id") != want {
								t.Errorf("it reads %v, want the winner's %s", item(get.Key).text("id"), want)
							}
						}
					}
					res, err = reader.do(soon(t), req, returns("again"))
					wantAnswer(t, res, err, "the other's", true)
					f.wantRuns(t, 0)
				})
			})
		}
	}
}

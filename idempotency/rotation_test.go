package idempotency_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

var (
	oldSecret = []byte("the secret before last year")
	newSecret = []byte("the secret from this year on")
)

func secrets(s ...[]byte) option { return func(c *settings) { c.Secrets = s } }

// under is the key of the request's record under a secret.
func under(secret []byte, req idempotency.Request) item {
	return item{"id": text(idempotency.RecordID(secret, req.Operation, req.Scope, req.Key))}
}

// deployments are the two that a rotation goes through after the one that it starts from.
var deployments = map[string]option{
	"prepared": secrets(oldSecret, newSecret),
	"switched": secrets(newSecret, oldSecret),
}

// C55, H24, rule 27: what was recorded under the old secret counts under the new one, in every state.
func TestRotation_OldRecordsCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first handler
		value string
		err   error
		runs  int
	}{
		{"completed", returns("first"), "first", nil, 1},
		{"unknown", fails(idempotency.Unknown(errPlain)), "", idempotency.ErrOutcomeUnknown, 1},
		{"released", fails(errPlain), "second", nil, 2},
		{"in progress", nil, "", idempotency.ErrInProgress, 1},
	} {
		for name, deployment := range deployments {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req, before := request("k"), f.worker(t, secrets(oldSecret))
					if tt.first != nil {
						_, _ = before.do(localtest.Invocation(t, time.Second), req, tt.first)
					} else {
						before.hold(localtest.Invocation(t, time.Hour), t, req)
					}
					w := f.worker(t, deployment)
					res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("second"))
					if tt.err != nil {
						wantErr(t, err, tt.err)
					} else if err != nil || res.Value != tt.value {
						t.Errorf("got %q, %v; want %q", res.Value, err, tt.value)
					}
					f.wantRuns(t, tt.runs)
					if f.at(t, under(newSecret, req)) != nil {
						t.Error("the key has a second record")
					}
					_, err = w.do(localtest.Invocation(t, time.Second), other(req), returns("wrong"))
					wantErr(t, err, idempotency.ErrMismatch)
					if tt.value != "" {
						found, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), w.runner, req)
						wantAnswer(t, found, err, tt.value, true)
					}
				})
			})
		}
	}
}

// H24: without the rotation a changed secret runs again; this is what the documentation warns of.
func TestRotation_ReplacedSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.worker(t, secrets(oldSecret)).must(localtest.Invocation(t, time.Second), t, request("k"), returns("first"))
		res, err := f.worker(t, secrets(newSecret)).do(localtest.Invocation(t, time.Second), request("k"), returns("second"))
		wantAnswer(t, res, err, "second", false)
	})
}

// New keys go to the first secret, and an expired record under the other is none.
func TestRotation_FirstSecretWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		f.worker(t, secrets(oldSecret)).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
		pass(48 * time.Hour)
		res, err := f.worker(t, secrets(newSecret, oldSecret)).do(localtest.Invocation(t, time.Second), req, returns("second"))
		wantAnswer(t, res, err, "second", false)
		if it := f.at(t, under(newSecret, req)); it.text("data") != `"second"` {
			t.Errorf("under the new secret: %v", it)
		}
		res, err = f.worker(t, secrets(oldSecret, newSecret)).do(localtest.Invocation(t, time.Second), req, returns("third"))
		wantAnswer(t, res, err, "second", true)
	})
}

// I2: a worker of either deployment at any moment of the other's acquire. Whatever the order, one of them at most
// runs, and whoever comes next can. Both may give way where each sees the other's record: that they run side by side
// on two processors is what decides, and "in progress" is a clear answer.
func TestRotation_TwoDeploymentsAtOnce(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 5; at++ {
		for _, how := range []string{"as a whole", "beside it"} {
			t.Run(fmt.Sprintf("%s at call %d", how, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					a, b := f.worker(t, deployments["prepared"]), f.worker(t, deployments["switched"])
					calls, running := 0, 0
					run := func(context.Context) (string, error) {
						if running++; running > 1 {
							return "", errPlain // two at once: a second run is counted
						}
						pass(time.Millisecond)
						running--
						return "ran", nil
					}
					var others sync.WaitGroup
					meet := func() {
						if calls++; calls == at {
							others.Go(func() { _, _ = b.do(localtest.Invocation(t, 3*time.Second), req, run) })
							if how == "as a whole" {
								others.Wait() // b goes through as a whole
							}
						}
					}
					a.before = func(string) error { meet(); return nil }
					_, _ = a.do(localtest.Invocation(t, 3*time.Second), req, run)
					others.Wait()
					if n := f.runs.Load(); n > 1 || n == 0 && how != "beside it" {
						t.Errorf("handlers ran %d times", n)
					}

					// Whoever comes next, by either deployment, gets the answer.
					for _, deployment := range deployments {
						res, err := f.worker(t, deployment).do(localtest.Invocation(t, 3*time.Second), req, run)
						if err != nil || res.Value != "ran" {
							t.Errorf("got %q, %v", res.Value, err)
						}
					}
					f.wantRuns(t, 1)
				})
			})
		}
	}
}

// I2: both have acquired before either looks at the other's record. The one that looks first gives its own back; if
// both have looked by then, neither runs.
func TestRotation_BothAcquire(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"at any pace": false, "together": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				looked, acquired, verified := barrier(2), barrier(2), func() {}
				if together {
					verified = barrier(2)
				}
				var wg sync.WaitGroup
				for _, deployment := range deployments {
					w := f.worker(t, deployment)
					write, wrote, read := nth("PutItem", 1, looked), nth("PutItem", 1, acquired), nth("GetItem", 3, verified)
					w.before = func(operation string) error { write(operation); return nil }
					w.after = func(operation string) { wrote(operation); read(operation) }
					wg.Go(func() {
						if _, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("ran")); err != nil {
							wantErr(t, err, idempotency.ErrInProgress)
						}
					})
				}
				wg.Wait()
				if ran := f.runs.Load(); ran > 1 || together && ran > 0 {
					t.Errorf("handlers ran %d times", ran)
				}
				for _, deployment := range deployments {
					res, err := f.worker(t, deployment).do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
					if err != nil || res.Value != "ran" {
						t.Errorf("got %q, %v", res.Value, err)
					}
				}
				f.wantRuns(t, 1)
			})
		})
	}
}

// barrier makes n goroutines wait for each other.
func barrier(n int) (arrive func()) {
	var wg sync.WaitGroup
	wg.Add(n)
	return func() {
		wg.Done()
		wg.Wait()
	}
}

// I8: the other secret's record cannot be asked, before the acquire or after it. Nothing runs, and the key is free.
func TestRotation_CannotAsk(t *testing.T) {
	t.Parallel()
	for first := 1; first <= 3; first++ {
		t.Run(fmt.Sprint("read ", first), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: localtest.RequestLost, Nth: first, Times: forever})
				_, err := f.worker(t, deployments["switched"], withoutRetries).do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
				wantErr(t, err, idempotency.ErrUnavailable)
				f.wantRuns(t, 0)
				f.db.ClearFaults()
				res, err := f.worker(t, deployments["switched"]).do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
				wantAnswer(t, res, err, "ran", false)
			})
		})
	}
}

// A secret shows in no id, and a table under a secret has other ids than one without.
func TestRotation_CallsAndIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		w := f.worker(t, deployments["switched"])
		ids := map[string]bool{}
		w.sent = func(in any) {
			if put, ok := in.(*dynamodb.PutItemInput); ok {
				ids[item(put.Item).text("id")] = true
			}
		}
		w.must(localtest.Invocation(t, time.Second), t, req, returns("ok"))
		f.wantCalls(t, "GetItem", "GetItem", "PutItem", "GetItem", "UpdateItem")
		if !ids[under(newSecret, req).text("id")] || len(ids) != 1 || ids[key(req).text("id")] {
			t.Errorf("written under %v", ids)
		}
		f.quiet()
		w.must(localtest.Invocation(t, time.Second), t, req, returns("twice"))
		f.wantCalls(t, "GetItem", "GetItem")
	})
}

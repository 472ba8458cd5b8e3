package idempotency_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Rule 9, H10: a copy of the claim comes after the record was given back. With several secrets a record that is given
// back counts as over at once, so only its own token keeps the copy from claiming the key again for nobody.
func TestRotation_LateCopyOfAClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		f.inject("PutItem", localtest.AppliedLate, 1) // its repetition is applied
		// Two looks before the claim, one after the lost copy; the one after the claim fails.
		f.db.Inject(localtest.Fault{Operation: "GetItem", Nth: 4, Kind: localtest.AccessDenied})
		_, err := f.worker(t, withoutRetries, deployments["switched"]).do(localtest.Invocation(t, 15*time.Second), req, returns("ran"))
		wantErr(t, err, idempotency.ErrUnavailable)
		if late := f.db.Flush(); late != 1 {
			t.Fatalf("%d late copies, want 1", late)
		}
		f.quiet()
		res, err := f.worker(t, deployments["switched"]).do(localtest.Invocation(t, 15*time.Second), req, returns("paid"))
		wantAnswer(t, res, err, "paid", false)
		f.wantRuns(t, 1)
		f.wantKinds(t, idempotency.KindAcquired, idempotency.KindCompleted) // no window has ended
	})
}

// H1, rule 8: what a record that is given back has replaced was over, an unknown too, and does not come back to life.
func TestRotation_GivenBackOverAnUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		_, err := f.worker(t, deployments["switched"]).do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
		wantErr(t, err, errPlain)
		pass(48 * time.Hour)
		// Two looks before the claim; the one after it fails.
		f.db.Inject(localtest.Fault{Operation: "GetItem", Nth: 3, Kind: localtest.AccessDenied})
		_, err = f.worker(t, deployments["switched"]).do(localtest.Invocation(t, time.Second), req, returns("ran"))
		wantErr(t, err, idempotency.ErrUnavailable)
		res, err := f.worker(t, deployments["switched"]).do(localtest.Invocation(t, time.Second), req, returns("paid"))
		wantAnswer(t, res, err, "paid", false)
	})
}

package main

// recordGuards are what the invariants rest on, in the order of a record's life.
var recordGuards = []guard{
	// The conditions of the transitions.
	{name: "acquire: an existing record", heldBy: "^TestAcquire|^TestAttempt_TwoClaims", file: "idempotency/transition.go", text: `acquireCondition = "attribute_not_exists(#pk) OR (`, instead: `acquireCondition = "attribute_exists(#pk) OR attribute_not_exists(#pk) OR (`},
	{name: "acquire: not my own token again", heldBy: "^TestAcquire|^TestRotation_Late", file: "idempotency/transition.go", text: `(#attempt <> :mine AND #expiry`, instead: `((:mine = :mine) AND #expiry`},
	{name: "acquire: the window is over", heldBy: "^TestAttempt|^TestLate|^TestTxAttack|^TestClock", file: "idempotency/transition.go", text: `AND #expiry < :expired AND "`, instead: `AND (#expiry < :expired OR #expiry >= :expired) AND "`},
	{name: "acquire: only known statuses", heldBy: "^TestAcquire_NotUnderstood", file: "idempotency/transition.go", text: `"(#status IN (:completed, :failed, :released, :unknown) OR (`, instead: `"(#status IN (:completed, :failed, :released, :unknown) OR #status <> :inprogress OR (`},
	{name: "acquire: the lease, past the window", heldBy: "^TestWindow|^TestClock", file: "idempotency/transition.go", text: `:unknown) OR (#status = :inprogress AND #in_progress_expiration < :now)))"`, instead: `:unknown) OR (#status = :inprogress AND (#in_progress_expiration < :now OR #in_progress_expiration >= :now))))"`},
	{name: "re-acquire: the token that was seen", heldBy: "^TestAttempt|^TestStorm_Released", file: "idempotency/transition.go", text: `reacquireCondition = "#attempt = :seen AND #status = :released"`, instead: `reacquireCondition = "(#attempt = :seen OR #attempt <> :seen) AND #status = :released"`},
	{name: "re-acquire: released", heldBy: "^TestAttempt|^TestLate", file: "idempotency/transition.go", text: `reacquireCondition = "#attempt = :seen AND #status = :released"`, instead: `reacquireCondition = "#attempt = :seen AND (#status = :released OR #status <> :released)"`},
	{name: "take over: the token that was seen", heldBy: "^TestAttempt|^TestResolve_", file: "idempotency/transition.go", text: `takeOverCondition = "#attempt = :seen AND (`, instead: `takeOverCondition = "(#attempt = :seen OR #attempt <> :seen) AND (`},
	{name: "take over: unknown or in progress", heldBy: "^TestAttempt|^TestResolve_", file: "idempotency/transition.go", text: `takeOverCondition = "#attempt = :seen AND (#status = :unknown OR (`, instead: `takeOverCondition = "#attempt = :seen AND (#status = :unknown OR #status <> :inprogress OR (`},
	{name: "take over: the lease", heldBy: "^TestAttempt_|^TestClock|^TestResolve_", file: "idempotency/transition.go", text: `(#status = :inprogress AND #in_progress_expiration < :now))"

	// The same`, instead: `(#status = :inprogress AND (#in_progress_expiration < :now OR #in_progress_expiration >= :now)))"

	// The same`},
	{name: "take over, Tx: the form", heldBy: "^TestTxUnknown|^TestTxRetry", file: "idempotency/transition.go", text: `" AND #form = :tx AND`, instead: `" AND (#form = :tx OR #form <> :tx) AND`},
	{name: "take over, Tx: no step", heldBy: "^TestTxUnknown", file: "idempotency/transition.go", text: ` AND attribute_not_exists(#ext) AND`, instead: ` AND (attribute_not_exists(#ext) OR attribute_exists(#ext)) AND`},
	{name: "take over, Tx: no prior", heldBy: "^TestTxUnknown|^TestTxCondition|^TestAttempt", file: "idempotency/transition.go", text: ` AND attribute_not_exists(#prior_no)"`, instead: ` AND (attribute_not_exists(#prior_no) OR attribute_exists(#prior_no))"`},
	{name: "end: the owner's token", heldBy: "^TestLate", file: "idempotency/transition.go", text: `ownCondition = "#attempt = :mine AND #status = :inprogress"`, instead: `ownCondition = "(#attempt = :mine OR #attempt <> :mine) AND #status = :inprogress"`},
	{name: "end: once", heldBy: "^TestLate|^TestAcquire|^TestRun", file: "idempotency/transition.go", text: `ownCondition = "#attempt = :mine AND #status = :inprogress"`, instead: `ownCondition = "#attempt = :mine AND (#status = :inprogress OR #status <> :inprogress)"`},
	{name: "claim over: a new token", heldBy: "^TestLate|^TestAttempt", file: "idempotency/transition.go", text: `#attempt = :mine, #attempt_no = #attempt_no + :one, "`, instead: `#attempt = if_not_exists(#attempt, :mine), #attempt_no = #attempt_no + :one, "`},
	{name: "claim over: the number grows", heldBy: "^TestAttempt", file: "idempotency/transition.go", text: `#attempt_no = #attempt_no + :one, "`, instead: `#attempt_no = if_not_exists(#attempt_no, :one), "`},
	{name: "claim over: who was there before", heldBy: "^TestLate", file: "idempotency/transition.go", text: `"SET #prev = #attempt, #prev_end = #status, `, instead: `"SET #prev = :mine, #prev_end = #status, `},
	{name: "take over: the prior is kept", heldBy: "^TestAttempt", file: "idempotency/transition.go", text: `#prior_started = if_not_exists(#prior_started, #started)`, instead: `#prior_started = #started`},
	{name: "release: of an attempt with a prior", heldBy: "^TestWindow_Forgotten", file: "idempotency/transition.go", text: `	if p := o.attempt.Prior; p != nil {
		e = &t.expr`, instead: `	if p := o.attempt.Prior; p != nil && false {
		e = &t.expr`},
	{name: "expiry of a record without an outcome", heldBy: "^TestClaim|^TestWindow", file: "idempotency/transition.go", text: `c.leaseEnd.Add(c.retention)`, instead: `c.now.Add(c.retention)`},

	// Resolutions and single shots.
	{name: "resolve: take over's condition", heldBy: "^TestResolve", file: "idempotency/transition_resolve.go", text: `newExpression(t.schema, takeOverCondition, update)`, instead: `newExpression(t.schema, takeOverCondition+" OR attribute_exists(#pk)", update)`},
	{name: "resolve: never sooner than the record's end", heldBy: "^TestResolve|^TestBodyResolve", file: "idempotency/transition_resolve.go", text: `numberValue(max(upToSecond(expires), found.Expires.Unix()))`, instead: `numberValue(upToSecond(expires))`},
	{name: "resolve: the prior is settled", heldBy: "^TestResolve", file: "idempotency/transition_resolve.go", text: `resolveNotDone = resolveUpdate + " REMOVE #prior_no, #prior_started, #prior_lease"`, instead: `resolveNotDone = resolveUpdate + " REMOVE #prior_started, #prior_lease"`},
	{name: "single shot: acquire's condition", heldBy: "^TestTxWindow_Storm$", file: "idempotency/transition_shot.go", text: `		c.now = as.at // what is over by then is over
		return t.create(c, it)`, instead: `		c.now = as.at // what is over by then is over
		w := t.create(c, it)
		condition := acquireCondition + " OR attribute_exists(#pk)"
		w.put.ConditionExpression = &condition
		return w`},
	{name: "single shot: takes over under its form only", heldBy: "^TestTxUnknown|^TestTxRetry", file: "idempotency/transition_shot.go", text: `	case inside:
		condition = takeOverTxCondition`, instead: `	case inside:
		condition = takeOverCondition + " AND (#form = :tx OR #form <> :tx)"`},
	{name: "single shot: a copy is kept out", heldBy: "^TestTxAttack|^TestTxFaults", file: "idempotency/singleshot.go", text: `	if s.own.sent() {
		return s.keepOut(ctx, class, handlerErr)
	}`, instead: ``},
	{name: "a transaction was refused: its outcome's window", heldBy: "^TestTxOutcome", file: "idempotency/run.go", text: `	return e.own.sent() && !e.r.wallNow().Before(e.own.sentAt.Add(e.req.Retention))`, instead: `	return false`},
	{name: "single shot: nothing is there yet that keeps it out", heldBy: "^TestTxAttack", file: "idempotency/singleshot.go", text: `		case !rep.applied && s.seen == nil && (rec == nil || rec.free(now)):`, instead: `		case !rep.applied && s.seen == nil && false:`},
	{name: "replay: an own outcome that cannot be read", heldBy: "^TestTxOutcome_CommittedAndUnreadable$", file: "idempotency/do.go", text: `		if answer.sent && errors.Is(err, ErrUnavailable) {`, instead: `		if false {`},
	{name: "single shot: not once more after its window", heldBy: "^TestTxOutcome_NotOnceMore", file: "idempotency/singleshot.go", text: `		if s.outlived() {
			return s.notKnown(`, instead: `		if false {
			return s.notKnown(`},
	{name: "single shot: what secrets that rotate may take back", heldBy: "^TestTxAttack", file: "idempotency/singleshot.go", text: `		case !rep.applied && rec != nil && rec.token != cl.token && s.mayVanish(rec):
			return s.notKnown(ctx, errUnsettled, handlerErr)
`, instead: ``},
	{name: "single shot: nor is a claim that keeps it out for good", heldBy: "^TestTxRotation_CopyAfter", file: "idempotency/singleshot.go", text: `			if err != nil && passing && s.own.sent() {`, instead: `			if false && passing {`},
	{name: "single shot: what may have committed is not known", heldBy: "^TestTxAttack", file: "idempotency/singleshot.go", text: `	if s.own.sent() {
		return s.notKnown(ctx, err, handlerErr)
	}`, instead: ``},
	{name: "single shot: alone under its id", heldBy: "^TestTxRotation", file: "idempotency/singleshot.go", text: `		if id != s.id {
			checks`, instead: `		if id != s.id && false {
			checks`},
	{name: "single shot: what was unknown stays so", heldBy: "^TestTxUnknown", file: "idempotency/transition_shot.go", text: `	if seen.status != released && !inside {
		s = unknown
	}`, instead: ``},
	{name: "single shot: a look before the error", heldBy: "^TestTxOutcome_FailedShot$", file: "idempotency/singleshot.go", text: `	if rec != nil && (rec.finished() || s.match(rec) != nil) {
		return s.met(ctx, rec)
	}
	s.tell`, instead: `	_ = rec
	s.tell`},

	// Deciding.
	{name: "decide: expiry before the fingerprint", heldBy: "^Test(Wait|Rotation|Lookup|Clock|Window|Late|TxWindow|ReadFirst|DoTx|Tx)", file: "idempotency/acquire.go", text: `	if rec.free(now) {
		return nil, nil, nil
	}
	if err := c.match(rec); err != nil {
		return nil, nil, c.mismatch(ctx, err)
	}`, instead: `	if err := c.match(rec); err != nil {
		return nil, nil, c.mismatch(ctx, err)
	}
	if rec.free(now) {
		return nil, nil, nil
	}`},
	{name: "decide: the fingerprint before the outcome", heldBy: "^TestAcquire_Mismatch", file: "idempotency/acquire.go", text: `	if err := c.match(rec); err != nil {
		return nil, nil, c.mismatch(ctx, err)
	}
	switch {
	case rec.finished():
		return rec, nil, nil`, instead: `	if rec.finished() {
		return rec, nil, nil
	}
	if err := c.match(rec); err != nil {
		return nil, nil, c.mismatch(ctx, err)
	}
	switch {`},
	{name: "decide: a live lease", heldBy: "^TestAcquire|^TestAttempt|^TestWait", file: "idempotency/acquire.go", text: `	case rec.live(now):
		if c.req.Wait > 0 {`, instead: `	case rec.live(now) && c.req.Wait > 0:
		if c.req.Wait > 0 {`},
	{name: "decide: Refuse", heldBy: "^TestAttempt|^TestClock|^TestRun", file: "idempotency/acquire.go", text: `	case rec.status == released, c.req.OnUnknown == Rerun, c.inside(rec):`, instead: `	case rec.status != completed, c.req.OnUnknown == Rerun, c.inside(rec):`},
	{name: "decide: inside only without a step or a prior", heldBy: "^TestTxUnknown_StepNotRecorded$", file: "idempotency/acquire.go", text: `rec.form == formTx && !rec.external && rec.prior == nil`, instead: `rec.form == formTx`},
	{name: "claim: a fresh token each time", heldBy: "^TestAcquire_FreshTokens", file: "idempotency/acquire.go", text: `own.attempt.Token = rand.Text()`, instead: `own.attempt.Token = fmt.Sprintf("%p", c) + rand.Text()[:0]`},
	{name: "claim: my own write is recognised", heldBy: "^TestAcquire_Own", file: "idempotency/acquire.go", text: `		if own.attempt.Token == rec.token && rec.status == inProgress {`, instead: `		if false {`},
	{name: "claim: an earlier claim of the same call is, too", heldBy: "^TestAcquire_OwnEarlier", file: "idempotency/acquire.go", text: `fingerprint: c.fingerprint, earlier: c.claims}`, instead: `fingerprint: c.fingerprint}`},
	{name: "claim: my own token counts in progress only", heldBy: "^TestAcquire_Own", file: "idempotency/acquire.go", text: `own.attempt.Token == rec.token && rec.status == inProgress {`, instead: `own.attempt.Token == rec.token {`},
	{name: "claim: a forgotten unknown is handed on", heldBy: "^TestWindow_Forgotten|^TestAttempt_Prior", file: "idempotency/acquire.go", text: `			if old.status == inProgress || old.status == unknown {
				own.attempt.Prior = old.priorOf() // rule 8
			}`, instead: ``},
	{name: "claim: the fence grows", heldBy: "^TestFence|^TestAttempt_Fence", file: "idempotency/acquire.go", text: `return windowMilli*1024 + number`, instead: `return number + 0*windowMilli`},
	{name: "confirm: the time after the acquire", heldBy: "^TestAcquire_Frozen|^TestAcquire_NoTime", file: "idempotency/acquire.go", text: `	return nil, c.inTime(ctx, own)
}`, instead: `	return nil, nil
}`},
	{name: "a claim without an answer is given back", heldBy: "^TestAcquire_NoAnswer", file: "idempotency/acquire.go", text: `	if rep.applied || !badRecord(err) {
		c.giveBack(ctx, own)
	}`, instead: ``},
	{name: "give back: what was unknown stays so", heldBy: "^TestAcquire|^TestAttempt", file: "idempotency/acquire.go", text: `		s, kind = unknown, KindUnknown // what was unknown before stays so (H1)`, instead: `		s, kind = released, KindReleased`},
	{name: "fail closed", heldBy: "^TestAcquire_Unavailable", file: "idempotency/acquire.go", text: `	if err != nil {
		return nil, nil, c.unanswered(ctx, own, rep, err)
	}`, instead: `	if err != nil {
		return nil, own, nil
	}`},
	{name: "wait: a poll is a decision", heldBy: "^TestWait", file: "idempotency/wait.go", text: `			return c.decide(ctx, polled)`, instead: `			return polled, nil, nil`},
	{name: "wait: a vanished record is no claim to it", heldBy: "^TestWait", file: "idempotency/wait.go", text: ` && c.match(polled) == nil && c.claimed(polled) == nil:`, instead: ` && c.claimed(polled) == nil:`},
	{name: "wait: my own record is none to wait for", heldBy: "^TestAcquire_OwnEarlier", file: "idempotency/wait.go", text: ` && c.claimed(polled) == nil:`, instead: `:`},
	{name: "read first: the fingerprint", heldBy: "^TestReadFirst", file: "idempotency/readfirst.go", text: ` || c.match(rec) != nil {`, instead: ` {`},
	{name: "read first: only outcomes", heldBy: "^TestReadFirst", file: "idempotency/readfirst.go", text: ` || !rec.finished() ||`, instead: ` ||`},
	{name: "read first: the window", heldBy: "^TestReadFirst", file: "idempotency/readfirst.go", text: `rec == nil || rec.expired(c.r.wallNow()) ||`, instead: `rec == nil ||`},
	{name: "cache: the fingerprint", heldBy: "^TestCache", file: "idempotency/cache.go", text: ` || c.match(found.rec) != nil {`, instead: ` {`},
	{name: "cache: not while secrets rotate", heldBy: "^TestCache", file: "idempotency/cache.go", text: `	if cfg.Cache == 0 || len(cfg.Secrets) > 1 {`, instead: `	if cfg.Cache == 0 {`},
	{name: "cache: the window", heldBy: "^TestCache", file: "idempotency/cache.go", text: `!ok || found.rec.expired(now) ||`, instead: `!ok ||`},

	// Time.
	{name: "expiry: the margin of clocks", heldBy: "^TestClock|^TestWindow", file: "idempotency/record.go", text: `return now.Add(-clockMargin).Unix()`, instead: `return now.Unix()`},
	{name: "live: up to the last moment", heldBy: "^TestRecord_Live|^TestClock", file: "idempotency/record.go", text: `rec.leaseEnd.UnixMilli() >= now.UnixMilli()`, instead: `rec.leaseEnd.UnixMilli() > now.Add(time.Second).UnixMilli()`},
	{name: "free: not with a live lease", heldBy: "^TestRecord_Live|^TestWindow", file: "idempotency/record.go", text: `return rec.expired(now) && !rec.live(now)`, instead: `return rec.expired(now)`},
	{name: "lease: the margin of clocks", heldBy: "^TestPlan|^TestClock", file: "idempotency/deadline.go", text: `needed := left + clockMargin`, instead: `needed := left`},
	{name: "lease: one that is too short is refused", heldBy: "^TestPlan|^TestAcquire_Lease", file: "idempotency/deadline.go", text: `case lease < needed:`, instead: `case lease < 0:`},
	{name: "handler: ends before the lease", heldBy: "^TestPlan|^TestClock", file: "idempotency/deadline.go", text: `left = min(left, lease-clockMargin)`, instead: `left = min(left, lease+clockMargin)`},
	{name: "handler: a reserve for the outcome", heldBy: "^TestPlan|^TestDo_Reserve", file: "idempotency/deadline.go", text: `d.handler = d.hard.Add(-d.reserve)`, instead: `d.handler = d.hard`},
	{name: "end: detached from the caller", heldBy: "^TestRun_Cancelled|^TestEnding", file: "idempotency/deadline.go", text: `before(context.WithoutCancel(ctx), r.toContext(end))`, instead: `before(ctx, r.toContext(end))`},

	// Running and ending.
	{name: "end: a panic leaves an unknown", heldBy: "^TestRun_Every", file: "idempotency/run.go", text: `			_, _ = e.unknown(ctx, errAbandoned)`, instead: `			_, _ = e.release(ctx, errAbandoned)`},
	{name: "end: a step that is open is no release", heldBy: "^TestStep", file: "idempotency/run.go", text: `		if class == Released && running.open() {`, instead: `		if class == Released && false {`},
	{name: "end: a refused commit after a step is unknown", heldBy: "^TestLedgerFound", file: "idempotency/run.go", text: `			if own.begun || c.req.Tx == 0 {`, instead: `			if c.req.Tx == 0 {`},
	{name: "end: a refused commit of who promised nothing is unknown", heldBy: "^TestLedgerFound", file: "idempotency/run.go", text: `			if own.begun || c.req.Tx == 0 {`, instead: `			if own.begun {`},
	{name: "end: an attempt with a prior never releases", heldBy: "^TestAttempt|^TestRun", file: "idempotency/run.go", text: `	if e.own.attempt.Prior != nil {
		return e.leave(ctx, unknown, KindUnknown, handlerErr)`, instead: `	if false {
		return e.leave(ctx, unknown, KindUnknown, handlerErr)`},
	{name: "end: my own outcome is recognised", heldBy: "^TestLate|^TestFaults", file: "idempotency/run.go", text: `	case rep.rec.token == e.own.attempt.Token && rep.rec.finished():
		// Nobody`, instead: `	case rep.rec.token == "" && rep.rec.finished():
		// Nobody`},
	{name: "end: my own release is recognised", heldBy: "^TestLate", file: "idempotency/run.go", text: `rec.token == token && rec.status == s || rec.prev == token && rec.prevEnd == s`, instead: `rec.token == token && rec.status == s`},
	{name: "end: not recorded is told", heldBy: "^TestRun", file: "idempotency/run.go", text: `	if err != nil {
		return e.notRecorded(ctx, err, handlerErr)
	}
	return e.finished`, instead: `	if err != nil {
		return answer{completed: as.at}, handlerErr
	}
	return e.finished`},
	{name: "lost: the winner's fingerprint", heldBy: "^TestLate", file: "idempotency/run.go", text: `same := !winner.expired(e.r.wallNow()) && e.match(winner) == nil`, instead: `same := !winner.expired(e.r.wallNow())`},
	{name: "lost: the winner's window", heldBy: "^TestLate", file: "idempotency/run.go", text: `same := !winner.expired(e.r.wallNow()) && e.match(winner) == nil`, instead: `same := e.match(winner) == nil`},
	{name: "commit: sent again, never run again", heldBy: "^TestTxRetry_SeesItsOwnEffect$", file: "idempotency/commit.go", text: `	a, err = e.notRecorded(ctx, err, nil)
	return a, true, err`, instead: `	return answer{}, false, err`},
	{name: "transaction: the record's reason first", heldBy: "^TestTxToken_OfEachDecision$", file: "idempotency/transact.go", text: `	case failedCondition(own) && len(own.Item) == 0:`, instead: `	case slices.ContainsFunc(staged, failedCondition):
		return reply{staged: staged}, nil
	case failedCondition(own) && len(own.Item) == 0:`},
	{name: "transaction: what is undecided is sent again", heldBy: "^TestTxToken|^TestTxFaults", file: "idempotency/transact.go", text: `	_, ok := errors.AsType[*types.IdempotentParameterMismatchException](err)
	return ok`, instead: `	return false`},
	{name: "transaction: a conflict on the record goes first", heldBy: "^TestTxRetry", file: "idempotency/transact.go", text: `	case reasonCode(own) == "None" && slices.ContainsFunc(staged, failedCondition):`, instead: `	case slices.ContainsFunc(staged, failedCondition):`},
	{name: "transaction: a refusal that does not show the record", heldBy: "^TestTxRetry", file: "idempotency/transact.go", text: `		rec, err := t.get(ctx, m, w.id(t.schema))
		return reply{rec: rec}, err
	case failedCondition(own):`, instead: `		return reply{}, nil
	case failedCondition(own):`},
	{name: "end: a commit that may be on its way", heldBy: "^TestLedgerFound", file: "idempotency/run.go", text: `	case err != nil && e.own.sent():`, instead: `	case err != nil && e.own.sent() && false:`},
	{name: "end: my own commit is recognised", heldBy: "^TestTxOutcome", file: "idempotency/run.go", text: `	case e.own.sent() && rep.rec.token == e.own.attempt.Token && rep.rec.finished():`, instead: `	case false && rep.rec.token == e.own.attempt.Token && rep.rec.finished():`},
	{name: "end: a record that is gone", heldBy: "^TestTxToken", file: "idempotency/run.go", text: `	case rep.rec == nil:
		return e.notRecorded(ctx, errGone, handlerErr)`, instead: `	case rep.rec == nil:
		return answer{completed: as.at}, handlerErr`},
	{name: "look-up: the fingerprint", heldBy: "^TestHistory|^TestLookup", file: "idempotency/lookup.go", text: `	if err := c.match(rec); err != nil {`, instead: `	if err := c.match(rec); err != nil && false {`},
	{name: "resolve: my own token is recognised", heldBy: "^TestResolve_Own", file: "idempotency/resolve.go", text: `(rep.rec.token == token || rep.rec.prev`, instead: `(rep.rec.prev`},
	{name: "resolve: before whom I was, too", heldBy: "^TestResolve_Own", file: "idempotency/resolve.go", text: ` || rep.rec.prev == token && rep.rec.prevEnd == as.status)`, instead: `)`},
	{name: "rotation: what counts", heldBy: "^TestRotation", file: "idempotency/rotation.go", text: `	case rec.finished():
		return 0`, instead: `	case rec.finished():
		return 3`},
	{name: "rotation: who was bound first", heldBy: "^TestRotation", file: "idempotency/rotation.go", text: `	if rec.boundOtherwise(other) {
		return rec.window.Before(other.window)
	}`, instead: ``},
	{name: "rotation: who gives way", heldBy: "^TestRotation", file: "idempotency/rotation.go", text: ` || c.givesWay(rec, own))`, instead: `)`},
	{name: "rotation: given back as if it had never been", heldBy: "^TestRotation", file: "idempotency/acquire.go", text: `	case own.created && len(c.ids) > 1:`, instead: `	case own.created && len(c.ids) > 9:`},
	{name: "persist: a read says whether a write is needed", heldBy: "^TestLate|^TestAcquire|^TestFaults", file: "idempotency/store.go", text: `		if err == nil && !w.pending(rec) {
			return reply{rec: rec}, nil
		}`, instead: `		_, _ = rec, w.pending`},
	{name: "persist: outcomes are sent while there is time", heldBy: "^TestRun", file: "idempotency/store.go", text: `allSends    = math.MaxInt32 // while`, instead: `allSends    = math.MaxInt32 - math.MaxInt32 + 1 // while`},
	{name: "send: a conflict is tried again", heldBy: "^TestAcquire_Conflicts", file: "idempotency/store.go", text: `if !conflicting(err) || !sleep`, instead: `if true || !conflicting(err) || !sleep`},
	{name: "steps: my own step is recognised", heldBy: "^TestStep", file: "idempotency/step.go", text: `	case rep.applied, run.owns(rep.rec) && rep.rec.steps[name] != nil:`, instead: `	case rep.applied:`},
	{name: "steps: none begins that cannot be told before", heldBy: "^TestTxUnknown_Step", file: "idempotency/step.go", text: `	case err != nil:
		return run.stateError(fmt.Errorf("%w: step %q has not begun: %w", ErrUnavailable, name, err), nil)`, instead: `	case err != nil:
		return nil`},
	{name: "steps: none begins after a loss", heldBy: "^TestStep_LeaseLost", file: "idempotency/step.go", text: `	case run.lost != nil:
		return nil, false, run.lost
`, instead: ``},
	{name: "steps: none begins after its run", heldBy: "^TestStep_After", file: "idempotency/step.go", text: `	case run.over:
		return nil, false, invalid("Step's ctx", "that of a run which is over", "a step must end before its handler returns")
`, instead: ``},
	{name: "steps: looked for where an earlier attempt may have had it", heldBy: "^TestStepOrFind", file: "idempotency/step.go", text: ` || run.own.attempt.Prior != nil || run.own.attempt.Number > 1`, instead: ` || run.own.attempt.Prior != nil`},
	{name: "steps: staging ends with the run", heldBy: "^TestTxStage", file: "idempotency/running.go", text: `	run.tx.seal()`, instead: ``},
	{name: "steps: one that begins is told before", heldBy: "^TestTxUnknown|^TestStep", file: "idempotency/transition.go", text: `beginUpdate = "SET #ext = :true"`, instead: `beginUpdate = "SET #form = :true"`},

	// Large answers.
	{name: "items: a name of their own", heldBy: "^TestBody", file: "idempotency/body.go", text: `&chunks{name: rand.Text(), `, instead: `&chunks{name: "same" + rand.Text()[:0], `},
	{name: "items: no run when they are lost", heldBy: "^TestBodyRead", file: "idempotency/stored.go", text: `			return nil, fmt.Errorf("%w: %w", ErrNoBody, err)`, instead: `			return nil, nil`},
	{name: "items: outlive the record", heldBy: "^TestBody_", file: "idempotency/body.go", text: `numberValue(upToSecond(expires.Add(chunkGrace)))`, instead: `numberValue(upToSecond(expires.Add(-time.Hour)))`},
	{name: "items: the digest", heldBy: "^TestBodyRead", file: "idempotency/body.go", text: ` || sha256.Sum256(data) != c.digest {`, instead: ` {`},
	{name: "items: a second, consistent read", heldBy: "^TestBodyRead", file: "idempotency/body.go", text: `[]bool{false, true}`, instead: `[]bool{false}`},
	{name: "sealed: for its record alone", heldBy: "^TestCodec_Moved", file: "idempotency/codec.go", text: `return id + "/outcome/" + string(s)`, instead: `return "/outcome/" + string(s)`},
	{name: "inflate: bounded", heldBy: "^TestInflate", file: "idempotency/deflate.go", text: `io.LimitReader(r, maxOutcome+1)`, instead: `r`},

	// Identity.
	{name: "id: the scope", heldBy: "^TestRecordID_Parts", file: "idempotency/key.go", text: `writeParts(h, idDomain, scope, operation, key)`, instead: `writeParts(h, idDomain, operation, key)`},
	{name: "id: where a part ends", heldBy: "^TestRecordID_Parts", file: "idempotency/key.go", text: `		h.Write(length[:])
`, instead: ``},
	{name: "classify: a reset may have been received", heldBy: "^TestClassify", file: "idempotency/classify.go", text: `syscall.ECONNRESET, syscall.EPIPE`, instead: `syscall.EPIPE`},
	{name: "classify: a remote 5xx", heldBy: "^TestClassify_", file: "idempotency/classify.go", text: `return r.HTTPStatusCode() >= 500`, instead: `return r.HTTPStatusCode() >= 600`},
	{name: "rotation: a second look", heldBy: "^TestRotation", file: "idempotency/rotation.go", text: `		c.giveBack(ctx, own)
		c.id = id
		return rec, nil`, instead: `		continue`},
	{name: "fingerprint: duplicate members", heldBy: "^TestRawJSON", file: "idempotency/canonical.go", text: `		} else if order == 0 {`, instead: `		} else if order == 0 && false {`},
}

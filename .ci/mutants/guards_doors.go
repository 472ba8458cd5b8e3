package main

// doorGuards are what the front doors and the batches add: whose key it is, what belongs to a request, what is recorded, and
// which message is acknowledged.
var doorGuards = []guard{
	// Whose key, and which one.
	{name: "scope: nobody is refused", heldBy: "^TestHTTP_Misconfigured$", file: "lambda/httprequest.go", text: `	if req.Scope == "" { // also`, instead: `	if req.Scope == "" && false { // also`},
	{name: "scope: the tenant, over HTTP", heldBy: "^TestHTTP_Tenants$", file: "lambda/httprequest.go", text: `	req.Scope = tenantScope(ctx, req.Scope)`, instead: ``},
	{name: "scope: the tenant, of a message", heldBy: "^TestSQS", file: "lambda/batchmessage.go", text: `	req.Scope = tenantScope(ctx, req.Scope)`, instead: ``},
	{name: "scope: the tenant, of a typed handler", heldBy: "^TestWrap_Tenant", file: "lambda/wrap.go", text: `		req.Scope = tenantScope(ctx, req.Scope)`, instead: ``},
	{name: "scope: no scope passes for a tenant's", heldBy: "^TestTenant", file: "lambda/tenant.go", text: `tenant == "" && !strings.HasPrefix(scope, tenantPrefix)`, instead: `tenant == "" && strings.HasPrefix(scope, "")`},
	{name: "scope: where a tenant's name ends", heldBy: "^TestTenant", file: "lambda/tenant.go", text: `"%s%d/%s%s", tenantPrefix, len(tenant), tenant, scope`, instead: `"%s%s%s", tenantPrefix, tenant, scope`},
	{name: "scope: the queue", heldBy: "^TestSQS|^TestBatch", file: "lambda/batchmessage.go", text: `		req.Scope = f.scope`, instead: `		req.Scope = idempotency.GlobalScope`},
	{name: "key: two headers", heldBy: "^TestParseKey|^TestHTTP", file: "lambda/httpkey.go", text: `	case len(values) > 1:`, instead: `	case len(values) > 9:`},
	{name: "key: two keys in one header", heldBy: "^TestParseKey|^TestHTTP", file: "lambda/httpkey.go", text: `c == ' ' || c == ',' || c == '"'`, instead: `c == ' ' || c == '"'`},
	{name: "key: a second key behind parameters", heldBy: "^TestParseKey|^TestHTTP", file: "lambda/httpkey.go", text: `		case c == ',' && !quoted:
			return false // another member: two values
`, instead: ``},
	{name: "key: an empty one is none", heldBy: "^TestParseKey|^TestHTTP", file: "lambda/httpkey.go", text: `	case key == "":
		return "", errors.New("the key is empty")
`, instead: ``},
	{name: "key: a missing one is refused", heldBy: "^TestHTTP_MethodInAnyCase$", file: "lambda/httprequest.go", text: `	case err == errNoKey: //nolint:errorlint // never wrapped
		return "", refuse(`, instead: `	case err == errNoKey: //nolint:errorlint // never wrapped
		return "none", nil
		return "", refuse(`},
	{name: "key: one that is too old", heldBy: "^TestHTTP_OldestKey$", file: "lambda/httprequest.go", text: `	case ok && age > w.cfg.OldestKey:`, instead: `	case ok && age > 1000*w.cfg.OldestKey:`},
	{name: "key: a request function that found none gets no other", heldBy: "^TestSQS|^TestBatch", file: "lambda/batchmessage.go", text: `	if !named { // a request`, instead: `	if !named || req.Key == "" { // a request`},
	{name: "request: an event of another front door is no GET", heldBy: "^TestHTTP_AnotherDoorsEvent$", file: "lambda/httprequest.go", text: `	if q.Method == "" { // an event of another payload format or front door than the wrapper's: it must not pass for a GET
		return false
	}
`, instead: ``},
	{name: "request: events of another source", heldBy: "^TestBatch_AnotherSourcesEvent$", file: "lambda/batchmessage.go", text: `got != "" && got != want`, instead: `got != got`},

	// What belongs to the request.
	{name: "input: the path", heldBy: "^TestHTTP_FingerprintIsFixed$", file: "lambda/httprequest.go", text: `Path: q.Path, `, instead: ``},
	{name: "input: the path's parameters", heldBy: "^TestHTTP_FingerprintIsFixed$", file: "lambda/httprequest.go", text: `PathParameters: q.PathParameters, `, instead: ``},
	{name: "input: the query", heldBy: "^TestHTTP_FingerprintIsFixed$", file: "lambda/httprequest.go", text: `Query: q.Query, `, instead: ``},
	{name: "input: a query that cannot be decoded", heldBy: "^TestHTTP_MismatchOfLookalikes$", file: "lambda/httprequest.go", text: `, RawQuery: q.rawQuery}`, instead: `}`},
	{name: "input: a body that is no JSON", heldBy: "^TestHTTP_FingerprintIsFixed$", file: "lambda/httprequest.go", text: `		in.Bytes = q.Body`, instead: ``},
	{name: "input: the body's type", heldBy: "^TestHTTP_FingerprintIsFixed$", file: "lambda/httprequest.go", text: `	in.Type = mediaType(q.Header.Get("Content-Type"))
	if (in.Type == "application/json" || strings.HasSuffix(in.Type, "+json")) && json.Valid`, instead: `	kind := mediaType(q.Header.Get("Content-Type"))
	if (kind == "application/json" || strings.HasSuffix(kind, "+json")) && json.Valid`},
	{name: "input: the message", heldBy: "^TestSQS|^TestBatch", file: "lambda/batchmessage.go", text: `		req.Input = f.input`, instead: `		req.Input = idempotency.AnyInput`},

	// What is recorded, and told.
	{name: "record: a bad gateway leaves it open", heldBy: "^TestRecord|^TestHTTP", file: "lambda/httprecord.go", text: `status == http.StatusBadGateway, status == http.StatusGatewayTimeout:`, instead: `status == http.StatusGatewayTimeout:`},
	{name: "record: what may be another answer next time", heldBy: "^TestRecord|^TestHTTP", file: "lambda/httprecord.go", text: `status >= 500, slices.Contains(passing, status):`, instead: `status >= 500, slices.Contains(passing[:0], status):`},
	{name: "record: an answer after the handler's time", heldBy: "^TestHTTP_TimeIsOver$", file: "lambda/httprecord.go", text: `	case class == idempotency.Released && ctx.Err() != nil:
		return idempotency.Ambiguous
`, instead: ``},
	{name: "record: unknown outweighs not started", heldBy: "^TestHTTP_OutcomeUnknown$", file: "lambda/httprecord.go", text: `	case t.unknown.Load():
		return idempotency.Ambiguous
	case t.notStarted.Load():
		return idempotency.Released
`, instead: `	case t.notStarted.Load():
		return idempotency.Released
	case t.unknown.Load():
		return idempotency.Ambiguous
`},
	{name: "record: not started is no answer", heldBy: "^TestHTTP_NotStarted$", file: "lambda/httprecord.go", text: `	case t.notStarted.Load():
		return idempotency.Released
`, instead: ``},
	{name: "record: no cookies", heldBy: "^TestHTTP_Misconfigured$", file: "lambda/http.go", text: `		if slices.Contains(neverRecorded, canonical) {`, instead: `		if slices.Contains(neverRecorded, canonical) && false {`},
	{name: "record: the headers that are listed", heldBy: "^TestHTTP_Replay$", file: "lambda/httpserve.go", text: `		if w.record[textproto.CanonicalMIMEHeaderKey(name)] {`, instead: `		if w.record[textproto.CanonicalMIMEHeaderKey(name)] || true {`},
	{name: "tell: a replay", heldBy: "^TestHTTP_ClientGoneAfterTheHandler$", file: "lambda/httpserve.go", text: `		r := res.Value
		r.replayed()`, instead: `		r := res.Value`},
	{name: "tell: an unknown of this very run", heldBy: "^TestHTTP_OutcomeUnknown$", file: "lambda/httpserve.go", text: `	case res.Class == idempotency.Ambiguous && !res.Reruns:`, instead: `	case res.Class == idempotency.Ambiguous && false:`},
	{name: "tell: an unknown is not for asking again", heldBy: "^TestHTTP_RefusedCommitIsAmbiguous$", file: "lambda/httpproblem.go", text: `"It is not known whether the operation took place", false}`, instead: `"It is not known whether the operation took place", true}`},
	{name: "tell: what may have taken place", heldBy: "^TestHTTP_CommittedAndUnreadable$", file: "lambda/httpserve.go", text: `		p = problemUnconfirmed`, instead: `		p = problemUnavailable`},
	{name: "tell: not recorded before not run", heldBy: "^TestProblem", file: "lambda/state.go", text: `		{idempotency.ErrNotRecorded, problemNotRecorded, func(r refusal) error { return IdempotencyNotRecorded{r} }},
		{idempotency.ErrLeaseLost, problemInProgress, func(r refusal) error { return IdempotencyLeaseLost{r} }},
		{idempotency.ErrUnavailable, problemUnavailable, func(r refusal) error { return IdempotencyUnavailable{r} }},`, instead: `		{idempotency.ErrUnavailable, problemUnavailable, func(r refusal) error { return IdempotencyUnavailable{r} }},
		{idempotency.ErrNotRecorded, problemNotRecorded, func(r refusal) error { return IdempotencyNotRecorded{r} }},
		{idempotency.ErrLeaseLost, problemInProgress, func(r refusal) error { return IdempotencyLeaseLost{r} }},`},
	{name: "look-up: runs nothing", heldBy: "^TestHTTP_RecordOfAnotherKind$", file: "lambda/httprequest.go", text: `	return !w.takesKey(q) && !w.lookup(q)`, instead: `	return !w.takesKey(q)`},

	// Batches.
	{name: "batch: a failed message is reported", heldBy: "^TestBatch|^TestSQS", file: "lambda/batchloop.go", text: `		p.fail(ctx, i, started, err)
		for`, instead: `		p.tell(ctx, p.facts[i].id, started, err)
		for`},
	{name: "batch: a failure stops what comes behind", heldBy: "^TestBatch|^TestSQS", file: "lambda/batchloop.go", text: `			p.fail(ctx, later, false, fmt.Errorf("%w: %s, which comes before it, has failed", ErrSkipped, p.facts[i].id))
		}
		return`, instead: `			_, _ = later, fmt.Errorf
		}
		continue`},
	{name: "batch: the order of a FIFO group", heldBy: "^TestBatch|^TestSQS", file: "lambda/sqs.go", text: `		f.lane = "group " + m.Attributes["MessageGroupId"]`, instead: `		f.lane = ""`},
	{name: "batch: the first failure of a stream", heldBy: "^TestKinesis|^TestStream|^TestBatch", file: "lambda/streams.go", text: `batch[failed[0]].Kinesis`, instead: `batch[failed[len(failed)-1]].Kinesis`},
	{name: "batch: an empty list is not null", heldBy: "^TestBatch|^TestSQS", file: "lambda/sqs.go", text: `events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}`, instead: `events.SQSEventResponse{}`},
	{name: "batch: a state is no failure for good", heldBy: "^TestBatch|^TestSQS", file: "lambda/batchmessage.go", text: `			recorded = false // whatever`, instead: `			_ = recorded // whatever`},
	{name: "batch: what cannot be read is not acknowledged", heldBy: "^TestBatch|^TestSQS", file: "lambda/batchloop.go", text: `	case err != nil:
		return true, err
	}
	recorded := false`, instead: `	case err != nil:
		return true, nil
	}
	recorded := false`},
	{name: "batch: no message starts that cannot finish", heldBy: "^TestBatch", file: "lambda/batchloop.go", text: `!p.end.IsZero() && time.Until(p.end) <= need:`, instead: `!p.end.IsZero() && time.Until(p.end) <= 0*need:`},
	{name: "batch: nothing starts beside a panic", heldBy: "^TestBatch", file: "lambda/batchloop.go", text: `	case p.stopped:
		return errStopped
`, instead: ``},
	{name: "batch: one key at a time", heldBy: "^TestBatch", file: "lambda/batchloop.go", text: `		if !busy {
			break
		}`, instead: `		if !busy || other != nil {
			break
		}`},
	{name: "batch: no tumbling windows", heldBy: "^TestStream_TumblingWindow$", file: "lambda/streams.go", text: `	return !w.Window.Start.IsZero() || !w.Window.End.IsZero() || w.State != nil || w.IsFinalInvokeForWindow`, instead: `	return false && w.IsFinalInvokeForWindow`},
	{name: "event: an asynchronous twin waits", heldBy: "^TestEvent", file: "lambda/wrap.go", text: `			if req.Wait == 0 {
				req.Wait = longestInvocation
			}
			return req, err`, instead: `			return req, err`},
}

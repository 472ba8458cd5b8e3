package localtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// once switches the SDK's retries off.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// summary is the calls' outcomes: applied or not, and what the caller was told.
func summary(calls []localtest.Call) string {
	var parts []string
	for _, c := range calls {
		s := "-"
		if c.Applied {
			s = "+"
		}
		parts = append(parts, s+c.Err)
	}
	return strings.Join(parts, " ")
}

// Every kind, over both transports: is the write applied, what does the caller see without and with the SDK's retries?
func TestFaults(t *testing.T) {
	t.Parallel()
	const refused = "ConditionalCheckFailedException"
	for _, c := range []struct {
		kind localtest.FaultKind
		// of a single try
		applied bool
		code    string // "": no API error
		// with retries
		retried string // the error's code in the end
		calls   string
	}{
		{localtest.RequestLost, false, "", "", "-RequestLost +"},
		{localtest.ReplyLost, true, "", refused, "+ReplyLost -" + refused},
		{localtest.AppliedLate, false, "", "", "-AppliedLate +"},
		{localtest.TruncatedReply, true, "", "-", "+TruncatedReply"},
		{localtest.Throttled, false, "ThrottlingException", "", "-ThrottlingException +"},
		{localtest.ServerError, false, "InternalServerError", "", "-InternalServerError +"},
		{localtest.Unavailable, false, "ServiceUnavailable", "", "-ServiceUnavailable +"},
		{localtest.ServerErrorApplied, true, "InternalServerError", refused, "+InternalServerError -" + refused},
		{localtest.AccessDenied, false, "AccessDeniedException", "AccessDeniedException", "-AccessDeniedException"},
		{localtest.Conflict, false, "TransactionConflictException", "TransactionConflictException", "-TransactionConflictException"},
		{localtest.ReplicatedConflict, false, "ReplicatedWriteConflictException", "ReplicatedWriteConflictException", "-ReplicatedWriteConflictException"},
		{localtest.TransactionInProgress, false, "TransactionInProgressException", "", "-TransactionInProgressException +"},
		{localtest.Unprocessed, true, "-", "", "+"},
		{0, true, "-", "", "+"},
	} {
		for _, transport := range []string{"in memory", "loopback"} {
			t.Run(c.kind.String()+" "+transport, func(t *testing.T) {
				t.Parallel()
				if c.kind == localtest.Unprocessed {
					localtest.OnlyEmbedded(t, "the fault Unprocessed")
				}
				f := newFixture(t)
				opts := []func(*dynamodb.Options){}
				if transport == "loopback" {
					url := f.Listen(t)
					opts = append(opts, over(url))
				}
				f.client = f.Client(append(opts, once)...)
				f.Inject(localtest.Fault{Table: f.table, Kind: c.kind})
				err := f.create(t.Context(), "k")
				if (err == nil) != (c.code == "-") || err != nil && code(err) != c.code {
					t.Errorf("one try: %v", err)
				}
				if calls := f.Calls("PutItem"); len(calls) != 1 || calls[0].Applied != c.applied || f.exists("k") != c.applied {
					t.Errorf("one try: %+v, item there: %v", calls, f.exists("k"))
				}

				f.ResetCalls()
				f.client = f.Client(append(opts, func(o *dynamodb.Options) { o.RetryMaxAttempts = 2 })...)
				f.Inject(localtest.Fault{Table: f.table, Kind: c.kind})
				err = f.create(t.Context(), "again")
				if c.kind == localtest.TruncatedReply && transport == "loopback" && code(err) == refused {
					// Go's client may take the end of a body for the connection's, and the SDK then tries again.
					c.retried, c.calls = refused, c.calls+" -"+refused
				}
				if (err == nil) != (c.retried == "") || c.retried != "-" && code(err) != c.retried {
					t.Errorf("with retries: %v", err)
				}
				if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && textOf(t, failed.Item, "v") != "new" {
					t.Errorf("the own record is not in %v", failed.Item)
				}
				if got := summary(f.Calls("PutItem")); got != c.calls {
					t.Errorf("calls %s, want %s", got, c.calls)
				}
			})
		}
	}
}

func TestFault_ChoosesItsCalls(t *testing.T) {
	t.Parallel()
	lost := func(f localtest.Fault) localtest.Fault { f.Kind = localtest.RequestLost; return f }
	put := localtest.Fault{Operation: "PutItem"}
	for name, c := range map[string]struct {
		faults []localtest.Fault
		want   string // of six puts
	}{
		"once":              {[]localtest.Fault{put}, "x....."},
		"everything":        {[]localtest.Fault{{Times: -1}}, "xxxxxx"},
		"another one's":     {[]localtest.Fault{{Operation: "GetItem"}}, "......"},
		"another table":     {[]localtest.Fault{{Table: "other"}}, "......"},
		"this table":        {[]localtest.Fault{{Table: "this"}}, "x....."},
		"third":             {[]localtest.Fault{{Nth: 3}}, "..x..."},
		"third and on":      {[]localtest.Fault{{Nth: 3, Times: 2}}, "..xx.."},
		"from the third":    {[]localtest.Fault{{Nth: 3, Times: -1}}, "..xxxx"},
		"two at once":       {[]localtest.Fault{put, put}, "xx...."},
		"second and fourth": {[]localtest.Fault{{Nth: 2}, {Nth: 4}}, ".x.x.."},
		"by key": {[]localtest.Fault{{Times: -1, Match: func(c localtest.Call) bool {
			return c.Key == "k4" && c.Condition != "" && !c.Applied
		}}}, "....x."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.client = f.Client(once)
			for _, fault := range c.faults {
				if fault.Table == "this" {
					fault.Table = f.table
				}
				f.Inject(lost(fault))
			}
			got := ""
			for i := range 6 {
				mark := "."
				if f.create(t.Context(), "k"+string(rune('0'+i))) != nil {
					mark = "x"
				}
				got += mark
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			f.ClearFaults() // some of them are not to strike
		})
	}
}

// A fault that did not strike is a test that has shown nothing.
func TestInject_NeverStruck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   localtest.Fault
		cleared bool
		want    string
	}{
		"struck":        {localtest.Fault{Operation: "GetItem", Kind: localtest.RequestLost}, false, ""},
		"another table": {localtest.Fault{Table: "records", Kind: localtest.RequestLost}, false, `the fault RequestLost never struck: Operation "", Table "records", Nth 1; 0 calls fitted`},
		"too few calls": {localtest.Fault{Operation: "GetItem", Nth: 3, Kind: localtest.RequestLost}, false, `the fault RequestLost never struck: Operation "GetItem", Table "", Nth 3; 1 calls fitted`},
		"a hook alone":  {localtest.Fault{Operation: "PutItem"}, false, `the fault without Kind never struck`},
		"for ever":      {localtest.Fault{Operation: "PutItem", Times: -1}, false, ""},
		"cleared":       {localtest.Fault{Operation: "PutItem"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tb recorder
			db := localtest.Start(&tb)
			table := db.CreateTable(t, recordTable())
			db.Inject(c.fault)
			_, _ = db.Client(once).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: attributes{"id": text("k")}})
			if c.cleared {
				db.ClearFaults()
			}
			tb.end()
			if got := tb.log.String(); tb.failed != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("failed %v, log %q; want %q", tb.failed, got, c.want)
			}
		})
	}
}

// A fault that can strike nothing is a mistake in the test.
func TestInject_Refuses(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]localtest.Fault{
		"Kind is FaultKind(-1)":       {Kind: -1},
		"Kind is FaultKind(16)":       {Kind: localtest.Unprocessed + 1},
		`Operation is "Putitem"`:      {Operation: "Putitem", Kind: localtest.ReplyLost},
		`Operation is "CreateBackup"`: {Operation: "CreateBackup"},
		`Kind is Unprocessed and Operation is "PutItem", must be one of [BatchGetItem BatchWriteItem]`: {Operation: "PutItem", Kind: localtest.Unprocessed},
		`Kind is TransactionInProgress and Operation is "GetItem"`:                                     {Operation: "GetItem", Kind: localtest.TransactionInProgress},
		`Reason is "TableWriteKeyRangeThroughputExceeded" and Kind is ServerError`:                     {Kind: localtest.ServerError, Reason: "TableWriteKeyRangeThroughputExceeded"},
		`Reason is "NoSuchReason"`:           {Kind: localtest.Throttled, Reason: "NoSuchReason"},
		`Nth is -1, must not be negative`:    {Kind: localtest.ReplyLost, Nth: -1},
		`Delay is -1s, must not be negative`: {Delay: -time.Second},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "localtest: inject a fault: "+want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			localtest.Start(t).Inject(f)
		}()
	}
}

func TestFault_Cleared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Inject(localtest.Fault{Times: -1, Kind: localtest.AccessDenied})
	if err := f.create(t.Context(), "k"); code(err) != "AccessDeniedException" {
		t.Errorf("before: %v", err)
	}
	f.ClearFaults()
	if err := f.create(t.Context(), "k"); err != nil {
		t.Errorf("after: %v", err)
	}
}

// What is throttled, and why: by the table's billing mode, or as the fault says.
func TestFault_ThrottlingReasons(t *testing.T) {
	t.Parallel()
	provisioned := recordTable()
	provisioned.BillingMode = types.BillingModeProvisioned
	provisioned.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	put := func(f fixture) error { return f.create(t.Context(), "k") }
	get := func(f fixture) error {
		_, err := f.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributes{"id": text("k")}})
		return err
	}
	indexed := recordTable()
	indexed.AttributeDefinitions = append(indexed.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("v"), AttributeType: types.ScalarAttributeTypeS})
	indexed.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName:  aws.String("by-v"),
		KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("v"), KeyType: types.KeyTypeHash}},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	scan := func(f fixture) error {
		_, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table, IndexName: aws.String("by-v")})
		return err
	}
	for _, c := range []struct {
		name               string
		table              *dynamodb.CreateTableInput
		call               func(fixture) error
		reason, code, want string
	}{
		{"read of an index", indexed, scan, "", "ThrottlingException", "IndexReadMaxOnDemandThroughputExceeded"},
		{"write on demand", recordTable(), put, "", "ThrottlingException", "TableWriteMaxOnDemandThroughputExceeded"},
		{"read on demand", recordTable(), get, "", "ThrottlingException", "TableReadMaxOnDemandThroughputExceeded"},
		{"write provisioned", provisioned, put, "", "ProvisionedThroughputExceededException", "TableWriteProvisionedThroughputExceeded"},
		{"a hot key", recordTable(), put, "TableWriteKeyRangeThroughputExceeded", "ThrottlingException", "TableWriteKeyRangeThroughputExceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.table, f.client = f.CreateTable(t, c.table), f.Client(once)
			f.Inject(localtest.Fault{Kind: localtest.Throttled, Reason: c.reason})
			err := c.call(f)
			var reasons []types.ThrottlingReason
			if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
				reasons = e.ThrottlingReasons
			} else if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
				reasons = e.ThrottlingReasons
			}
			if code(err) != c.code || len(reasons) != 1 || aws.ToString(reasons[0].Reason) != c.want || !strings.Contains(aws.ToString(reasons[0].Resource), ":table/"+f.table) {
				t.Errorf("got %v with %+v, want %s with %s", err, reasons, c.code, c.want)
			}
		})
	}
}

// A transaction is cancelled by what its first action meets.
func TestFault_ThrottledTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Inject(localtest.Fault{Kind: localtest.Throttled})
	_, err := f.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("a")}}}, {Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("b")}}},
	}})
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) != 2 || aws.ToString(cancelled.CancellationReasons[0].Code) != "ThrottlingError" || aws.ToString(cancelled.CancellationReasons[1].Code) != "None" {
		t.Errorf("got %v, want ThrottlingError, None", err)
	}
	if f.exists("a") || f.exists("b") {
		t.Error("a throttled transaction was applied")
	}
}

func TestFault_ConflictOfTransactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.client = f.Client(once)
	f.Inject(localtest.Fault{Kind: localtest.Conflict, Times: 2})
	_, err := f.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("a")}}}, {Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("b")}}},
	}})
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) != 2 || aws.ToString(cancelled.CancellationReasons[0].Code) != "TransactionConflict" || aws.ToString(cancelled.CancellationReasons[1].Code) != "None" {
		t.Errorf("write: %v", err)
	}
	_, err = f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &f.table, Key: attributes{"id": text("a")}}}}})
	if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok {
		t.Errorf("get: %v", err)
	}
	if f.exists("a") || f.exists("b") {
		t.Error("the transaction was applied")
	}
}

func TestFault_Unprocessed(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the fault Unprocessed")
	f := newFixture(t)
	f.Inject(localtest.Fault{Operation: "BatchWriteItem", Kind: localtest.Unprocessed})
	var requests []types.WriteRequest
	for _, id := range []string{"a", "b", "c"} {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: attributes{"id": text(id)}}})
	}
	items := map[string][]types.WriteRequest{f.table: requests}
	for _, want := range []int{2, 0} {
		out, err := f.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: items})
		if err != nil || len(out.UnprocessedItems[f.table]) != want {
			t.Fatalf("%+v, %v, want %d unprocessed", out, err, want)
		}
		items = out.UnprocessedItems
	}
	if !f.exists("a") || !f.exists("b") || !f.exists("c") {
		t.Error("an item is missing")
	}
}

// A competing worker runs at an exact point of another one's call.
func TestFault_Hooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var order []string
	note := func(s string) func() {
		return func() {
			if f.exists("k") {
				s += " (there)"
			}
			order = append(order, s)
		}
	}
	f.Inject(localtest.Fault{Operation: "PutItem", Before: note("before"), After: note("after")})
	if err := f.create(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AccessDenied, Before: note("refused"), After: note("never")})
	_ = f.create(t.Context(), "k2")
	if got := strings.Join(order, ", "); got != "before, after (there), refused (there)" {
		t.Errorf("order %s", got)
	}
	f.Inject(localtest.Fault{Operation: "PutItem", Before: func() {
		if err := f.create(t.Context(), "raced"); err != nil {
			t.Error(err)
		}
	}})
	if err := f.create(t.Context(), "raced"); code(err) != "ConditionalCheckFailedException" {
		t.Errorf("the later one: %v", err)
	}
}

func TestFault_AppliedLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.client = f.Client(once)
	f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate})
	if err := f.create(t.Context(), "k"); err == nil {
		t.Error("the caller got an answer")
	}
	if f.exists("k") {
		t.Error("applied at once")
	}
	// A later write overtakes it; what arrives late fails its condition.
	if err := f.create(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if n := f.Flush(); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
	if n := f.Flush(); n != 0 {
		t.Errorf("%d requests arrived again", n)
	}
	calls := f.Calls("PutItem")
	if len(calls) != 2 || calls[0].Applied || calls[0].Err != "AppliedLate" || !calls[1].Applied {
		t.Errorf("calls %+v", calls)
	}
}

// A write that arrives late is billed as any other.
func TestCalls_BillOfALateWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	localtest.OnlyEmbedded(t, "the bill")
	f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate})
	if err := f.create(t.Context(), "k"); err != nil { // by the SDK's second try
		t.Fatal(err)
	}
	f.Flush()
	if calls := f.Calls("PutItem"); calls[0].Applied || calls[0].WriteUnits != 1 {
		t.Errorf("calls %+v", calls)
	}
}

// Delays, late writes, hanging calls and the SDK's back-off all run in virtual time.
func TestFault_VirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		began := time.Now()
		took := func(what string, least, most time.Duration) {
			t.Helper()
			if d := time.Since(began); d < least || d > most {
				t.Errorf("%s took %v, want %v to %v", what, d, least, most)
			}
			began = time.Now()
		}
		f.Inject(localtest.Fault{Delay: time.Hour})
		if err := f.create(t.Context(), "delayed"); err != nil {
			t.Error(err)
		}
		took("delay", time.Hour, time.Hour)

		f.Inject(localtest.Fault{Kind: localtest.Throttled, Times: 2})
		if err := f.create(t.Context(), "throttled"); err != nil {
			t.Error(err)
		}
		took("back-off", time.Nanosecond, 10*time.Second)

		for _, kind := range []localtest.FaultKind{localtest.Hang, localtest.HangApplied} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			f.Inject(localtest.Fault{Operation: "PutItem", Kind: kind})
			if err := f.create(ctx, kind.String()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: %v", kind, err)
			}
			cancel()
			took(kind.String(), 3*time.Second, 3*time.Second)
			if got, want := f.exists(kind.String()), kind == localtest.HangApplied; got != want {
				t.Errorf("%v: item there: %v", kind, got)
			}
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f.Inject(localtest.Fault{Operation: "PutItem", Delay: time.Minute})
		if err := f.create(ctx, "gone"); !errors.Is(err, context.DeadlineExceeded) || f.exists("gone") {
			t.Errorf("caller gone during the delay: %v", err)
		}
		took("delay cut short", time.Second, time.Second)

		f.client = f.Client(once)
		f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate, Delay: time.Minute})
		if err := f.create(t.Context(), "late"); err == nil {
			t.Error("late: no error")
		}
		took("late write's error", 0, 0)
		<-time.After(time.Minute - 1)
		if f.exists("late") {
			t.Error("the late write came too early")
		}
		<-time.After(1)
		if !f.exists("late") {
			t.Error("the late write did not come")
		}
	})
}

// A cancelled caller asks nothing, even where the SDK does not look first.
func TestClient_CancelledBeforeTheCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.create(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("client: %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://dynamodb.localtest", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	res, err := f.client.Options().HTTPClient.Do(r)
	if !errors.Is(err, context.Canceled) {
		_ = res.Body.Close()
		t.Errorf("transport: %v", err)
	}
	if calls := f.Calls(""); len(calls) != 0 {
		t.Errorf("calls %+v", calls)
	}
}

// On loopback, a hanging call ends when its caller goes, and the server outlives what no client sends.
func TestListen_Survives(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url := f.Listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.Hang, Before: cancel}) // not sooner: it would stay armed
	f.client = f.Client(once, over(url))
	if err := f.create(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v", err)
	}
	huge := bytes.Repeat([]byte("x"), 17<<20)
	for _, c := range []struct {
		method, target string
		body           []byte
		want           int
	}{
		{http.MethodGet, "", nil, http.StatusOK}, // a health check
		{http.MethodPut, "", nil, http.StatusMethodNotAllowed},
		{http.MethodPost, "", nil, http.StatusBadRequest},
		{http.MethodPost, "DynamoDB_20120810.", nil, http.StatusBadRequest},
		{http.MethodPost, "DynamoDB_20120810.Nonsense", []byte("{}"), http.StatusBadRequest},
		{http.MethodPost, "DynamoDB_20120810.PutItem", []byte(`{"TableName"`), http.StatusBadRequest},
		{http.MethodPost, "DynamoDB_20120810.PutItem", huge, http.StatusRequestEntityTooLarge},
		{http.MethodPost, "DynamoDB_20120810.ListTables", []byte("{}"), http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, url, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.target != "" {
			r.Header.Set("X-Amz-Target", c.target)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s %s: %v", c.method, c.target, err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want || res.Header.Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s %s, %d bytes: %d %v, want %d", c.method, c.target, len(c.body), res.StatusCode, res.Header, c.want)
		}
	}
	if f.exists("k") {
		t.Error("the hanging write was applied")
	}
}

// Test packages must not reach a program that imports this one for a demo.
func TestImports_NoTestingPackage(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if pkg == "testing" || pkg == "flag" || strings.HasPrefix(pkg, "testing/") {
			t.Errorf("imports %s", pkg)
		}
	}
}

package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// unitClient notes what it is asked and answers what answer says (nil: nothing is there, every write applies).
// It is no DynamoDB: it keeps nothing and evaluates no condition.
type unitClient struct {
	Client // the calls that the library does not make panic

	answer func(input any) (item, error)
	calls  []any
}

func (c *unitClient) note(input any) (item, error) {
	c.calls = append(c.calls, input)
	if c.answer == nil {
		return nil, nil
	}
	return c.answer(input)
}

func (c *unitClient) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	it, err := c.note(in)
	return &dynamodb.GetItemOutput{Item: it}, err
}

func (c *unitClient) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	it, err := c.note(in)
	return &dynamodb.PutItemOutput{Attributes: it}, err
}

func (c *unitClient) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	it, err := c.note(in)
	return &dynamodb.UpdateItemOutput{Attributes: it}, err
}

func (c *unitClient) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	_, err := c.note(in)
	return &dynamodb.TransactWriteItemsOutput{}, err
}

// plain turns an input into JSON as DynamoDB gets it.
func plain(t *testing.T, input any) map[string]any {
	t.Helper()
	switch in := input.(type) {
	case *dynamodb.PutItemInput:
		return map[string]any{
			"call": "PutItem", "table": *in.TableName, "item": plainItem(t, in.Item), "condition": *in.ConditionExpression,
			"names": in.ExpressionAttributeNames, "values": plainItem(t, in.ExpressionAttributeValues),
			"returns": in.ReturnValues, "onFailure": in.ReturnValuesOnConditionCheckFailure,
		}
	case *dynamodb.UpdateItemInput:
		return map[string]any{
			"call": "UpdateItem", "table": *in.TableName, "key": plainItem(t, in.Key), "condition": *in.ConditionExpression,
			"update": *in.UpdateExpression, "names": in.ExpressionAttributeNames,
			"values": plainItem(t, in.ExpressionAttributeValues), "returns": in.ReturnValues,
			"onFailure": in.ReturnValuesOnConditionCheckFailure,
		}
	case *dynamodb.GetItemInput:
		return map[string]any{"call": "GetItem", "table": *in.TableName, "key": plainItem(t, in.Key), "consistent": aws.ToBool(in.ConsistentRead)}
	case *dynamodb.TransactWriteItemsInput:
		if n := len(aws.ToString(in.ClientRequestToken)); n == 0 || n > 36 {
			t.Errorf("a ClientRequestToken of %d characters", n)
		}
		actions := []any{}
		for _, a := range in.TransactItems {
			switch {
			case a.Put != nil:
				actions = append(actions, map[string]any{
					"put": plainItem(t, a.Put.Item), "table": *a.Put.TableName, "condition": aws.ToString(a.Put.ConditionExpression),
					"names": a.Put.ExpressionAttributeNames, "values": plainItem(t, a.Put.ExpressionAttributeValues), "onFailure": a.Put.ReturnValuesOnConditionCheckFailure,
				})
			case a.Update != nil:
				actions = append(actions, map[string]any{
					"update": plainItem(t, a.Update.Key), "table": *a.Update.TableName, "condition": *a.Update.ConditionExpression, "expression": *a.Update.UpdateExpression,
					"names": a.Update.ExpressionAttributeNames, "values": plainItem(t, a.Update.ExpressionAttributeValues), "onFailure": a.Update.ReturnValuesOnConditionCheckFailure,
				})
			case a.ConditionCheck != nil:
				actions = append(actions, map[string]any{
					"check": plainItem(t, a.ConditionCheck.Key), "table": *a.ConditionCheck.TableName, "condition": *a.ConditionCheck.ConditionExpression,
					"names": a.ConditionCheck.ExpressionAttributeNames, "values": plainItem(t, a.ConditionCheck.ExpressionAttributeValues),
				})
			}
		}
		return map[string]any{"call": "TransactWriteItems", "actions": actions}
	}
	t.Fatalf("unexpected %T", input)
	return nil
}

func plainItem(t *testing.T, it item) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = map[string]string{"S": v.Value}
		case *types.AttributeValueMemberN:
			out[name] = map[string]string{"N": v.Value}
		case *types.AttributeValueMemberB:
			out[name] = map[string][]byte{"B": v.Value}
		case *types.AttributeValueMemberBOOL:
			out[name] = map[string]bool{"BOOL": v.Value}
		case *types.AttributeValueMemberM:
			out[name] = map[string]any{"M": plainItem(t, v.Value)}
		default:
			t.Fatalf("%s is a %T", name, v)
		}
	}
	return out
}

// The whole of what each transition sends, with a fixed token and fixed times, that a condition which was
// weakened by mistake shows up here too: ownership (I2, I4), the exact acquire (rule 11, H13), updates that keep
// what is there (rule 5), the unknown's window (rule 7) and its prior (rule 1).
func TestWrites_Golden(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	times := deadlines{start: start, leaseEnd: start.Add(30 * time.Second)}
	id := recordID(nil, "create-payment", "tenant-1", "8e03978e-40d5-43e8-bc93-6894a57f9324")
	cl := claim{
		id: id, token: "TOKENOFTHEATTEMPTTWO", ref: "order 17", fingerprint: "v1:0123456789abcdef", form: formDo,
		now: start, leaseEnd: times.leaseEnd, retention: 24 * time.Hour,
	}
	seen := &record{token: "TOKENOFTHEATTEMPTONE"}
	own := &ownership{times: times, attempt: Attempt{Token: cl.token, Number: 2, id: id}}
	prior := *own
	prior.attempt.Prior = &Prior{Number: 1, Started: start.Add(-time.Minute), LeaseEnd: start.Add(-30 * time.Second)}
	end := start.Add(5 * time.Second)

	for schemaName, schema := range map[string]Schema{
		"default": {},
		"single":  {PartitionKey: "PK", SortKey: "SK", SortKeyValue: "once", Expiry: "ttl"},
	} {
		client := &unitClient{}
		r, err := New(client, Config{Table: "records", Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		outcome := func(s status, body stored) ended { return ended{status: s, at: end, body: body} }
		inline := func(data string) stored { return stored{data: []byte(data)} }
		none := stored{encoding: packing{none: true}}
		beside := stored{items: &chunks{name: "NAMEOFTHEITEMS", count: 2, size: 400_000, digest: [32]byte{1, 2, 3}}}
		besideSealed := beside
		besideSealed.encoding = packing{deflated: true, sealed: true}
		failure, err := encode(recordedFailure{Type: "CardDeclined", Message: "card <4711> declined", Data: json.RawMessage(`{"Code":"51"}`)})
		if err != nil {
			t.Fatal(err)
		}
		tx, elsewhere := cl, cl
		tx.form, elsewhere.id = formTx, "create-payment#other"
		as := outcome(completed, inline(`{"id":17}`))
		table := "outbox"
		staged := []types.TransactWriteItem{{Put: &types.Put{TableName: &table, Item: item{"id": textValue("17")}}}}
		bare := cl
		bare.ref, bare.fingerprint = "", ""
		resolved := func(as Resolution) write {
			return r.table.resolve(Record{ID: id, Token: seen.token}, outcome(as.status, stored{data: as.data}), r.cfg, cl.token)
		}
		sent := map[string]any{}
		for name, w := range map[string]write{
			"acquire":             r.table.acquire(cl),
			"acquire, bare":       r.table.acquire(bare),
			"re-acquire":          r.table.reacquire(cl, seen),
			"take over":           r.table.takeOver(cl, seen),
			"complete":            r.table.finish(own, outcome(completed, inline(`{"id":17,"<&>":"ü"}`)), 24*time.Hour),
			"complete, bytes":     r.table.finish(own, outcome(completed, inline("\"\xff\"")), 24*time.Hour),
			"complete, no body":   r.table.finish(own, outcome(completed, none), 24*time.Hour),
			"complete, deflated":  r.table.finish(own, outcome(completed, stored{packing{deflated: true}, []byte{3, 0}, nil}), 24*time.Hour),
			"complete, reference": r.table.finish(own, outcome(completed, stored{packing{reference: true}, []byte("orders/17"), nil}), 24*time.Hour),
			"complete, beside":    r.table.finish(own, outcome(completed, beside), 24*time.Hour),
			"complete, sealed":    r.table.finish(own, outcome(completed, besideSealed), 24*time.Hour),
			"fail":                r.table.finish(own, outcome(failed, inline(string(failure))), time.Hour),
			"release":             r.table.leave(own, released, end.Add(24*time.Hour)),
			"mark unknown":        r.table.leave(own, unknown, end.Add(24*time.Hour)),
			"take over, tx":       r.table.takeOverTx(tx, seen),
			"step":                r.table.step(own, "charge", []byte(`{"id":17}`)),
			"step, begun":         r.table.beginSteps(own),
			"commit":              r.table.finish(own, as, 24*time.Hour).with(nil, staged),
			"shot":                r.table.shot(tx, as, nil, false).with(nil, staged),
			"shot, rotating":      r.table.shot(tx, as, nil, false).with([]types.TransactWriteItem{r.table.free(elsewhere, false), r.table.free(elsewhere, true)}, staged),
			"shot, failure":       r.table.shot(tx, outcome(failed, none), nil, false),
			"shot, released":      r.table.shot(tx, as, &record{token: "TOKENOFTHEATTEMPTONE", status: released}, false),
			"shot, unknown":       r.table.shot(tx, as, &record{token: "TOKENOFTHEATTEMPTONE", status: unknown}, false),
			"shot, own unknown":   r.table.shot(tx, outcome(completed, none), &record{token: "TOKENOFTHEATTEMPTONE", status: unknown}, true),
			"shot, kept out":      r.table.keepOut(tx, nil, false),
			"shot, kept released": r.table.keepOut(tx, &record{token: "TOKENOFTHEATTEMPTONE", status: released}, false),
			"shot, kept unknown":  r.table.keepOut(tx, &record{token: "TOKENOFTHEATTEMPTONE", status: unknown}, false),
			"resolve":             resolved(Completed(17)),
			"resolve, failed":     resolved(Failed(errors.New("no"))),
			"resolve, not done":   resolved(NotDone()),
			"mark unknown, prior": r.table.leave(&prior, unknown, end.Add(24*time.Hour)),
		} {
			var m meter
			if _, err := r.table.send(t.Context(), &m, w); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sent[name] = plain(t, client.calls[len(client.calls)-1])
		}
		var m meter
		if _, err := r.table.get(t.Context(), &m, id); err != nil {
			t.Fatal(err)
		}
		sent["read"] = plain(t, client.calls[len(client.calls)-1])
		wantGolden(t, "writes-"+schemaName+".json", sent)
	}
}

// What acquire writes, readRecord reads: the two halves of the format agree.
func TestReadRecord_ReadsWhatAcquireWrites(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC)
	r := unitRunner(t, Config{})
	w := r.table.acquire(claim{id: "op#1", token: "T", ref: "order 17", fingerprint: "v1:f", form: formTx, now: start, leaseEnd: start.Add(time.Minute), retention: time.Hour})
	rec, err := readRecord(w.put.Item, r.table.schema)
	if err != nil {
		t.Fatal(err)
	}
	if rec.status != inProgress || rec.token != "T" || rec.number != 1 || !rec.window.Equal(start) || !rec.started.Equal(start) ||
		!rec.leaseEnd.Equal(start.Add(time.Minute)) || rec.expires != upToSecond(start.Add(time.Minute+time.Hour)) ||
		rec.fingerprint != "v1:f" || rec.ref != "order 17" || rec.prior != nil || rec.body.encoding.none || rec.form != formTx || rec.external {
		t.Errorf("got %+v", rec)
	}
}

// unitItem is a well-formed item of a status, from which a test takes something away.
func unitItem(s status) item {
	it := item{
		"id": textValue("op#1"), "expiration": numberValue(1_800_000_000), attrStatus: textValue(string(s)), attrAttempt: textValue("T"),
		attrNumber: numberValue(2), attrWindow: numberValue(1_700_000_000_000), attrStarted: numberValue(1_700_000_000_001),
		attrForm: textValue(formDo), attrSchema: numberValue(1), attrValidation: textValue("v1:f"), attrRef: textValue("order 17"),
		attrPrev: textValue("S"), attrPrevEnd: textValue("RELEASED"),
	}
	switch s {
	case completed, failed:
		it[attrCompleted] = numberValue(1_700_000_000_002)
		it[attrData] = textValue(`{"Type":"E","Message":"m"}`)
	case inProgress, released, unknown:
		it[attrLease] = numberValue(1_700_000_060_000)
	}
	return it
}

func TestReadRecord_EachStatus(t *testing.T) {
	t.Parallel()
	s := Schema{}.withDefaults()
	for _, st := range []status{inProgress, completed, failed, released, unknown} {
		it := unitItem(st)
		it["of another release"] = textValue("added without a new schema number")
		rec, err := readRecord(it, s)
		if err != nil {
			t.Errorf("%s: %v", st, err)
			continue
		}
		if rec.status != st || rec.number != 2 || rec.prev != "S" || rec.prevEnd != released || rec.leaseEnd.IsZero() != rec.finished() ||
			rec.completed.IsZero() == rec.finished() || (rec.body.data != nil) != rec.finished() {
			t.Errorf("%s: got %+v", st, rec)
		}
	}

	it := unitItem(unknown)
	it[attrPriorNumber], it[attrPriorStarted], it[attrPriorLease] = numberValue(1), numberValue(5000), numberValue(6000)
	it[attrSteps] = &types.AttributeValueMemberM{Value: item{"mail": textValue("1"), "charge": textValue("2")}}
	rec, err := readRecord(it, s)
	if err != nil {
		t.Fatal(err)
	}
	if p := rec.prior; p == nil || p.Number != 1 || p.Started.UnixMilli() != 5000 || p.LeaseEnd.UnixMilli() != 6000 ||
		fmt.Sprint(p.Steps) != "[charge mail]" {
		t.Errorf("prior is %+v", p)
	}
	// H1, rule 1: what comes after names the latest attempt, and the start of the first of them.
	if p := rec.priorOf(); p.Number != 2 || p.Started.UnixMilli() != 5000 || !p.LeaseEnd.Equal(rec.leaseEnd) || len(p.Steps) != 2 {
		t.Errorf("the next prior is %+v", p)
	}

	it = unitItem(completed)
	delete(it, attrData)
	it[attrEncoding] = textValue("none")
	if rec, err = readRecord(it, s); err != nil || !rec.body.encoding.none || rec.body.data != nil {
		t.Errorf("without a body: %+v, %v", rec, err)
	}
	bytes := []byte{0xff, 0}
	it = unitItem(completed)
	it[attrData] = &types.AttributeValueMemberB{Value: bytes}
	if rec, err = readRecord(it, s); err != nil || string(rec.body.data) != "\xff\x00" {
		t.Fatalf("of bytes: %+v, %v", rec, err)
	}
	if bytes[0] = 0; rec.body.data[0] != 0xff { // C34
		t.Error("the record shares memory with the reply")
	}
}

// C36: whatever is wrong with an item, there is a typed error that names the attribute, the value and the rule,
// no panic and no guess; and a caller's data is not in it.
func TestReadRecord_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := Schema{}.withDefaults()
	const private = "4711-private"
	wrong := map[string]types.AttributeValue{
		"nothing":    nil,
		"a bool":     &types.AttributeValueMemberBOOL{Value: true},
		"a null":     &types.AttributeValueMemberNULL{Value: true},
		"a list":     &types.AttributeValueMemberL{},
		"a set":      &types.AttributeValueMemberSS{Value: []string{private}},
		"no type":    &types.UnknownUnionMember{Tag: "X"},
		"fractional": &types.AttributeValueMemberN{Value: "1.5"},
		"exponent":   &types.AttributeValueMemberN{Value: "1E+3"},
		"too large":  &types.AttributeValueMemberN{Value: "9223372036854775808"},
		"no number":  &types.AttributeValueMemberN{Value: ""},
		"text":       textValue(private),
		"bytes":      &types.AttributeValueMemberB{Value: []byte(private)},
		"a map":      &types.AttributeValueMemberM{Value: item{private: textValue(private)}},
	}
	required := map[status][]string{
		inProgress: {"expiration", attrStatus, attrAttempt, attrNumber, attrWindow, attrStarted, attrLease, attrSchema},
		completed:  {"expiration", attrStatus, attrAttempt, attrNumber, attrWindow, attrStarted, attrCompleted, attrData, attrSchema},
	}
	required[released], required[unknown], required[failed] = required[inProgress], required[inProgress], required[completed]
	optional := []string{attrValidation, attrRef, attrPrev, attrPrevEnd}
	text := map[string]bool{attrStatus: true, attrAttempt: true, attrValidation: true, attrRef: true, attrPrev: true, attrPrevEnd: true, attrEncoding: true}

	try := func(t *testing.T, st status, name, what string, v types.AttributeValue) {
		t.Helper()
		it := unitItem(st)
		if it[name] = v; v == nil {
			delete(it, name)
		}
		before := maps.Clone(it)
		rec, err := readRecord(it, s)
		if rec != nil || !errors.Is(err, ErrBadRecord) {
			t.Errorf("%s, %s is %s: got %+v, %v", st, name, what, rec, err)
			return
		}
		if !strings.Contains(err.Error(), "attribute "+name+" is ") {
			t.Errorf("%s, %s is %s: message %q does not name it", st, name, what, err)
		}
		if n, ok := v.(*types.AttributeValueMemberN); ok && !strings.Contains(err.Error(), "is "+n.Value+": ") {
			t.Errorf("%s, %s is %s: message %q does not say what it is", st, name, what, err)
		}
		if strings.Contains(err.Error(), private) && name != attrStatus && name != attrEncoding {
			t.Errorf("%s, %s is %s: message %q shows the value", st, name, what, err)
		}
		if len(before) != len(it) {
			t.Errorf("%s, %s is %s: the item was changed", st, name, what)
		}
	}
	for st, names := range required {
		for _, name := range append(names, optional...) {
			for what, v := range wrong {
				textual := what == "text" || what == "bytes" && name == attrData
				_, mayMiss := unitOptional[name]
				if v == nil && mayMiss || textual && (text[name] || name == attrData) && name != attrStatus {
					continue // that is right
				}
				try(t, st, name, what, v)
			}
		}
		// In the wrong unit, such as an expiry in milliseconds.
		for _, second := range []int64{-1, maxSecond + 1} {
			try(t, st, "expiration", "no second", numberValue(second))
			try(t, st, attrStarted, "no millisecond", numberValue(second*1000))
		}
		try(t, st, attrSchema, "of the future", numberValue(2))
		try(t, st, attrSchema, "of the past", numberValue(0))
		for _, s := range []string{"", "EXPIRED", "inprogress", "INPROGRESS "} {
			try(t, st, attrStatus, fmt.Sprintf("%q", s), textValue(s))
		}
	}
	for _, st := range []status{completed, failed} {
		try(t, st, attrEncoding, "of the future", textValue("zstd"))
		try(t, st, attrEncoding, "a number", numberValue(1))
	}
	for _, st := range []status{inProgress, released, unknown} {
		try(t, st, attrSteps, "text", textValue(private))
		try(t, st, attrPriorNumber, "text", textValue(private))
	}
	for _, missing := range []string{attrPriorStarted, attrPriorLease} {
		it := unitItem(unknown)
		it[attrPriorNumber], it[attrPriorStarted], it[attrPriorLease] = numberValue(1), numberValue(2), numberValue(3)
		delete(it, missing)
		if _, err := readRecord(it, s); !errors.Is(err, ErrBadRecord) {
			t.Errorf("a prior without %s: %v", missing, err)
		}
	}
	for name, it := range map[string]item{"nil": nil, "empty": {}, "of somebody else": {"id": textValue("op#1"), "name": textValue("x")}} {
		if rec, err := readRecord(it, s); rec != nil || !errors.Is(err, ErrBadRecord) {
			t.Errorf("%s item: got %+v, %v", name, rec, err)
		}
	}
}

var unitOptional = map[string]bool{attrValidation: true, attrRef: true, attrPrev: true, attrPrevEnd: true}

// C36, for whatever a table may hold.
func FuzzReadRecord(f *testing.F) {
	names := append([]string{"expiration", "id"}, attributes...)
	for i := range names {
		f.Add(byte(i%5), names[i], byte(i%8), "1")
		f.Add(byte(i%5), names[i], byte(1), "COMPLETED")
	}
	f.Add(byte(0), attrSchema, byte(1), "9223372036854775807")
	s := Schema{}.withDefaults()
	now := time.Unix(1_750_000_000, 0)
	f.Fuzz(func(t *testing.T, st byte, name string, kind byte, value string) {
		it := unitItem([]status{inProgress, completed, failed, released, unknown}[int(st)%5])
		switch kind % 8 {
		case 0:
			delete(it, name)
		case 1:
			it[name] = &types.AttributeValueMemberN{Value: value}
		case 2:
			it[name] = textValue(value)
		case 3:
			it[name] = &types.AttributeValueMemberB{Value: []byte(value)}
		case 4:
			it[name] = &types.AttributeValueMemberM{Value: item{value: textValue(value)}}
		case 5:
			it[name] = &types.AttributeValueMemberL{Value: []types.AttributeValue{textValue(value)}}
		case 6:
			it[name] = &types.AttributeValueMemberNULL{Value: true}
		case 7:
			it[name] = nil
		}
		rec, err := readRecord(it, s)
		if (rec == nil) == (err == nil) || err != nil && !errors.Is(err, ErrBadRecord) {
			t.Fatalf("got %+v, %v", rec, err)
		}
		if err != nil {
			return
		}
		// What is read can be judged, and never is an attempt in progress both alive and free.
		if rec.free(now) && (rec.live(now) || !rec.expired(now)) {
			t.Errorf("free: %+v", rec)
		}
		if rec.finished() && rec.live(now) {
			t.Errorf("finished and alive: %+v", rec)
		}
		_ = rec.priorOf()
	})
}

// Rule 11, H12, H13: seconds are rounded up when they are written and down when they are compared, and the
// clock margin is taken off, so that a clock which is 2 s ahead ends no window before its time.
func TestExpiry_RoundsTowardsProtection(t *testing.T) {
	t.Parallel()
	second := time.Unix(1_700_000_000, 0)
	for _, row := range []struct {
		at   time.Duration
		want int64
	}{
		{0, 0}, {1, 1}, {time.Millisecond, 1}, {time.Second - 1, 1}, {time.Second, 1}, {time.Second + 1, 2}, {-1, 0}, {-time.Second, -1},
	} {
		if got := upToSecond(second.Add(row.at)) - second.Unix(); got != row.want {
			t.Errorf("%s is written as %d s, want %d", row.at, got, row.want)
		}
	}
	if got := upToSecond(time.Unix(-5, 1)); got != -4 {
		t.Errorf("before 1970: %d", got)
	}
	for _, row := range []struct {
		at   time.Duration
		want int64
	}{{0, -2}, {1, -2}, {time.Second - 1, -2}, {time.Second, -1}, {-1, -3}} {
		if got := expiredBefore(second.Add(row.at)) - second.Unix(); got != row.want {
			t.Errorf("%s is compared as %d s, want %d", row.at, got, row.want)
		}
	}
	// Together: no moment of the window, nor the margin after it, is over.
	for _, ends := range []time.Duration{0, 1, time.Millisecond, 999 * time.Millisecond} {
		rec := &record{status: completed, expires: upToSecond(second.Add(ends))}
		for _, after := range []time.Duration{-time.Hour, 0, clockMargin, clockMargin + 999*time.Millisecond - ends} {
			if now := second.Add(ends + after); rec.expired(now) {
				t.Errorf("a window that ends at +%s is over at +%s", ends, ends+after)
			}
		}
		if now := second.Add(ends + clockMargin + 2*time.Second); !rec.expired(now) {
			t.Errorf("a window that ends at +%s is not over %s after it", ends, clockMargin+2*time.Second)
		}
	}
}

// H13: the lease counts for an attempt in progress only, and counts in full (I6).
func TestRecord_LiveAndFree(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	past, future := now.Unix()-3, now.Unix()
	for _, row := range []struct {
		status     status
		lease      time.Duration // from now
		expires    int64
		live, free bool
	}{
		{inProgress, time.Minute, future, true, false},
		{inProgress, time.Minute, past, true, false}, // I6: not even the window's end
		{inProgress, 0, past, true, false},
		{inProgress, 999 * time.Microsecond, past, true, false}, // the table's unit is 1 ms
		{inProgress, -time.Millisecond, past, false, true},
		{inProgress, -time.Millisecond, future, false, false},
		{completed, time.Minute, past, false, true},
		{failed, time.Minute, past, false, true},
		{released, time.Minute, past, false, true},
		{unknown, time.Minute, past, false, true},
		{unknown, -time.Minute, future, false, false},
		{released, -time.Minute, future, false, false},
		{completed, -time.Minute, now.Unix() - 2, false, false}, // H12: the margin
	} {
		rec := &record{status: row.status, leaseEnd: now.Add(row.lease), expires: row.expires}
		if rec.live(now) != row.live || rec.free(now) != row.free {
			t.Errorf("%+v: live %t, free %t", row, rec.live(now), rec.free(now))
		}
	}
}

// H14, rule 19: the fence grows with the attempt's number and with the window, and stays an exact JSON number.
func TestFence_GrowsFromWindowToWindow(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	order := []int64{fence(first, 1), fence(first, 2), fence(first, 1000), fence(first+1, 1), fence(first+1000, 1)}
	for i := 1; i < len(order); i++ {
		if order[i] <= order[i-1] {
			t.Errorf("fence %d is %d after %d", i, order[i], order[i-1])
		}
	}
	if far := fence(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), 1000); far >= 1<<53 {
		t.Errorf("a fence of the year 2200 is %d, over 2^53", far)
	}
}

// conditionFailed is how the table answers a write whose condition fails on it.
func conditionFailed(it item) error {
	return &types.ConditionalCheckFailedException{Item: it}
}

// answered is how the SDK reports an error that DynamoDB's model does not name: by its status and code.
func answered(status int, code string) error {
	reply := &smithyhttp.Response{Response: &http.Response{StatusCode: status}}
	return &smithyhttp.ResponseError{Response: reply, Err: &smithy.GenericAPIError{Code: code, Message: "no"}}
}

// H8, rule 7: a record without an outcome stays for its whole retention after the lease, so that a crash at the
// last moment of a long run leaves as long a window as one at the first.
func TestClaim_WindowBeginsAtTheLeasesEnd(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)
	c := claim{now: start, leaseEnd: start.Add(15 * time.Minute), retention: 5 * time.Second}
	want := start.Truncate(time.Second).Add(15*time.Minute + 6*time.Second).Unix()
	if got := c.expiry().(*types.AttributeValueMemberN).Value; got != fmt.Sprint(want) {
		t.Errorf("expiry is %s, want %d", got, want)
	}
}

// H22, rule 28: the package comment lists every transition, and each is one write with a condition, which asks
// for the item that is there when it fails.
func TestWrites_AreThoseOfThePackageComment(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "Every transition is one conditional\n// write:\n//\n")
	table, _, found := strings.Cut(table, "\n//\n")
	if !found {
		t.Fatal("doc.go has no table of transitions")
	}
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "//\t"), "  ")
		if name = strings.TrimSpace(name); name != "" {
			listed[name] = true
		}
	}
	text, err := os.ReadFile("testdata/golden/writes-default.json")
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]struct {
		Condition, OnFailure string
		Actions              []struct{ Condition, OnFailure string }
	}{}
	if err := json.Unmarshal(text, &writes); err != nil {
		t.Fatal(err)
	}
	delete(writes, "read")
	made := map[string]bool{"give back": true} // a release, or a mark
	for name, w := range writes {
		short, _, _ := strings.Cut(name, ",")
		made[short] = true
		if len(w.Actions) > 0 { // the record's own is the first
			w.Condition, w.OnFailure = w.Actions[0].Condition, w.Actions[0].OnFailure
		}
		if w.Condition == "" || w.OnFailure != "ALL_OLD" {
			t.Errorf("%s: condition %q, on failure %q", name, w.Condition, w.OnFailure)
		}
	}
	if !maps.Equal(listed, made) {
		t.Errorf("the package comment lists %v, there are %v", listed, made)
	}
}

package localtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/localtest"
)

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

func textOf(tb testing.TB, item attributes, name string) string {
	tb.Helper()
	v, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		tb.Fatalf("%s is %T", name, item[name])
	}
	return v.Value
}

// fixture is a database with one table of records.
type fixture struct {
	*localtest.DB
	t      *testing.T
	table  string
	client *dynamodb.Client
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	db := localtest.Start(t)
	return fixture{db, t, db.CreateTable(t, recordTable()), db.Client()}
}

// create puts a record unless there is one with its id.
func (f fixture) create(ctx context.Context, id string) error {
	_, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &f.table,
		Item:                                attributes{"id": text(id), "v": text("new")},
		ConditionExpression:                 aws.String("attribute_not_exists(id)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

func (f fixture) exists(id string) bool {
	f.t.Helper()
	out, err := f.client.GetItem(f.t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributes{"id": text(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		f.t.Fatal(err)
	}
	return out.Item != nil
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

func TestStart_SharesNothing(t *testing.T) {
	t.Parallel()
	a, b := newFixture(t), newFixture(t)
	localtest.OnlyEmbedded(t, "a database of one's own")
	if err := a.create(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if a.table != b.table {
		t.Errorf("tables are called %s and %s", a.table, b.table)
	}
	if b.exists("k") {
		t.Error("the item is in the other database too")
	}
}

func TestCreateTable_NamesItsTables(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	localtest.OnlyEmbedded(t, "a database of one's own")
	in := recordTable()
	first, second := db.CreateTable(t, in), db.CreateTable(t, in)
	if first != "records-1" || second != "records-2" || aws.ToString(in.TableName) != "records" {
		t.Errorf("tables %s, %s; input %s", first, second, aws.ToString(in.TableName))
	}
	out, err := db.Client().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &second})
	if err != nil || out.Table.TableStatus != types.TableStatusActive || aws.ToString(out.Table.KeySchema[0].AttributeName) != "id" {
		t.Errorf("describe: %+v, %v", out, err)
	}
	if calls := db.Calls("CreateTable"); len(calls) != 0 {
		t.Errorf("the setup is in the log: %v", calls)
	}
}

// The SDK finds its types in the answers.
func TestClient_TypedErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if err := f.create(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](f.create(ctx, "k"))
	if !ok || textOf(t, failed.Item, "v") != "new" || failed.ErrorMessage() != "The conditional request failed" {
		t.Errorf("condition failed: %+v", failed)
	}
	put := types.TransactWriteItem{Put: &types.Put{
		TableName: &f.table, Item: attributes{"id": text("k")}, ConditionExpression: aws.String("attribute_not_exists(id)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put}}
	_, err := f.client.TransactWriteItems(ctx, in)
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) != 1 || aws.ToString(cancelled.CancellationReasons[0].Code) != "ConditionalCheckFailed" ||
		textOf(t, cancelled.CancellationReasons[0].Item, "v") != "new" || cancelled.ErrorMessage() == "" {
		t.Errorf("cancelled: %v", err)
	}
	in = &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(rand.Text()), TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("x")}}}}}
	if _, err := f.client.TransactWriteItems(ctx, in); err != nil {
		t.Fatal(err)
	}
	in.TransactItems[0].Put.Item["id"] = text("y")
	_, err = f.client.TransactWriteItems(ctx, in)
	if mismatch, ok := errors.AsType[*types.IdempotentParameterMismatchException](err); !ok || mismatch.ErrorMessage() == "" {
		t.Errorf("mismatch: %v", err)
	}
	_, err = f.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("none"), Key: attributes{"id": text("k")}})
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
		t.Errorf("no table: %v", err)
	}
	_, err = f.client.CreateBackup(ctx, &dynamodb.CreateBackupInput{TableName: &f.table, BackupName: aws.String("backup")})
	if code(err) != "UnknownOperationException" {
		t.Errorf("unknown operation: %v", err)
	}
}

func TestCalls_Bill(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	localtest.OnlyEmbedded(t, "the bill")
	ctx := t.Context()
	if err := f.create(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	_ = f.create(ctx, "k")
	f.exists("k")
	_, err := f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &f.table, Key: attributes{"id": text("k")}, UpdateExpression: aws.String("REMOVE v")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &f.table, Item: attributes{"id": text("a")}}},
		{ConditionCheck: &types.ConditionCheck{TableName: &f.table, Key: attributes{"id": text("k")}, ConditionExpression: aws.String("attribute_exists(id)")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", f.Calls(""))
	want := "[{Operation:PutItem Table:records-1 Index: Key:k Condition:attribute_not_exists(id) Update: Actions:[dynamodb:PutItem] Applied:true ReadUnits:0 WriteUnits:1 Err:}" +
		" {Operation:PutItem Table:records-1 Index: Key:k Condition:attribute_not_exists(id) Update: Actions:[dynamodb:PutItem] Applied:false ReadUnits:0 WriteUnits:1 Err:ConditionalCheckFailedException}" +
		" {Operation:GetItem Table:records-1 Index: Key:k Condition: Update: Actions:[dynamodb:GetItem] Applied:true ReadUnits:1 WriteUnits:0 Err:}" +
		" {Operation:UpdateItem Table:records-1 Index: Key:k Condition: Update:REMOVE v Actions:[dynamodb:UpdateItem] Applied:true ReadUnits:0 WriteUnits:1 Err:}" +
		" {Operation:TransactWriteItems Table:records-1 Index: Key: Condition: Update: Actions:[dynamodb:PutItem dynamodb:ConditionCheckItem] Applied:true ReadUnits:0 WriteUnits:4 Err:}]"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if n := len(f.Calls("PutItem")); n != 2 {
		t.Errorf("%d calls of PutItem", n)
	}
	f.ResetCalls()
	if n := len(f.Calls("")); n != 0 {
		t.Errorf("%d calls after the reset", n)
	}
}

// The log is the database's: who gets it, or a call to match, may change what they got.
func TestCalls_AreCopies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Inject(localtest.Fault{Kind: localtest.AccessDenied, Match: func(c localtest.Call) bool {
		c.Actions[0] = "changed"
		return true
	}})
	if err := f.create(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "to perform: dynamodb:PutItem") {
		t.Errorf("%v, want the action that was asked for", err)
	}
	for range 2 {
		c := f.Calls("")[0]
		if c.Actions[0] != "dynamodb:PutItem" {
			t.Errorf("actions %v", c.Actions)
		}
		c.Actions[0] = "changed"
	}
}

func TestSweep_ByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.EnableTTL(t, f.table, "expiration")
	now := time.Unix(1_700_000_000, 0)
	f.SetClock(func() time.Time { return now })
	_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{"id": text("k"), "expiration": number(now.Unix() + 60)}})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if n := f.Sweep(0); n != 0 || !f.exists("k") {
		t.Errorf("swept %d in the last second", n)
	}
	now = now.Add(time.Second)
	if !f.exists("k") {
		t.Error("gone before the sweep")
	}
	if n := f.Sweep(time.Second); n != 0 || !f.exists("k") {
		t.Errorf("swept %d within the lateness", n)
	}
	if n := f.Sweep(0); n != 1 || f.exists("k") {
		t.Errorf("swept %d after the last second", n)
	}
}

// Which of several items go, in whatever order they are found; what expired more than five years ago never goes.
func TestSweep_Chooses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.EnableTTL(t, f.table, "expiration")
	now := time.Unix(1_700_000_000, 0)
	f.SetClock(func() time.Time { return now })
	const day = 24 * 60 * 60
	for id, age := range map[string]int64{"expired": 1, "not yet": -1, "long ago": 3 * day, "five years": 5*365*day + day, "no number": 0} {
		expiration := number(now.Unix() - age)
		if age == 0 {
			expiration = text("1")
		}
		if _, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{"id": text(id), "expiration": expiration}}); err != nil {
			t.Fatal(err)
		}
	}
	left := func() string {
		var ids []string
		for _, id := range []string{"expired", "five years", "long ago", "no number", "not yet"} {
			if f.exists(id) {
				ids = append(ids, id)
			}
		}
		return strings.Join(ids, ", ")
	}
	if n := f.Sweep(48 * time.Hour); n != 1 || left() != "expired, five years, no number, not yet" {
		t.Errorf("two days late: swept %d, left %s", n, left())
	}
	if n := f.Sweep(0); n != 1 || left() != "five years, no number, not yet" {
		t.Errorf("swept %d, left %s", n, left())
	}
	defer func() {
		if got := fmt.Sprint(recover()); got != "localtest: sweep: late is -1s, must not be negative" {
			t.Errorf("panic %q", got)
		}
	}()
	f.Sweep(-time.Second)
}

// What the log knows of keys follows the tables: refused, deleted and made anew.
func TestCalls_KeysOfChangedTables(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	other := recordTable()
	other.TableName = &f.table
	other.AttributeDefinitions[0].AttributeName, other.KeySchema[0].AttributeName = aws.String("v"), aws.String("v")
	key := func() string {
		if _, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{"id": text("by id"), "v": text("by v")}}); err != nil {
			t.Fatal(err)
		}
		calls := f.Calls("PutItem")
		return calls[len(calls)-1].Key
	}
	if _, err := f.client.CreateTable(ctx, other); code(err) != "ResourceInUseException" {
		t.Errorf("made twice: %v", err)
	}
	if got := key(); got != "by id" {
		t.Errorf("after a refused change: key %q", got)
	}
	if _, err := f.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &f.table}); err != nil {
		t.Fatal(err)
	}
	if err := dynamodb.NewTableNotExistsWaiter(f.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &f.table}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.CreateTable(ctx, other); err != nil {
		t.Fatal(err)
	}
	if err := dynamodb.NewTableExistsWaiter(f.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &f.table}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := key(); got != "by v" {
		t.Errorf("made anew: key %q", got)
	}
}

// A name that is unique is one that DynamoDB takes, however long it began.
func TestCreateTable_LongName(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	in := recordTable()
	in.TableName = aws.String(strings.Repeat("n", 255))
	if name := db.CreateTable(t, in); len(name) > 255 || !strings.HasPrefix(name, "nnnn") {
		t.Errorf("table %s", name)
	}
}

func TestInvocation(t *testing.T) {
	t.Parallel()
	var ended context.Context
	t.Run("context", func(t *testing.T) {
		ctx := localtest.Invocation(t, time.Minute)
		ended = ctx
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > time.Minute || left < 50*time.Second {
			t.Errorf("%v left", left)
		}
		lc, ok := lambdacontext.FromContext(ctx)
		if !ok || lc.InvokedFunctionArn == "" {
			t.Fatalf("lambda context %+v", lc)
		}
		other, _ := lambdacontext.FromContext(localtest.Invocation(t, time.Minute))
		if len(lc.AwsRequestID) != 36 || lc.AwsRequestID == other.AwsRequestID {
			t.Errorf("request ids %s and %s", lc.AwsRequestID, other.AwsRequestID)
		}
		if ctx.Err() != nil {
			t.Error("cancelled too early")
		}
	})
	if !errors.Is(ended.Err(), context.Canceled) {
		t.Errorf("after the test: %v", ended.Err())
	}
}

// 64 workers race for each key: one wins, every loser sees the winner's whole item.
func TestConcurrent_OneWinner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 20 {
		var wins atomic.Int32
		var winner atomic.Value
		var mu sync.Mutex
		seen := map[string]bool{}
		var wg sync.WaitGroup
		for worker := range 64 {
			wg.Go(func() {
				me := fmt.Sprint(worker)
				_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: &f.table, Item: attributes{"id": text(fmt.Sprint("k", round)), "a": text(me), "b": text(me)},
					ConditionExpression: aws.String("attribute_not_exists(id)"), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				})
				failed, lost := errors.AsType[*types.ConditionalCheckFailedException](err)
				switch {
				case err == nil:
					wins.Add(1)
					winner.Store(me)
				case lost:
					mu.Lock()
					seen[textOf(t, failed.Item, "a")+"/"+textOf(t, failed.Item, "b")] = true
					mu.Unlock()
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 || len(seen) != 1 || !seen[fmt.Sprint(winner.Load(), "/", winner.Load())] {
			t.Errorf("%d winners (%v), the losers saw %v", wins.Load(), winner.Load(), seen)
		}
	}
}

// 64 workers add to two items at once, by updates and by transactions: nothing is lost, nothing is torn.
func TestConcurrent_NoLostWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	add := func(id string) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &f.table, Key: attributes{"id": text(id)},
			UpdateExpression: aws.String("ADD n :one SET m.x = if_not_exists(m.x, :zero) + :one"), ExpressionAttributeValues: attributes{":one": number(1), ":zero": number(0)},
		}}
	}
	for _, id := range []string{"a", "b"} {
		if _, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &f.table, Item: attributes{"id": text(id), "m": &types.AttributeValueMemberM{Value: attributes{}}}}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() [2]string {
		out, err := f.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: &f.table, Key: attributes{"id": text("a")}}}, {Get: &types.Get{TableName: &f.table, Key: attributes{"id": text("b")}}},
		}})
		if err != nil {
			t.Error(err)
			return [2]string{}
		}
		var n [2]string
		for i, r := range out.Responses {
			if v, ok := r.Item["n"].(*types.AttributeValueMemberN); ok {
				n[i] = v.Value
				if m := r.Item["m"].(*types.AttributeValueMemberM).Value["x"].(*types.AttributeValueMemberN).Value; m != v.Value {
					t.Errorf("torn item: n %s, m.x %s", v.Value, m)
				}
			}
		}
		return n
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 10 {
				if _, err := f.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{add("a"), add("b")}}); err != nil {
					t.Error(err)
				}
				if n := count(); n[0] != n[1] {
					t.Errorf("torn transaction: %v", n)
				}
			}
		})
	}
	wg.Wait()
	if n := count(); n != [2]string{"640", "640"} {
		t.Errorf("counted %v, want 640", n)
	}
}

package idempotency_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Transfer is also the row that is written.
type Transfer struct {
	ID     string `dynamodbav:"id"`
	From   string `dynamodbav:"from"`
	Amount int64  `dynamodbav:"amount"`
}

type accountKey struct {
	ID string `dynamodbav:"id"`
}

// A transfer whose every effect is in DynamoDB: it commits with its outcome, and a retry gets that.
func ExampleDoTx() {
	db := localtest.Start(example{})
	accounts := db.CreateTable(example{}, idempotency.Table("accounts", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: db.CreateTable(example{}, idempotency.Table("idempotency", idempotency.Schema{}))})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = db.Client().PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &accounts, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "alice"}, "balance": &types.AttributeValueMemberN{Value: "100"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// snippet:tx
	errFunds := errors.New("insufficient funds")
	transfer := func(ctx context.Context, t Transfer) (string, error) {
		req := idempotency.Request{Operation: "transfer", Scope: t.From, Key: t.ID, Input: t}
		res, err := idempotency.DoTx(ctx, r, req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			tx.Update(accounts, accountKey{t.From}, "SET balance = balance - :a").
				If("balance >= :a").Value(":a", t.Amount).
				Else(idempotency.Terminal(errFunds))
			tx.Put(accounts, t).If("attribute_not_exists(id)")
			return "moved " + t.ID, nil
		})
		return res.Value, err
	}
	// snippet:end
	for _, t := range []Transfer{{"t1", "alice", 60}, {"t1", "alice", 60}, {"t2", "alice", 60}, {"t2", "alice", 60}} {
		fmt.Println(transfer(context.Background(), t))
	}
	out, err := db.Client().GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &accounts, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "alice"}}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("balance", out.Item["balance"].(*types.AttributeValueMemberN).Value)
	// Output:
	// moved t1 <nil>
	// moved t1 <nil>
	//  insufficient funds
	//  insufficient funds
	// balance 40
}

// An external charge and a mail: if the mail fails, the retry does not charge again.
func ExampleStepOrFind() {
	r := exampleRunner()
	processor, mails := &cardProcessor{charges: map[string]string{}}, 0
	mail := func() error {
		if mails++; mails == 1 {
			return errors.New("the mail server is away")
		}
		return nil
	}
	// snippet:step
	pay := func(ctx context.Context) (string, error) {
		key := idempotency.AttemptFrom(ctx).DownstreamKey("charge")
		charge, err := idempotency.StepOrFind(ctx, "charge",
			func(context.Context) (string, bool, error) { return processor.find(key) },
			func(context.Context) (string, error) { return processor.charge(key, 4990) })
		if err != nil {
			return "", idempotency.Unknown(err) // the card may have been charged
		}
		// Safe, since a mail may come twice: the key is released, and the next request finds the charge and only sends the mail.
		return charge, idempotency.Safe(mail())
	}
	// snippet:end
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, idempotency.Request{Operation: "pay", Scope: "alice", Key: "order-17", Input: 4990}, pay)
		fmt.Println(res.Value, err)
	}
	fmt.Println(len(processor.charges), "charge,", mails, "mails tried")
	// Output:
	//  the mail server is away
	// ch_1 <nil>
	// 1 charge, 2 mails tried
}

// cardProcessor stands for one that honours idempotency keys, and can be asked for a charge by its key.
type cardProcessor struct{ charges map[string]string }

func (p *cardProcessor) charge(key string, _ int) (string, error) {
	if p.charges[key] == "" {
		p.charges[key] = fmt.Sprint("ch_", len(p.charges)+1)
	}
	return p.charges[key], nil
}

func (p *cardProcessor) find(key string) (string, bool, error) {
	charge, ok := p.charges[key]
	return charge, ok, nil
}

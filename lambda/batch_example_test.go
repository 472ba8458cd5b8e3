package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// A queue of orders. The second one fails and is reported; when the batch comes again, only that one runs.
func ExampleSQS() {
	shelfEmpty := true
	consume := lambda.SQS(newRunner(), lambda.Batch{
		Operation: "fulfil-order",
		Failed:    func(_ context.Context, id string, err error) { fmt.Printf("%s comes again: %v\n", id, err) },
	}, nil, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "lamp" && shelfEmpty {
			return errors.New("sold out")
		}
		fmt.Println("packed:", m.Body)
		return nil
	})

	// In a main: lambda.Start(consume)
	const batch = `{"Records":[{"messageId":"m1","body":"chair","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:orders"},
		{"messageId":"m2","body":"lamp","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:orders"}]}`
	deliver(consume, batch)
	shelfEmpty = false
	deliver(consume, batch)
	// Output:
	// packed: chair
	// m2 comes again: sold out
	// answer: {"batchItemFailures":[{"itemIdentifier":"m2"}]}, error: <nil>
	// packed: lamp
	// answer: {"batchItemFailures":[]}, error: <nil>
}

// The key is in the body, where a producer that sends an order twice puts the same one: both messages are one order.
func ExampleSQSBody() {
	r := newRunner()
	// snippet:sqs
	type Order struct {
		ID     string `json:"id"`
		Amount int    `json:"amount"`
	}
	consume := lambda.SQSBody(r, lambda.Batch{Operation: "fulfil-order", Concurrency: 10},
		func(_ context.Context, _ events.SQSMessage, o Order) (idempotency.Request, error) {
			return idempotency.Request{Key: o.ID, Ref: "order " + o.ID}, nil // the scope is the queue's ARN
		},
		func(_ context.Context, o Order) error {
			fmt.Println("packed: order", o.ID)
			return nil
		})
	// snippet:end

	// In a main: lambda.Start(consume)
	deliver(consume, `{"Records":[
		{"messageId":"m1","body":"{\"id\":\"17\",\"amount\":1200}","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:orders"},
		{"messageId":"m2","body":"{\"amount\":1200,\"id\":\"17\"}","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:orders"}]}`)
	// Output:
	// packed: order 17
	// answer: {"batchItemFailures":[]}, error: <nil>
}

// A shard's records run in order, up to the first that fails. Lambda delivers again from that one on.
func ExampleKinesis() {
	consume := lambda.Kinesis(newRunner(), lambda.Batch{
		Operation: "project-click",
		Failed:    func(_ context.Context, sequence string, err error) { fmt.Printf("%s: %v\n", sequence, err) },
	}, nil, func(_ context.Context, m events.KinesisEventRecord) error {
		if string(m.Kinesis.Data) == "bad" {
			return errors.New("no such page")
		}
		fmt.Printf("counted: %s\n", m.Kinesis.Data)
		return nil
	})

	// In a main: lambda.Start(consume)
	const stream = `"eventSourceARN":"arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"`
	deliver(consume, `{"Records":[
		{"eventID":"shardId-000000000000:101","kinesis":{"sequenceNumber":"101","partitionKey":"u","data":"aG9tZQ=="},`+stream+`},
		{"eventID":"shardId-000000000000:102","kinesis":{"sequenceNumber":"102","partitionKey":"u","data":"YmFk"},`+stream+`},
		{"eventID":"shardId-000000000000:103","kinesis":{"sequenceNumber":"103","partitionKey":"u","data":"Y2FydA=="},`+stream+`}]}`)
	// Output:
	// counted: home
	// 102: no such page
	// 103: lambda: the message was not started: 102, which comes before it, has failed
	// answer: {"batchItemFailures":[{"itemIdentifier":"102"}]}, error: <nil>
}

// A table's changes become mails, one for each change, however often Lambda delivers it.
func ExampleDynamoDBStream() {
	consume := lambda.DynamoDBStream(newRunner(), lambda.Batch{Operation: "mail-shipped"}, nil,
		func(_ context.Context, m events.DynamoDBEventRecord) error {
			fmt.Println(m.EventName, m.Change.Keys["id"].String(), m.Change.NewImage["state"].String())
			return nil
		})

	// In a main: lambda.Start(consume)
	for range 2 {
		deliver(consume, `{"Records":[{"eventID":"f07f8ca4","eventName":"MODIFY",
			"dynamodb":{"SequenceNumber":"101","Keys":{"id":{"S":"order 17"}},"NewImage":{"id":{"S":"order 17"},"state":{"S":"shipped"}}},
			"eventSourceARN":"arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2026-01-01T00:00:00.000"}]}`)
	}
	// Output:
	// MODIFY order 17 shipped
	// answer: {"batchItemFailures":[]}, error: <nil>
	// answer: {"batchItemFailures":[]}, error: <nil>
}

// A partition's records run in order. After one that fails the rest of its partition comes again; the others go on.
func ExampleKafka() {
	consume := lambda.Kafka(newRunner(), lambda.Batch{
		Operation: "fulfil-order",
		Failed:    func(context.Context, string, error) {}, // instead of the log
	}, nil, func(_ context.Context, m events.KafkaRecord) error {
		if m.Partition == 0 {
			return errors.New("the warehouse is closed")
		}
		fmt.Printf("packed: %s-%d, offset %d\n", m.Topic, m.Partition, m.Offset)
		return nil
	})

	// In a main: lambda.Start(consume)
	deliver(consume, `{"eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:eu-west-1:111122223333:cluster/shop/e9f754c6-4","records":{
		"orders-0":[{"topic":"orders","partition":0,"offset":7},{"topic":"orders","partition":0,"offset":8}],
		"orders-1":[{"topic":"orders","partition":1,"offset":3}]}}`)
	// Output:
	// packed: orders-1, offset 3
	// answer: {"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":7}},{"itemIdentifier":{"partition":"orders-0","offset":8}}]}, error: <nil>
}

// SNS delivers a message at least once, and retries for weeks: keep what was done for as long.
func ExampleSNSRequest() {
	request := lambda.SNSRequest("mail-shipped")
	notify := lambda.Event(newRunner(),
		func(ctx context.Context, e events.SNSEvent) (idempotency.Request, error) {
			req, err := request(ctx, e)
			req.Retention = 24 * 24 * time.Hour
			return req, err
		},
		func(_ context.Context, e events.SNSEvent) error {
			fmt.Println("mail:", e.Records[0].SNS.Message)
			return nil
		})

	// In a main: lambda.Start(notify)
	for range 2 {
		deliver(notify, `{"Records":[{"EventSource":"aws:sns","Sns":{"MessageId":"95df01b4","TopicArn":"arn:aws:sns:eu-west-1:111122223333:shipped","Message":"order 17"}}]}`)
	}
	// Output:
	// mail: order 17
	// answer: {}, error: <nil>
	// answer: {}, error: <nil>
}

func ExampleEventBridgeRequest() {
	notify := lambda.Event(newRunner(), lambda.EventBridgeRequest("mail-shipped"), func(_ context.Context, e events.EventBridgeEvent) error {
		fmt.Printf("mail: %s\n", e.Detail)
		return nil
	})

	// In a main: lambda.Start(notify)
	for range 2 {
		deliver(notify, `{"id":"6a7e8feb","account":"111122223333","source":"com.example.shop","detail-type":"OrderShipped","detail":{"order":"17"}}`)
	}
	// Output:
	// mail: {"order":"17"}
	// answer: {}, error: <nil>
	// answer: {}, error: <nil>
}

// One thumbnail for each version of an object that S3 tells of.
func ExampleS3Request() {
	draw := lambda.Event(newRunner(), lambda.S3Request("draw-thumbnail"), func(_ context.Context, e events.S3Event) error {
		fmt.Println("drawn:", e.Records[0].S3.Object.URLDecodedKey)
		return nil
	})

	// In a main: lambda.Start(draw)
	for range 2 {
		deliver(draw, `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"photos"},
			"object":{"key":"Happy+Face.jpg","eTag":"d41d8cd9","sequencer":"0055AED6DCD90281E5"}}}]}`)
	}
	// Output:
	// drawn: Happy Face.jpg
	// answer: {}, error: <nil>
	// answer: {}, error: <nil>
}

// Lambda retries an asynchronous invocation under its request id: a retry after a success that got lost does nothing.
func ExampleAsyncRequest() {
	type Report struct{ Month string }
	write := lambda.Event(newRunner(), lambda.AsyncRequest[Report]("write-report"), func(_ context.Context, r Report) error {
		fmt.Println("written:", r.Month)
		return nil
	})

	// In a main: lambda.Start(write), and the runtime makes the context.
	invocation := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{
		AwsRequestID:       "8e03978e-40d5-43dd-bc93-6894a57f9324",
		InvokedFunctionArn: "arn:aws:lambda:eu-west-1:111122223333:function:reports",
	})
	for range 2 {
		_, err := write(invocation, Report{Month: "May"})
		fmt.Println("error:", err)
	}
	// Output:
	// written: May
	// error: <nil>
	// error: <nil>
}

// As many connections as there may be messages in work. With package config: config.WithHTTPClient(lambda.AWSHTTPClient(50)).
func ExampleAWSHTTPClient() {
	const concurrency = 50 // Batch.Concurrency
	httpClient := lambda.AWSHTTPClient(concurrency)
	client := dynamodb.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: httpClient})
	r, err := idempotency.New(client, idempotency.Config{Table: "idempotency"})
	fmt.Println(r != nil, err)
	fmt.Println("connections kept:", httpClient.GetTransport().MaxIdleConnsPerHost)
	// Output:
	// true <nil>
	// connections kept: 50
}

package lambda_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// parcel is the body of a message to the function of batchkill_test.go.
type parcel struct {
	Order string `json:"order"` // the key
}

// startWorker is the main of a function behind a queue, which has as many parcels in work at once as the environment says.
func startWorker(concurrency string) {
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(os.Getenv("ENDPOINT")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	cfg := idempotency.Config{Table: os.Getenv("TABLE"), Now: localtest.Now, OnUnknown: idempotency.Rerun}
	if os.Getenv("REFUSE") != "" {
		cfg.OnUnknown = idempotency.Refuse
	}
	r, err := idempotency.New(client, cfg)
	if err != nil {
		process{}.Fatalf("%v", err)
	}
	b := lambda.Batch{Operation: "ship"}
	if b.Concurrency, err = strconv.Atoi(concurrency); err != nil {
		process{}.Fatalf("%v", err)
	}
	lambda.Start(lambda.SQSBody(r, b, func(_ context.Context, _ events.SQSMessage, p parcel) (idempotency.Request, error) {
		localtest.Point("named " + p.Order)
		return idempotency.Request{Key: p.Order}, nil
	}, ship))
}

// ship has its effect at a carrier that knows a parcel again by the downstream key.
func ship(ctx context.Context, p parcel) error {
	localtest.Point("started " + p.Order)
	attempt := idempotency.AttemptFrom(ctx)
	what := url.Values{"order": {p.Order}, "key": {attempt.DownstreamKey("ship")}, "record": {attempt.RecordID()}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("CARRIER")+"/?"+what.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	localtest.Point("shipped " + p.Order)
	return resp.Body.Close()
}

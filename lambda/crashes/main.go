// Command crashes is the function of the crash matrix: its tests kill it, cut it off and delay it at every call that it makes
// to DynamoDB. What has to come of that is in idempotency/CRASHES.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// function is what one process of it was started with.
type function struct {
	path     string // one of the names in start
	ledger   string // table of what is staged
	outside  outside
	runner   *idempotency.Runner
	endpoint string
	replies  bool
}

func main() {
	log.SetFlags(0)
	f := function{}
	var table string
	var offset, lease time.Duration
	flag.StringVar(&f.path, "path", "", "the path through the protocol that its handler takes")
	flag.StringVar(&f.endpoint, "endpoint", "", "URL of DynamoDB")
	flag.StringVar(&table, "table", "", "table of the records")
	flag.StringVar(&f.ledger, "ledger", "", "table that the handler stages writes to")
	flag.StringVar((*string)(&f.outside), "outside", "", "URL of the service that has the effects, and hears of everything")
	flag.DurationVar(&offset, "clock-offset", 0, "how far the clock is off")
	flag.DurationVar(&lease, "lease", 0, "the lease, where it is not to follow from Lambda's time-out")
	flag.BoolVar(&f.replies, "replies", false, "tell the outside of each reply of DynamoDB, before it is looked at")
	flag.Parse()
	var err error
	f.runner, err = idempotency.New(f.client(), idempotency.Config{
		Table:   table,
		Lease:   lease,
		Now:     func() time.Time { return time.Now().Add(offset) },
		Observe: lambda.Metrics(lambda.MetricsConfig{Writer: f.outside}),
	})
	if err != nil {
		log.Fatal(err)
	}
	f.start()
	log.Fatalf("no path %q", f.path)
}

// client is one with the SDK's own settings, retries included.
func (f function) client() *dynamodb.Client {
	o := dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(f.endpoint),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}
	if f.replies {
		o.HTTPClient = telling{f.outside}
	}
	return dynamodb.New(o)
}

// outside is the address of the service outside of this process, which lives on when that is killed.
type outside string

// tell posts a line, and waits until it was heard.
func (o outside) tell(ctx context.Context, what string, about url.Values) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(o)+"/"+what+"?"+about.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the outside answers %s", resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// effect is what must not happen twice.
func (o outside) effect(ctx context.Context, order, name string) error {
	if err := o.tell(ctx, "effect", url.Values{"order": {order}, "name": {name}}); err != nil {
		return idempotency.Unknown(err)
	}
	return nil
}

// Write takes the lines of an invocation's metrics.
func (o outside) Write(line []byte) (int, error) {
	return len(line), o.tell(context.Background(), "metrics", url.Values{"line": {string(line)}})
}

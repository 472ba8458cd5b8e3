package lambda_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// errand is the body of a request to the function of httpwire_test.go: what it shall do.
type errand struct {
	Order  string `json:"order"` // the name under which the outside hears of each run
	Then   string `json:"then,omitempty"`
	Status int    `json:"status,omitempty"` // default 201
	Size   int    `json:"size,omitempty"`   // of the answer, at least
}

// startWire is the main of a function behind the front door that the environment names.
func startWire(door string) {
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(os.Getenv("ENDPOINT")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	r, err := idempotency.New(client, idempotency.Config{Table: os.Getenv("TABLE"), Now: localtest.Now})
	if err != nil {
		process{}.Fatalf("%v", err)
	}
	c := lambda.HTTPConfig{Operation: "pay", Lookup: true, OldestKey: 24 * time.Hour, Request: onTheWire}
	h := handling(runErrand)
	switch door {
	case "HTTPAPI":
		lambda.Start(lambda.HTTPAPI(r, c, h.httpAPI))
	case "RESTAPI":
		lambda.Start(lambda.RESTAPI(r, c, h.restAPI))
	case "FunctionURL":
		lambda.Start(lambda.FunctionURL(r, c, h.functionURL))
	case "ALB", "ALB, multi":
		lambda.Start(lambda.ALB(r, c, h.alb))
	}
	process{}.Fatalf("no front door %q", door)
}

// onTheWire takes the policy from the request, and the caller where the door knows of none.
func onTheWire(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	if strings.HasPrefix(os.Getenv("FRONT_DOOR"), "ALB") {
		req.Scope = q.Header.Get("X-Session")
	}
	if q.Header.Get("X-Rerun") != "" {
		req.OnUnknown = idempotency.Rerun
	}
	return nil
}

func runErrand(ctx context.Context, q *lambda.HTTPRequest) (reaction, error) {
	var e errand
	if err := json.NewDecoder(bytes.NewReader(q.Body)).Decode(&e); err != nil { // what follows, is for the fingerprint
		lambda.NotStarted(ctx)
		return reaction{status: http.StatusBadRequest, body: err.Error()}, nil //nolint:nilerr // the client hears of it
	}
	run, err := tellOutside(ctx, e.Order)
	if err != nil {
		return reaction{}, err
	}
	r := created(1)
	r.body = fmt.Sprintf(`{"run":%q,"text":"<&> é😀%s"}`, run, "\u2028"+strings.Repeat(" ", e.Size))
	r.header["Link"] = []string{"<a>; rel=first", "<b>, <c>"}
	if e.Status != 0 {
		r.status = e.Status
	}
	switch e.Then {
	case "fail":
		return reaction{}, errors.New("declined")
	case "lose track":
		return reaction{}, idempotency.Unknown(errors.New("no answer"))
	case "panic":
		panic("a mistake")
	case "draw":
		r.header.Set("Content-Type", "application/octet-stream")
		r.body, r.base64 = base64.StdEncoding.EncodeToString(drawing()), true
	}
	return r, nil
}

// drawing is every byte that there is.
func drawing() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// tellOutside has the effect, and returns what the outside says of it.
func tellOutside(ctx context.Context, order string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("OUTSIDE")+"/?order="+order, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	return resp.Header.Get("X-Run"), resp.Body.Close()
}

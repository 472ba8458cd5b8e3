package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
)

// served is the address that a server prints.
var served = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// runAll takes the first five minutes in a new module, starts what serves, and runs what is to be run. What it has started has
// ended when it returns.
func runAll(ctx context.Context) (problems []string, err error) {
	folder, err := os.MkdirTemp("", "readme-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	w, err := firstMinutes(ctx, folder)
	if err != nil {
		return nil, err
	}
	began, count := time.Now(), 0
	for _, h := range holdings {
		if h.how != runs && h.how != serves {
			continue
		}
		if ctx.Err() != nil {
			return problems, ctx.Err()
		}
		one, problem := time.Now(), ""
		switch {
		case h.how == runs:
			problem = w.run(ctx, h)
		case h.where == newModule: // the DynamoDB of the lines that follow
			database, prepared := w.startDatabase(ctx, h)
			if prepared != nil {
				return problems, fmt.Errorf("%s: %w", h.command, prepared)
			}
			defer func() { err = errors.Join(err, database.end()) }()
		default:
			problem = w.visit(ctx, h)
		}
		log.Printf("%5.1f s  %s", time.Since(one).Seconds(), h.command)
		if count++; problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", h.doc, h.command, problem))
		}
	}
	log.Printf("%d command lines took %.0f s", count, time.Since(began).Seconds())
	return problems, nil
}

// startDatabase starts the DynamoDB that the documents tell of, makes a table there by idemctl, and leaves records in it whose
// outcome is unknown.
func (w *world) startDatabase(ctx context.Context, h held) (*server, error) {
	s, address, err := w.start(ctx, h)
	if err != nil {
		return nil, err
	}
	w.database = address
	w.operator = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=http://" + address, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_PROFILE=", "TABLE=idempotency", "IDEMPOTENCY_TABLE=idempotency",
	}
	answer, err := ask(ctx, http.MethodPost, address, "ListTables")
	switch {
	case err != nil:
	case !strings.Contains(answer, h.says):
		err = fmt.Errorf("answers %q, want %q", answer, h.says)
	default:
		if problem := w.run(ctx, held{command: "idemctl create-table", where: operator}); problem != "" {
			err = fmt.Errorf("idemctl create-table: %s", problem)
		} else {
			err = w.leaveUnknowns(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// leaveUnknowns records three orders, an hour ago, whose outcome nobody knows.
func (w *world) leaveUnknowns(ctx context.Context) error {
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + w.database), Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	r, err := idempotency.New(client, idempotency.Config{Table: "idempotency", Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		return err
	}
	lost := errors.New("the processor did not answer")
	for _, order := range []string{"order 1", "order 2", "order 3"} {
		req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: order, Input: order, Ref: order}
		_, err := idempotency.Do(ctx, r, req, func(context.Context) (string, error) { return "", idempotency.Unknown(lost) })
		if !errors.Is(err, lost) {
			return fmt.Errorf("%s: %w", order, err)
		}
		ids, err := r.RecordIDs(req)
		if err != nil {
			return err
		}
		w.records = append(w.records, ids...)
	}
	return nil
}

// visit starts a server, asks it for its first page, and ends it.
func (w *world) visit(ctx context.Context, h held) string {
	s, address, err := w.start(ctx, h)
	if err != nil {
		return err.Error()
	}
	page, err := ask(ctx, http.MethodGet, address, "")
	if err == nil && !strings.Contains(page, h.says) {
		err = fmt.Errorf("its page has no %q:\n%.300s", h.says, page)
	}
	if err := errors.Join(err, s.end()); err != nil {
		return err.Error()
	}
	return ""
}

// ask sends one request, of DynamoDB's protocol where it has an operation, and returns the body of its answer.
func ask(ctx context.Context, method, address, operation string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/", strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	if operation != "" {
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	} else {
		req.Body = http.NoBody
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("answers %s: %.300s", resp.Status, body)
	}
	return string(body), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
)

// table is as template.yaml makes both, as far as the function sees.
const table = `{
	"TableName": %q,
	"BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]
}`

// world is the function and all that it needs.
type world struct {
	bin       string
	cards     *cards
	processor *httptest.Server
	dynamodb  *process
	endpoint  string // of the DynamoDB
	emulator  *emulator
	past      strings.Builder   // what earlier emulators wrote
	answers   map[string][]byte // the last one to each event
}

func newWorld(ctx context.Context, bin string) (*world, error) {
	w := &world{bin: bin, cards: &cards{}, answers: map[string][]byte{}}
	w.processor = httptest.NewServer(w.cards)
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) begin(ctx context.Context) error {
	free, err := freeAddresses(ctx, 1)
	if err != nil {
		return err
	}
	address := free[0]
	if w.dynamodb, err = start(ctx, address, nil, filepath.Join(w.bin, "dynamodb"), "-addr", address); err != nil {
		return err
	}
	w.endpoint = "http://" + address
	for _, name := range []string{"idempotency", "ledger"} {
		if err := w.createTable(ctx, name); err != nil {
			return err
		}
	}
	return w.restart(ctx, "")
}

// createTable calls the server as an SDK would. This module has none: it shall only pin the emulator.
func (w *world) createTable(ctx context.Context, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.endpoint, strings.NewReader(fmt.Sprintf(table, name)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.CreateTable")
	status, body, err := send(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	if err != nil {
		return fmt.Errorf("create the table %s: %w", name, err)
	}
	return nil
}

// restart starts the emulator, after the end of the one that runs, for a function behind this front door, or none.
func (w *world) restart(ctx context.Context, frontDoor string) (err error) {
	if w.emulator != nil {
		if err := w.emulator.stop(); err != nil {
			return err
		}
		w.past.Write(w.emulator.output.Bytes())
		w.emulator = nil
	}
	w.emulator, err = startEmulator(ctx, w.bin, []string{
		"IDEMPOTENCY_TABLE=idempotency",
		"LEDGER_TABLE=ledger",
		"FRONT_DOOR=" + frontDoor,
		"CARD_PROCESSOR_URL=" + w.processor.URL,
		"AWS_ENDPOINT_URL_DYNAMODB=" + w.endpoint,
	})
	return err
}

// log ends the emulator and returns what all of them and the function wrote.
func (w *world) log() string {
	if w.emulator == nil {
		return w.past.String()
	}
	_ = w.emulator.stop() // whether it had to be killed is said by close
	return w.past.String() + w.emulator.output.String()
}

func (w *world) close() error {
	var errs []error
	if w.emulator != nil {
		errs = append(errs, w.emulator.stop())
	}
	if w.dynamodb != nil {
		errs = append(errs, w.dynamodb.stop())
	}
	w.processor.Close()
	return errors.Join(errs...)
}

// send returns the whole answer.
func send(r *http.Request) (status int, body []byte, err error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	return resp.StatusCode, body, err
}

// freeAddresses are n that nobody listens on: the emulator cannot take a free one and say which.
func freeAddresses(ctx context.Context, n int) (addresses []string, err error) {
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // when all are chosen, so that no two are the same
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

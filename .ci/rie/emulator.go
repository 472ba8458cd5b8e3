package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"
)

// timeout is the function's. A charge without an answer takes nearly all of it; a busy machine must not.
const timeout = 5 * time.Second

// emulator is AWS's program, and the function as its child, which it starts at the first invocation.
type emulator struct {
	*process
	address string
}

func startEmulator(ctx context.Context, bin string, env []string) (*emulator, error) {
	free, err := freeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	address, runtimeAPI := free[0], free[1]
	env = append([]string{
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(timeout.Seconds())),
		"AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_SESSION_TOKEN=local",
	}, env...)
	p, err := start(ctx, address, env, filepath.Join(bin, "aws-lambda-rie"),
		"--runtime-interface-emulator-address", address, // by default it listens on every interface
		"--runtime-api-address", runtimeAPI,
		filepath.Join(bin, "bootstrap"))
	if err != nil {
		return nil, err
	}
	return &emulator{p, address}, nil
}

// invoke returns the function's answer. That may be an error document: the emulator does not tell it from a result.
func (e *emulator) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+grace)
	defer cancel()
	url := "http://" + e.address + "/2015-03-31/functions/function/invocations"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	status, body, err := send(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	return body, err
}

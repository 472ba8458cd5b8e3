package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
)

// exitError is an end with an exit code: what to do about it, and the cause if that helps.
type exitError struct {
	code  int
	say   string
	cause error
}

func (e *exitError) Error() string { return e.say }
func (e *exitError) Unwrap() error { return e.cause }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, say: fmt.Errorf(format, args...).Error()}
}

func refuse(format string, args ...any) error {
	return &exitError{code: exitRefused, say: fmt.Sprintf(format, args...)}
}

// errProblems ends a command that has told everything itself.
var (
	errProblems = &exitError{code: exitRefused}
	errUnasked  = &exitError{code: exitUnasked}
)

// timeUpError is the end of -timeout.
type timeUpError time.Duration

func (e timeUpError) Error() string {
	return fmt.Sprintf("no answer within %s", time.Duration(e))
}

// fail tells of err and returns its exit code. The first line says what to do; the cause's own words follow.
func (p *program) fail(err error) int {
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: exitRefused, say: err.Error()}
	}
	if exit.say != "" {
		say(p.stderr, "idemctl: %s\n", exit.say)
	}
	if exit.cause != nil && exit.say != exit.cause.Error() {
		say(p.stderr, "  cause: %s\n", printable(strings.TrimSpace(exit.cause.Error())))
	}
	return exit.code
}

// place is what was asked, for errors to name it.
type place struct{ what, name, region string }

func (at place) String() string { return fmt.Sprintf("%s %s in %s", at.what, at.name, at.region) }

// explain says what to do about an error of the library or the SDK.
func explain(ctx context.Context, at place, err error) error {
	if _, told := errors.AsType[*exitError](err); told || err == nil {
		return err
	}
	if f, ok := errors.AsType[*idempotency.FieldError](err); ok {
		return &exitError{code: exitUsage, say: fmt.Sprintf("%s is %s: %s", f.Field, f.Value, f.Rule)}
	}
	switch {
	case errors.Is(err, idempotency.ErrNotFound):
		return &exitError{code: exitMissing, say: "there is no such record in the " + at.String()}
	case errors.Is(err, idempotency.ErrBadRecord):
		return &exitError{exitUnasked, "the record cannot be understood: it is of a newer release, damaged, or no record of this library's", err}
	}
	return &exitError{exitUnasked, advice(ctx, at, err), err}
}

// advice is the first line about an AWS service that did not do what was asked.
func advice(ctx context.Context, at place, err error) string {
	// The context's end goes before what the SDK makes of it.
	if up, ok := errors.AsType[timeUpError](context.Cause(ctx)); ok {
		return fmt.Sprintf("%s of the %s: try again, or give a longer -timeout", up, at)
	}
	if ctx.Err() != nil {
		return "interrupted"
	}
	api, isAPI := errors.AsType[smithy.APIError](err)
	if _, ofSDK := errors.AsType[*smithy.OperationError](err); !isAPI && !ofSDK {
		return fmt.Sprintf("the %s: %v", at, err) // an answer that cannot be read
	}
	if !isAPI {
		if lookup, ok := errors.AsType[*net.DNSError](err); ok {
			return fmt.Sprintf("there is no host %s: check the region %s and -endpoint-url", lookup.Name, at.region)
		}
		return fmt.Sprintf("the %s did not answer: check the network and -endpoint-url", at)
	}
	switch code := api.ErrorCode(); code {
	case "ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "TableNotFoundException":
		return fmt.Sprintf("there is no %s, or these credentials belong to another account: check its name, -region and -profile", at)
	case "AccessDeniedException", "AccessDenied", "UnauthorizedOperation":
		return fmt.Sprintf("not allowed: the caller needs %s on the %s", action(err), at)
	case "ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException",
		"IncompleteSignature", "MissingAuthenticationTokenException", "SignatureDoesNotMatch":
		return "the credentials are not accepted: log in again, or check the profile and this machine's clock"
	case "ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded":
		return fmt.Sprintf("the %s is throttled: try again later", at)
	case "UnknownOperationException":
		return fmt.Sprintf("the endpoint does not know %s", action(err))
	default:
		return fmt.Sprintf("the %s answers %s", at, code)
	}
}

// action is the right that a call needs.
func action(err error) string {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return strings.ToLower(op.Service()) + ":" + op.Operation()
	}
	return "the right"
}

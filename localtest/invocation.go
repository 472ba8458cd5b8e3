package localtest

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// Invocation is a context as Lambda hands it to a handler: its deadline lies timeout ahead, and it has a
// *lambdacontext.LambdaContext with a request id of its own and a function ARN. It is cancelled at the end of the
// test.
func Invocation(tb TB, timeout time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	tb.Cleanup(cancel)
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       runtimeapi.NewUUID(),
		InvokedFunctionArn: runtimeapi.FunctionARN,
	})
}

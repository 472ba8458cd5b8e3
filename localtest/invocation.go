package localtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Invocation is a context as Lambda hands it to a handler: its deadline lies timeout ahead, and it has a
// *lambdacontext.LambdaContext with a request id of its own and a function ARN. It is cancelled at the end of the
// test.
func Invocation(tb TB, timeout time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	tb.Cleanup(cancel)
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		InvokedFunctionArn: "arn:aws:lambda:us-east-1:000000000000:function:localtest",
	})
}

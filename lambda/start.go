package lambda

import (
	"context"

	awslambda "github.com/aws/aws-lambda-go/lambda"
)

// Handler is a typed Lambda handler. It is a plain function type: handlers need not mention it.
type Handler[In, Out any] = func(context.Context, In) (Out, error)

// Option is an option of aws-lambda-go. Start takes that package's others too.
type Option = awslambda.Option

// Start runs h in Lambda's runtime and does not return. It is aws-lambda-go's own, here so that a main needs one
// package named lambda.
func Start[In, Out any](h Handler[In, Out], options ...Option) {
	awslambda.StartHandlerFunc(h, options...)
}

// WithEnableSIGTERM calls the callbacks when Lambda shuts the sandbox down, about half a second before it is
// killed.
func WithEnableSIGTERM(callbacks ...func()) Option { return awslambda.WithEnableSIGTERM(callbacks...) }

// Command without is a function that does not use the library.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/oncekey/oncekey/.ci/coldstart/function"
)

func main() {
	client := function.Client()
	lambda.Start(func(ctx context.Context, o function.Order) (function.Receipt, error) {
		return function.Pay(ctx, client, o)
	})
}

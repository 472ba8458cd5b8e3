package lambda

import (
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// AWSHTTPClient is the AWS SDK's HTTP client with as many connections kept open to one host as there may be messages that run
// at once, for config.WithHTTPClient. The SDK's own keeps 10; with more at once it would make a new connection for most calls,
// each with a TLS handshake.
func AWSHTTPClient(connections int) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = max(t.MaxIdleConnsPerHost, connections)
		t.MaxIdleConns = max(t.MaxIdleConns, connections)
	})
}

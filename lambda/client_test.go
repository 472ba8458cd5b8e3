package lambda_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// No limit is below the SDK's own, and the rest of its transport is left as it is.
func TestHTTPClient_Limits(t *testing.T) {
	t.Parallel()
	own := awshttp.NewBuildableClient().GetTransport()
	for connections, want := range map[int][2]int{
		-1: {own.MaxIdleConnsPerHost, own.MaxIdleConns}, 0: {own.MaxIdleConnsPerHost, own.MaxIdleConns},
		1: {own.MaxIdleConnsPerHost, own.MaxIdleConns}, 50: {50, own.MaxIdleConns}, 1000: {1000, 1000},
	} {
		got := lambda.AWSHTTPClient(connections).GetTransport()
		if got.MaxIdleConnsPerHost != want[0] || got.MaxIdleConns != want[1] {
			t.Errorf("%d connections: keeps %d to a host and %d in all, want %v", connections, got.MaxIdleConnsPerHost, got.MaxIdleConns, want)
		}
		if got.MaxConnsPerHost != own.MaxConnsPerHost || got.IdleConnTimeout != own.IdleConnTimeout || got.TLSHandshakeTimeout != own.TLSHandshakeTimeout {
			t.Errorf("%d connections: other limits differ from the SDK's", connections)
		}
	}
}

// gathering lets requests in, and none out before as many as a burst has are there: they need a connection each.
type gathering struct {
	size int

	mu    sync.Mutex
	here  int
	leave chan struct{}
}

func (g *gathering) wait(ctx context.Context) {
	g.mu.Lock()
	if g.here == 0 {
		g.leave = make(chan struct{})
	}
	g.here++
	leave := g.leave
	if g.here == g.size {
		g.here = 0
		close(leave)
	}
	g.mu.Unlock()
	select {
	case <-leave:
	case <-ctx.Done():
	}
}

// Bursts of messages, over real connections: with HTTPClient the second burst has those of the first one; the SDK's own
// client has closed all but 10 of them.
func TestHTTPClient_Bursts(t *testing.T) {
	t.Parallel()
	const size, bursts, kept = 24, 3, 10
	for name, tt := range map[string]struct {
		client *awshttp.BuildableClient
		opened int64
	}{
		"HTTPClient":    {lambda.AWSHTTPClient(size), size},
		"the SDK's own": {awshttp.NewBuildableClient(), size + (bursts-1)*(size-kept)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			g, served := &gathering{size: size}, f.db.Handler()
			var opened atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.wait(r.Context())
				served.ServeHTTP(w, r)
			}))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			server.Start()
			t.Cleanup(server.Close)

			client := f.db.Client(func(o *dynamodb.Options) {
				o.HTTPClient, o.BaseEndpoint = tt.client, aws.String(server.URL)
				o.Retryer = aws.NopRetryer{}
			})
			for range bursts {
				var burst sync.WaitGroup
				for range size {
					burst.Go(func() {
						if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &f.table}); err != nil {
							t.Error(err)
						}
					})
				}
				burst.Wait()
			}
			if got := opened.Load(); got != tt.opened {
				t.Errorf("%d connections for %d bursts of %d calls, want %d", got, bursts, size, tt.opened)
			}
		})
	}
}

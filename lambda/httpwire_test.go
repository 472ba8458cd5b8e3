package lambda_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// The contract over real HTTP: a client of net/http's, a front door, and the function in processes of its own.

// longEnough is for what must not end before the test has done something, on a machine that is busy.
const longEnough = time.Minute

// wireDoors are the ways in: the header X-Session says who is calling.
var wireDoors = map[string]localtest.FrontDoor{
	"HTTPAPI": {Kind: localtest.HTTPAPI, Routes: []string{"$default"}, Authorize: func(r *http.Request) (localtest.Identity, error) {
		return localtest.Identity{Claims: map[string]string{"iss": "https://issuer.example", "sub": r.Header.Get("X-Session")}}, nil
	}},
	"RESTAPI": {Kind: localtest.RESTAPI, BinaryMediaTypes: []string{"application/octet-stream"}, Authorize: func(r *http.Request) (localtest.Identity, error) {
		return localtest.Identity{PrincipalID: r.Header.Get("X-Session")}, nil
	}},
	"FunctionURL": {Kind: localtest.FunctionURL, Authorize: func(r *http.Request) (localtest.Identity, error) {
		arn := "arn:aws:iam::111122223333:user/" + r.Header.Get("X-Session")
		if r.Header.Get("X-Session") == "" {
			return localtest.Identity{}, nil
		}
		return localtest.Identity{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: arn}}, nil
	}},
	"ALB":        {Kind: localtest.ALB},
	"ALB, multi": {Kind: localtest.ALB, MultiValueHeaders: true},
}

// wire is a function behind one front door.
type wire struct {
	door localtest.FrontDoor
	db   *localtest.DB
	fn   *localtest.Function
	url  string
	late string // in front of the same function, with a clock by which every lease has ended
	*outside
}

func newWire(t *testing.T, name string) *wire {
	t.Helper()
	w := &wire{door: wireDoors[name], db: localtest.Start(t), outside: newOutside(t)}
	b := localtest.Bootstrap{Timeout: longEnough, Env: []string{
		"FRONT_DOOR=" + name, "OUTSIDE=" + w.outside.url, "ENDPOINT=" + w.db.Listen(t),
		"TABLE=" + w.db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{})),
	}}
	w.fn = localtest.StartFunction(t, b)
	w.url = w.fn.Listen(w.door)
	b.ClockOffset = time.Hour
	w.late = localtest.StartFunction(t, b).Listen(w.door)
	return w
}

// failed is what the door makes of a function that fails.
func (w *wire) failed() int {
	if w.door.Kind == localtest.HTTPAPI {
		return http.StatusInternalServerError
	}
	return http.StatusBadGateway
}

// ask sends a request on a connection of its own: over a kept one, net/http might send it twice.
func ask(t *testing.T, base string, c call) reaction {
	t.Helper()
	return askBy(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, base, c)
}

func askBy(t *testing.T, client *http.Client, base string, c call) reaction {
	t.Helper()
	r, err := roundTrip(t, client, base, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func roundTrip(t *testing.T, client *http.Client, base string, c call) (reaction, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(c.body))
	if err != nil {
		return reaction{}, err
	}
	req.Header = c.inSession().header
	resp, err := client.Do(req)
	if err != nil {
		return reaction{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return reaction{status: resp.StatusCode, header: resp.Header, body: string(b)}, err
}

// sends is a request that is on its way.
func sends(t *testing.T, base string, c call) <-chan reaction {
	t.Helper()
	answer := make(chan reaction, 1)
	go func() {
		r, err := roundTrip(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, base, c)
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	return answer
}

// outside is the service that the function calls, once a run: it knows what has really happened.
type outside struct {
	url string

	mu   sync.Mutex
	runs map[string]int
	held map[string]*held
}

// held is an order whose next run stops at the outside.
type held struct{ arrived, release chan struct{} }

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{runs: map[string]int{}, held: map[string]*held{}}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// ServeHTTP tells the run's number.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	order := r.URL.Query().Get("order")
	o.mu.Lock()
	o.runs[order]++
	n, h := o.runs[order], o.held[order]
	delete(o.held, order)
	o.mu.Unlock()
	if h != nil {
		close(h.arrived)
		select {
		case <-h.release:
		case <-r.Context().Done(): // the process is gone
		}
	}
	w.Header().Set("X-Run", fmt.Sprint(n))
}

// hold stops the next run of an order: wait returns when it has come, and release lets it go on.
func (o *outside) hold(t *testing.T, order string) (wait, release func()) {
	t.Helper()
	h := &held{make(chan struct{}), make(chan struct{})}
	o.mu.Lock()
	o.held[order] = h
	o.mu.Unlock()
	release = sync.OnceFunc(func() { close(h.release) })
	t.Cleanup(release)
	return func() {
		t.Helper()
		select {
		case <-h.arrived:
		case <-time.After(longEnough):
			t.Fatal("no run has come to the outside")
		}
	}, release
}

func (o *outside) wantRuns(t *testing.T, order string, want int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := o.runs[order]; got != want {
		t.Errorf("%d runs, want %d", got, want)
	}
}

// Package remote speaks to a DynamoDB that is not in this process: one at a URL, or one that it starts.
package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	workers     = 128 // calls at once, and connections kept
	callTimeout = 30 * time.Second
	openTimeout = 10 * time.Second
	maxReply    = 64 << 20
)

// Remote is a DynamoDB outside of this process. Its methods may be called from several goroutines, of different
// synctest bubbles too.
type Remote struct {
	// Name says which one it is, for people.
	Name string

	settings settings
	outside  *outside
	client   *http.Client

	opening sync.Once // guards what follows
	url     string
	failed  error
	server  *server // nil: somebody else's
}

// Reply is what came back.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// New prepares for the DynamoDB that the environment asks for, nil if it asks for none. It must be called outside of
// every synctest bubble: before main, that is. Nothing is started or asked before [Remote.Open].
func New(getenv func(string) string) *Remote {
	s, err := read(getenv)
	if err == nil && s.target == "" {
		return nil
	}
	return &Remote{Name: s.name, settings: s, failed: err, outside: newOutside(workers)}
}

// Open starts the server, if it is to be started, and waits until it answers. The first call's result is that of all.
func (r *Remote) Open() error {
	r.opening.Do(func() {
		if r.failed != nil {
			return
		}
		r.outside.do(func() { r.failed = r.open() })
	})
	return r.failed
}

func (r *Remote) open() error {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented to be one
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = workers, workers
	transport.DisableCompression = true // the bytes, and the checksum over them, go on as they came
	if file := r.settings.bundle; file != "" {
		pool, err := trusted(file)
		if err != nil {
			return err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	r.client = &http.Client{Transport: transport}
	r.url = r.settings.target
	if r.settings.command != nil {
		var err error
		if r.server, err = r.settings.start(r.answers); err != nil {
			return err
		}
		r.url = r.server.url
		return nil
	}
	if err := r.answers(r.url); err != nil {
		return fmt.Errorf("%s=%s does not answer: %w", urlVariable, r.url, err)
	}
	return nil
}

// trusted are the system's certificates and those of the file.
func trusted(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("AWS_CA_BUNDLE=%s has no certificate in PEM form", file)
	}
	return pool, nil
}

// answers asks whether a DynamoDB serves at the URL. An error of DynamoDB's is an answer, too.
func (r *Remote) answers(url string) error {
	reply, err := r.exchange(openTimeout, url, "ListTables", []byte("{}"))
	if err != nil {
		return err
	}
	var body struct {
		TableNames *[]string
		Type       string `json:"__type"`
	}
	if json.Unmarshal(reply.Body, &body) != nil || body.TableNames == nil && body.Type == "" {
		return fmt.Errorf("what serves there is no DynamoDB: it answers ListTables with status %d and %.100q", reply.Status, reply.Body)
	}
	return nil
}

// Send sends a request in DynamoDB's JSON protocol, signed with the environment's credentials, and returns what came
// back. The error says that nothing did, within half a minute: what became of the request is not known then. It takes
// no virtual time.
func (r *Remote) Send(operation string, body []byte) (reply Reply, err error) {
	r.outside.do(func() { reply, err = r.exchange(callTimeout, r.url, operation, body) })
	return reply, err
}

func (r *Remote) exchange(limit time.Duration, url, operation string, body []byte) (Reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, r.settings.credentials, req, hex.EncodeToString(hash[:]), "dynamodb", r.settings.region, time.Now()); err != nil {
		return Reply{}, err
	}
	res, err := r.client.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end, or the error is told
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return Reply{}, err
	}
	return Reply{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}

// Wait asks for the table, in real time, until it is ACTIVE or a minute has passed.
func (r *Remote) Wait(table string) (err error) {
	r.outside.do(func() {
		err = poll(time.Minute, func() error {
			reply, err := r.exchange(callTimeout, r.url, "DescribeTable", fmt.Appendf(nil, `{"TableName":%q}`, table))
			if err != nil {
				return err
			}
			var described struct{ Table struct{ TableStatus string } }
			if err := json.Unmarshal(reply.Body, &described); err != nil || described.Table.TableStatus != "ACTIVE" {
				return fmt.Errorf("table %s is not ACTIVE: %s", table, reply.Body)
			}
			return nil
		})
	})
	return err
}

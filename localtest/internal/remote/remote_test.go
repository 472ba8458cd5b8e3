package remote_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/remote"
)

// attach opens the server at the URL.
func attach(t *testing.T, url string, variables ...string) *remote.Remote {
	t.Helper()
	r := remote.New(newStage(t).environment(append(variables, "LOCALTEST_DYNAMODB="+url)...))
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The environment's credentials sign, and its certificates are trusted.
func TestSend_SignedOverHTTPS(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[http.Request]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lists(w, r) {
			return
		}
		seen.Store(r)
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client that does not trust it
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	newStage(t).write(bundle, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	r := attach(t, server.URL, "AWS_CA_BUNDLE="+bundle, "AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=eu-west-2",
		"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=session")
	reply, err := r.Send("GetItem", []byte(`{"TableName":"t"}`))
	if err != nil || string(reply.Body) != `{"TableName":"t"}` {
		t.Fatalf("reply %+v, %v", reply, err)
	}
	h := seen.Load().Header
	for name, want := range map[string]string{
		"X-Amz-Target":         "DynamoDB_20120810.GetItem",
		"X-Amz-Security-Token": "session",
		"Authorization":        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + time.Now().UTC().Format("20060102") + "/eu-west-1/dynamodb/aws4_request",
	} {
		if !strings.HasPrefix(h.Get(name), want) {
			t.Errorf("%s: %s, want %s", name, h.Get(name), want)
		}
	}

	for name, variables := range map[string][]string{"no bundle": nil, "another's bundle": {"AWS_CA_BUNDLE=" + anotherCA(t)}} {
		untrusted := remote.New(newStage(t).environment(append(variables, "LOCALTEST_DYNAMODB="+server.URL)...))
		if err := untrusted.Open(); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// anotherCA is a bundle with a certificate that has signed nothing here.
func anotherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	newStage(t).write(file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return file
}

// Whatever else serves at the URL is no DynamoDB, and it is said what it is.
func TestOpen_NoDynamoDB(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"a page": "<html>404</html>", "nothing": "", "other JSON": `{"tables":[]}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		err := remote.New(newStage(t).environment("LOCALTEST_DYNAMODB=" + server.URL)).Open()
		if want := fmt.Sprintf("is no DynamoDB: it answers ListTables with status 404 and %q", body); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In a synctest bubble a call takes no virtual time, however long it takes, and the signature has the real one.
func TestSend_FromABubble(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan string), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !lists(w, r) {
			arrived <- r.Header.Get("X-Amz-Date")
			<-answer
		}
	}))
	t.Cleanup(server.Close)
	r := attach(t, server.URL)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		timeout, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		done := make(chan error)
		go func() {
			_, err := r.Send("GetItem", nil)
			done <- err
		}()
		if date := <-arrived; strings.HasPrefix(date, "2000") {
			t.Errorf("signed at %s, by the bubble's clock", date)
		}
		if timeout.Err() != nil {
			t.Error("time has passed")
		}
		answer <- struct{}{}
		if err := <-done; err != nil || !time.Now().Equal(began) {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// lists answers a ListTables, as every DynamoDB does to whoever looks whether it is one.
func lists(w http.ResponseWriter, r *http.Request) bool {
	is := r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.ListTables"
	if is {
		_, _ = io.WriteString(w, `{"TableNames":[]}`)
	}
	return is
}

// A table that is made in the background is waited for, in real time.
func TestWait(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lists(w, r) {
			return
		}
		status := "CREATING"
		if asked.Add(1) > 3 {
			status = "ACTIVE"
		}
		_, _ = fmt.Fprintf(w, `{"Table": {"TableStatus": %q}}`, status)
	}))
	t.Cleanup(server.Close)
	r := attach(t, server.URL)
	synctest.Test(t, func(t *testing.T) {
		if err := r.Wait("payments"); err != nil || asked.Load() != 4 {
			t.Errorf("waited until %v after %d questions", err, asked.Load())
		}
	})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

const (
	patient = time.Minute     // Lambda's time-out where nothing is to end by it
	hasty   = 3 * time.Second // and its default
)

// programs is a folder that lives as long as the tests.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "crashes"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// built is the function's program, made once.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(programs, "bootstrap")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", path, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// lane is a path with a table and processes of its own, which stay warm from cell to cell: its cells come one after the other.
type lane struct {
	path
	*heard
	db            *localtest.DB
	table, ledger string
	runner        *idempotency.Runner // the test's own look at the table
	plain         *dynamodb.Client
	endpoint      string
	program       string

	now, later, hurried *localtest.Function // later has a clock by which every lease has ended
}

func newLane(t *testing.T, p path) *lane {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{path: p, program: program, db: localtest.Start(t), heard: newHeard(t)}
	l.endpoint = l.db.Listen(t)
	l.table = l.db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{}))
	l.ledger = l.db.CreateTable(t, idempotency.Table("ledger", idempotency.Schema{}))
	l.plain = l.db.Client()
	if l.runner, err = idempotency.New(l.plain, idempotency.Config{Table: l.table}); err != nil {
		t.Fatal(err)
	}
	l.now = l.start(t, patient)
	l.later = l.start(t, patient, "-clock-offset=1h")
	l.hurried = l.start(t, hasty, "-lease=1m") // else it may be over before a retry that comes at once
	return l
}

func (l *lane) start(t *testing.T, timeout time.Duration, more ...string) *localtest.Function {
	t.Helper()
	return localtest.StartFunction(t, localtest.Bootstrap{Path: l.program, Timeout: timeout, Args: append([]string{
		"-path=" + l.name, "-table=" + l.table, "-ledger=" + l.ledger, "-endpoint=" + l.endpoint, "-outside=" + l.url,
	}, more...)})
}

// entries is how often the order's writes were committed.
func (l *lane) entries(t *testing.T, order string) string {
	t.Helper()
	out, err := l.plain.GetItem(context.WithoutCancel(t.Context()), &dynamodb.GetItemInput{
		TableName: &l.ledger, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: order}}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	n, ok := out.Item["entries"].(*types.AttributeValueMemberN)
	if !ok {
		return "0"
	}
	return n.Value
}

// record is the order's; its Status is "none" if there is none.
func (l *lane) record(t *testing.T, o order) idempotency.Record {
	t.Helper()
	ids, err := l.runner.RecordIDs(o.request())
	if err != nil {
		t.Fatal(err)
	}
	rec, err := l.runner.Record(t.Context(), ids[0])
	if errors.Is(err, idempotency.ErrNotFound) {
		return idempotency.Record{Status: "none"}
	}
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

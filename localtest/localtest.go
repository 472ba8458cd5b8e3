package localtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
	"github.com/oncekey/oncekey/localtest/internal/remote"
)

// TB is the part of testing.TB that this package calls: a *testing.T, *testing.B or *testing.F serves, and
// [Program] makes one for a program that is no test.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Name() string
}

// DB is a DynamoDB: one in this process, or a real one that the environment asks for. Its methods may be called from
// several goroutines at once.
type DB struct {
	tb     TB
	engine *dynamo.Engine // the database; where a real one is, what is known of its tables
	real   *remote.Remote // nil: there is none but the engine
	clock  atomic.Pointer[func() time.Time]

	arriving sync.Mutex // held while late requests arrive; taken before mu

	mu     sync.Mutex // guards what follows; never held while a request is served or a hook runs
	tables int
	faults []*armed
	calls  []*Call
	late   []lateWrite
}

// Start gives a fresh, empty database that shares nothing with any other; or access to the real one that the
// environment asks for (see the package comment), which the tests of a process share. It fails the test if that one
// is missing or does not answer.
func Start(tb TB) *DB {
	tb.Helper()
	db := &DB{tb: tb, real: realDB(tb)}
	db.SetClock(time.Now)
	db.engine = dynamo.New(db.now)
	tb.Cleanup(func() { db.complain(tb) })
	return db
}

func (db *DB) now() time.Time { return (*db.clock.Load())() }

// SetClock sets the database's clock: what [DB.Sweep] takes for expired, how long a ClientRequestToken is
// remembered, when an [AppliedLate] write arrives. Default: time.Now, which is virtual inside testing/synctest. now
// must not call methods of the DB.
func (db *DB) SetClock(now func() time.Time) {
	if now == nil {
		panic("localtest: set clock: now is nil, must be a function such as time.Now")
	}
	db.clock.Store(&now)
}

// Client is a client of the database, made from the SDK's defaults (retries included), region us-east-1 and made-up
// credentials; optFns change its options. It calls the database in the caller's goroutine, without a socket.
func (db *DB) Client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return newClient(db.serve, optFns...)
}

func newClient(serve exchange, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String("http://dynamodb.localtest"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "localtest", SecretAccessKey: "localtest", Source: "localtest"}, nil
		}),
		HTTPClient: inMemory{serve},
	}, optFns...)
}

// setup is a client whose calls meet no fault and appear in no log.
func (db *DB) setup() *dynamodb.Client {
	return newClient(func(_ context.Context, operation string, body []byte) (answer, error) {
		return db.carryOut(db.parse(operation, body))
	})
}

// described is a client of what is known of the tables.
func (db *DB) described() *dynamodb.Client {
	return newClient(func(_ context.Context, operation string, body []byte) (answer, error) {
		return answer{Reply: db.engine.Apply(db.engine.Parse(operation, body))}, nil
	})
}

// maxTableName is in bytes.
const maxTableName = 255

// CreateTable makes a table of the given shape and returns its name: in.TableName, cut if it is long, and what makes it
// unique. The table is ACTIVE. At the end of tb's test a real database deletes it, unless the test is killed (so it is not protected against that
// there); the embedded one goes as a whole. The calls meet no fault and are not logged.
func (db *DB) CreateTable(tb TB, in *dynamodb.CreateTableInput) string {
	tb.Helper()
	if in == nil || aws.ToString(in.TableName) == "" {
		tb.Fatalf("localtest: create table: TableName is empty, must be the beginning of the table's name")
	}
	db.mu.Lock()
	db.tables++
	suffix := fmt.Sprintf("-%d", db.tables)
	db.mu.Unlock()
	if db.real != nil { // others have tables there
		suffix += "-" + strings.ToLower(rand.Text())
	}
	name := strings.TrimSuffix(aws.ToString(in.TableName), "-")
	name = name[:min(len(name), maxTableName-len(suffix))] + suffix
	unique := *in
	unique.TableName = &name
	if db.real != nil {
		unique.DeletionProtectionEnabled = nil // or it could not be deleted
	}
	if db.real != nil { // before it is made: the reply may get lost
		tb.Cleanup(func() { db.deleteTable(tb, name) })
	}
	_, err := db.setup().CreateTable(context.Background(), &unique)
	if _, own := errors.AsType[*types.ResourceInUseException](err); own && db.real != nil {
		// Nobody else has this name: the SDK's second try has met the first one's table.
		_, err = db.described().CreateTable(context.Background(), &unique)
	}
	if err != nil {
		tb.Fatalf("localtest: create table %s: %v", name, err)
	}
	if db.real != nil {
		if err := db.real.Wait(name); err != nil {
			tb.Fatalf("localtest: create table %s: %v", name, err)
		}
	}
	return name
}

func (db *DB) deleteTable(tb TB, name string) {
	_, err := db.setup().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
		tb.Errorf("localtest: delete table %s: %v", name, err)
	}
}

// EnableTTL makes attribute the table's time to live, as UpdateTimeToLive does: items whose attribute is a number of
// seconds that has passed go at the next [DB.Sweep], and not before. The call meets no fault and is not logged. A real
// database is not told, since nothing but Sweep shall delete: DescribeTimeToLive says DISABLED there.
func (db *DB) EnableTTL(tb TB, table, attribute string) {
	tb.Helper()
	enabled := true
	_, err := db.described().UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	})
	if err != nil {
		tb.Fatalf("localtest: enable time to live of table %s: %v", table, err)
	}
}

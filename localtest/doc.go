// Package localtest is what a Lambda handler and its DynamoDB table need in a test, with nothing to install: a
// DynamoDB in this process, faults at chosen calls, the bill of every call, and a local Lambda.
//
// # A table
//
// [Start] gives a fresh, empty DynamoDB. [DB.Client] is an ordinary *dynamodb.Client for it that works without
// sockets and goroutines, so that SDK, code under test and database run inside testing/synctest, in virtual time.
// [DB.Listen] serves the same tables on loopback, for child processes and other languages.
//
//	db := localtest.Start(t)
//	table := db.CreateTable(t, idempotency.Table("payments", idempotency.Schema{}))
//	client := db.Client()
//
// It implements CreateTable, DescribeTable, ListTables, DeleteTable, UpdateTimeToLive, DescribeTimeToLive, PutItem,
// GetItem, UpdateItem, DeleteItem, Query, Scan, BatchGetItem, BatchWriteItem, TransactGetItems and
// TransactWriteItems, with secondary indexes and the whole expression language, and rejects what DynamoDB rejects:
// reserved words, unused placeholders, overlapping paths, empty keys, items over 400 KB and so on. Every other operation is
// answered with UnknownOperationException, and a parameter that is not implemented (streams, index keys of several
// attributes, the parameters that expressions replaced) with ValidationException. Nothing is ignored silently.
//
// Reads are always consistent, an index never lags behind its table, tables are ACTIVE at once, and throughput has no
// limit: what a real table does besides is a fault to inject.
//
// # Faults
//
// [DB.Inject] makes the database fail at a chosen call: a request that never arrives, a reply that gets lost after
// the write was applied, a write that arrives late, throttling. The SDK sees what it would see on a real network,
// and its retries run as they would there.
//
//	db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.ReplyLost})
//
// # The bill
//
// [DB.Calls] lists what the database was asked, try by try, with the capacity that DynamoDB would bill and the IAM
// actions that the caller needed.
//
// # Time
//
// [DB.SetClock] sets the database's clock, apart from the caller's. Items expire when [DB.Sweep] is called, and not
// before: DynamoDB takes up to days.
//
// # A function
//
// [StartFunction] runs a bootstrap, or the test binary itself, in real processes behind a Runtime API, with deadlines
// and time-outs. [Function.Invoke] sends an event; [Function.Deliver] sends it again as Lambda's asynchronous retries
// do. [Function.Listen] puts API Gateway, a function URL or a load balancer in front of it, for curl and HTTP clients.
// [Function.KillAt] ends the processes at a named point, or at the nth call to the table ([Function.Reach]);
// [Function.Freeze] and [Function.Thaw] stop them and let them go on; [Now] is a clock that is off by as much as the
// test says.
//
// A test binary becomes its own function by TestMain, and the SDK in there finds the table by its variable:
//
//	func TestMain(m *testing.M) {
//		if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
//			lambda.Start(handler) // with config.LoadDefaultConfig, as in production
//		}
//		os.Exit(m.Run())
//	}
//
//	fn := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{
//		"IDEMPOTENCY_TABLE=" + table,
//		"AWS_ENDPOINT_URL_DYNAMODB=" + db.Listen(t),
//	}})
//
// A killed attempt is in progress until its lease ends. A second function with a ClockOffset beyond that, and
// idempotency.Config{Now: localtest.Now} in it, sees the outcome unknown without waiting.
//
// # A queue
//
// [NewQueue] is an SQS queue with a dead-letter queue and Lambda's poller, whose event source mapping reports batch item
// failures. [Queue.Deliver] is one round: it invokes a handler of this process, or [Function.Consume], with a batch, deletes
// what succeeded and takes the rest back, with a higher ApproximateReceiveCount; [Queue.Redrive] sends dead letters again,
// with new message ids. Nothing waits: what comes back is available at once.
//
//	q := localtest.NewQueue("orders.fifo")
//	q.MaxReceives = 3
//	q.Send(localtest.Message{Body: `{"id":"o1"}`, Group: "customer 1"})
//	d, err := q.Deliver(ctx, 10, fn.Consume) // err: the whole batch has come back
//
// # A program
//
// [Program] hands a [TB] to a main that is no test, a demo or a load, say, and cleans up after it.
//
// # The same tests on a real DynamoDB
//
// One of three environment variables makes [Start] hand out another database instead, without a change to the tests:
//
//	LOCALTEST_DYNAMODB=http://127.0.0.1:8000           attach to whatever serves there; also HTTPS, also AWS
//	DYNAMODB_LOCAL_DIR=/opt/dynamodb-local             start the DynamoDBLocal.jar in that folder; needs Java
//	DYNAMODB_LOCAL_IMAGE=amazon/dynamodb-local:3.3.1   start that container; needs Docker
//
// What is asked for and missing fails the tests, and says what is missing; run them with -count=1, or go test may show
// the result of an earlier run. Requests are signed with AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN (made up if unset; for a profile: aws configure export-credentials) for
// AWS_REGION, and AWS_CA_BUNDLE names certificates to trust besides the system's. What is started takes a free port,
// serves one test binary, and ends with it, however that ends, within seconds; it needs a POSIX shell. DynamoDB Local binds its port on
// every interface.
//
// Tables get names of their own and are deleted at the end of the test. [DB.Client], [DB.Listen], faults, [DB.SetClock],
// [DB.Sweep] and testing/synctest work as on the embedded database; a call over the network takes no virtual time.
// What it cannot do there: units in [DB.Calls], the fault [Unprocessed], a ClientRequestToken that lives by the
// database's clock, a database of one's own for ListTables. Tests that need it call [OnlyEmbedded] and are skipped by
// name.
package localtest

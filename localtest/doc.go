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
// TransactWriteItems, with the whole expression language, and rejects what DynamoDB rejects: reserved words,
// unused placeholders, overlapping paths, empty keys, items over 400 KB and so on. Every other operation is
// answered with UnknownOperationException, and a parameter that is not implemented (secondary indexes, streams, the
// parameters that expressions replaced) with ValidationException. Nothing is ignored silently.
//
// Reads are always consistent, tables are ACTIVE at once, and throughput has no limit: what a real table does
// besides is a fault to inject.
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
package localtest

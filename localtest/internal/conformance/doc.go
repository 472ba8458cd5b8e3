// Package conformance is a suite of tests of what a DynamoDB does, as the service documents it: what it stores, what
// it refuses and with which code, what it returns, what it bills, and what holds when many ask at once. There is
// nothing in the package besides the tests.
//
// They run on the DynamoDB that localtest starts, which is the embedded one unless the environment names another:
//
//	go test ./localtest/internal/conformance
//	LOCALTEST_DYNAMODB=http://127.0.0.1:8000 go test ./localtest/internal/conformance
//
// So the embedded DynamoDB is measured by the same yardstick as any other, and the yardstick by DynamoDBs that other
// people wrote: .ci/independent/run runs the suite on two of these. Where one of them is known to do otherwise,
// testdata lists the tests that fail there and why; .ci/differences holds the lists to what the tests do.
//
// A test asserts behaviour and the codes of errors, and a message only where clients rely on it. The names of tests
// and of their rows stand in those lists.
package conformance

package idempotency

// RecordID lets the tests of the protocol, which see the package from outside, look at a record in the table.
var RecordID = recordID

package idempotency

// RecordID lets the tests of the protocol, which see the package from outside, look at a record in the table.
var RecordID = recordID

// ClassOf is what the runner makes of a handler's error.
func ClassOf(r *Runner, err error) Class { return r.cfg.classify(err) }

// Package idempotency runs a handler once per idempotency key and gives every retry the first answer, with one
// DynamoDB item per key, and more beside it for a long answer.
//
// Start with [New] and [Do]. Package lambda wraps AWS Lambda handlers with them; package localtest has a DynamoDB
// to test them on. The rest of this comment is the protocol: read it before you trust it with money.
//
// After an effect that may not be repeated, return [Unknown] for every error. It is the one rule that the
// library cannot follow for you.
//
// # Guarantee
//
// For one scope, operation and key, inside the key's window:
//
//	I1   One fingerprint. Every accepted request has the same fingerprint; another one is refused, whatever state
//	     the record is in. A release keeps the binding.
//	I2   One owner. At most one attempt owns the record, decided by one conditional write, never by a read
//	     followed by a write.
//	I3   One outcome. At most one is recorded, and every later request gets what was recorded.
//	I4   Fencing. Only the owner's token ends an attempt. A late attempt changes nothing and is told so. The fence
//	     that a handler is given grows with every attempt.
//	I5   No blind second run. An attempt that ended without telling leaves an unknown outcome, and only the
//	     policy [Rerun] lets another one run.
//	I6   A live lease is never taken, neither by another request nor by the window's end, as long as clocks differ
//	     by less than 2 s.
//	I7   An own write is recognised: a condition that fails on an earlier copy of the same write, whose reply was
//	     lost, counts as that write's success. Of an end without an outcome as long as at most one attempt has come
//	     after it: behind two it counts as a lost lease, and the caller gets an outcome that one of them has recorded.
//	I8   Fail closed. If the table cannot be asked, the handler does not run.
//	I9   Record before answer. The outcome is durable before the caller gets it; if it cannot be recorded, the
//	     caller is told that the effect may have happened.
//	I10  No effect twice on DynamoDB. What a handler stages commits in the same transaction as its outcome: at most once,
//	     whatever crashes, and never one without the other.
//	I11  Isolation. A caller neither sees nor meets another scope's or operation's record, and raw keys are
//	     neither stored nor logged.
//
// What this says of a handler depends on its form:
//
//	                   effects may be      runs at a time   after a crash        I8, fail closed
//	                   --------------      -------------    -------------        ---------------
//	Do                 anywhere            one owned        unknown: OnUnknown   nothing runs
//	Step               anywhere, keyed     one owned        recorded steps stay  nothing runs
//	DoTx, Claimed      staged, and steps   one owned        runs again, unless   nothing runs
//	                                                        a step has begun
//	DoTx, SingleShot   staged only         several, and     runs again           it runs, and nothing commits
//	                                       one commit
//
// "One owned": a late attempt that lost its lease may still be running, and changes nothing any more.
//
// Not guaranteed: anything after the window; a second payment under another key; a path to the effect that goes
// around this library; several operations together. An effect outside of DynamoDB is at most one owned execution
// at a time, which is weaker than one execution: the same identity must cross the boundary, and
// [Attempt.DownstreamKey] is made for that.
//
// # Who is authoritative
//
// The table, for who owns a key: a conditional write is evaluated there, against the item as it is. Local clocks
// only stop an attempt early. The first writer of an outcome, for what the answer is. The caller, for which
// requests are the same: it makes the key.
//
// # States
//
//	                 acquire
//	(no record, or ------------> INPROGRESS --- complete ---> COMPLETED
//	 window over)                 |   ^   |
//	                              |   |   +------ fail -----> FAILED
//	          +---- release ------+   |   |
//	          v                   |   |   +-- mark unknown -> UNKNOWN
//	       RELEASED -- re-acquire-----+                         |
//	                              |   |                         |
//	                (lease over)  +---+------- take over -------+
//
// A record in INPROGRESS whose lease is over is as unknown as one in UNKNOWN. Every transition is one conditional
// write:
//
//	acquire        no record; or its window is over, its status is a known one, and its lease, if it is in
//	               progress, is over. Replaces the record.
//	re-acquire     status RELEASED, and the token that was seen
//	take over      the token that was seen, and UNKNOWN, or INPROGRESS with the lease over. Where both requests promise that
//	               all effects are steps and staged writes, and there is neither step nor prior, it needs no policy and
//	               leaves no prior: what was staged is not there, so nothing has happened
//	resolve        as take over, by hand: an outcome, or RELEASED, under a new token
//	complete       my token and INPROGRESS
//	fail           my token and INPROGRESS
//	release        my token and INPROGRESS; becomes UNKNOWN if the attempt took an unknown over
//	mark unknown   my token and INPROGRESS
//	give back      an acquire without an answer, or with no time left after it: as release
//	step           my token and INPROGRESS; adds the step's result, and where the request promises that all effects are
//	               steps and staged writes, says before the first one that it begins
//	commit         complete, in one transaction with what the handler has staged
//	shot           an outcome without a claim before it, with what the handler has staged: acquire's condition, or that of
//	               re-acquire or take over. If it was refused, a record without an outcome under the same conditions, which
//	               keeps out a copy that is still on its way
//
// Re-acquire and take over are updates that keep the fingerprint and whatever else the record holds.
//
// # Lease and deadlines
//
//	lease end        = context's deadline + 2 s, or start + Config.Lease (1 min where there is neither)
//	end              = context's deadline, and not after lease end - 2 s
//	handler deadline = end - reserve
//	hard deadline    = end - what is kept for the answer: a quarter of the reserve, at most 100 ms, since at its
//	                   deadline Lambda kills the process; nothing, where the context has none
//	reserve          = a tenth of the time left, at least 50 ms, at most 1 s
//	window           = without an outcome: lease end + unknown retention; with one: completion + retention
//
// Nothing starts whose handler deadline has passed: before the acquire, nor after its reply. Ending writes go out
// on a context that is detached from the caller's cancellation. No goroutine outlives a call, so nothing is left to
// run when Lambda thaws a sandbox.
//
// # The record
//
// Times are milliseconds since 1970, but for the expiry.
//
//	id                      S  operation, "#", hex hash of scope, operation and key
//	status                  S  INPROGRESS, COMPLETED, FAILED, RELEASED, UNKNOWN
//	attempt, attempt_no     S, N  the owner's token; its number in the window, from 1
//	window, started         N  when the window's first attempt started; when the present one did
//	in_progress_expiration  N  end of the lease; absent once there is an outcome
//	completed               N  when the outcome was recorded
//	expiration              N  end of the window, in seconds: the table's time to live
//	validation              S  fingerprint; absent under AnyInput
//	ref                     S  Request.Ref; absent if empty
//	prior_no, prior_started, prior_lease  N  the unknown that the attempt took over
//	prev, prev_end          S  token of the owner before, and the status that it left
//	form                    S  "do", or "tx" where Request.Tx promises that all effects are steps and staged writes
//	steps, ext              M, BOOL  results of the recorded steps by name, until there is an outcome; that one was recorded, or began
//	data                    S or B  the outcome: JSON, or what encoding says
//	encoding                S  what was done to the JSON, in this order, joined by "+": "reference" (see [StoreRef]),
//	                           "deflate" (RFC 1951), "sealed" (by Config.Codec); or "none": done, without data
//	body                    M  in the place of data: name, number, length and SHA-256 of the items that have it
//	schema                  N  1
//
// An outcome that is too long for the record ([Config.Inline]) is in items beside it, of up to 384 KB each, whose ids are the
// record's, "#", a random name, "#" and a number from 0. They are written before the outcome that points to them, and each time
// under a name of their own, so no two attempts ever write the same item and no condition is needed. They have a kind, "body",
// and no status; nothing takes them for records. Time to live removes them 25 hours after the record's expiry, and those of an
// attempt that lost its record as well.
//
// # What an error means
//
// The handler's own mark decides ([Terminal], [Unknown], [Safe]); then [Config.Classify]; then this table, in
// which any ambiguous part of an error's tree makes it ambiguous:
//
//	error                                                            outcome
//	-----                                                            -------
//	end of a context, network time-out                               unknown
//	connection reset, broken pipe, EOF, closed, no response          unknown
//	any other *url.Error, *net.OpError or SDK send error             unknown
//	an SDK reply that could not be read, an SDK call cancelled       unknown
//	an SDK call that was tried more than once in vain                unknown
//	an answer of net/http's client that breaks off or is malformed   unknown (gzip: also of other data; mark it Safe)
//	remote status 5xx (HTTPStatusCode or StatusCode method)          unknown
//	a panic, runtime.Goexit                                          unknown
//	dial, name look-up, a certificate, a request that is not sent    released
//	an error of this library from a nested Do                        released: the inner record guards its effect
//	anything else                                                    released
//
// Clients that hide the transport behind types of their own (gRPC, some payment SDKs) need Unknown at the call,
// or a Classify that knows them. So does a client that sends again by itself: what it reports is its last try.
// net/http does so after a redirect and for a request with an Idempotency-Key header, and the AWS SDK after a lost
// reply, whose repetition may well be refused (access denied, a condition that fails on one's own write).
//
// # What is compared
//
// The fingerprint is SHA-256 over canonical JSON: members sorted, numbers by their value, no white space. A
// json.RawMessage is compared as it is, duplicate members refused. Of any other value the struct members that
// are zero are left out, so that a field which a deploy adds does not change the fingerprint of requests that do
// not use it. What the Go type cannot hold is not compared, nor what encoding/json does not show of it: a struct that
// embeds a type with a MarshalJSON, such as a time.Time, is that type's text and nothing else.
//
// # When things fail
//
//	crash before the acquire is applied     nothing there; the next request runs
//	crash between acquire and handler       as a crash in the handler: nobody can tell them apart
//	crash in the handler                    in progress until the lease ends, then unknown
//	crash after the outcome is recorded     replay
//	crash after the answer's items          as in the handler: nothing points to them
//	the answer's items cannot be written    done, without the answer: the first caller gets it, retries get ErrNoBody
//	the answer's items are lost, damaged    ErrNoBody, ErrBadRecord; nothing runs
//	the answer's items cannot be read now   ErrUnavailable; nothing runs
//	Rebuild fails; is missing               ErrUnavailable; a FieldError; nothing runs
//	the codec cannot seal; open             as items that cannot be written; ErrBadRecord, nothing runs
//	lost reply of any write                 recognised as one's own write
//	no answer to the acquire at all         not run; one write gives the key back, if it gets through
//	the acquire is applied after that       in progress until the lease ends, then unknown, although nothing was run
//	no answer to the completion             ErrNotRecorded; the record says what is true, or unknown later
//	no answer to a transaction              the same one is sent again, the handler is not run again; then ErrNotRecorded
//	a transaction is cancelled              nothing is written; an outcome that is there goes before the reason; unknown, if
//	                                        a step has run or the request's Tx promises nothing
//	a step has run and is not recorded      ErrNotRecorded, or ErrLeaseLost: marked Unknown, since its effect may be there
//	table down, throttled, no permission    ErrUnavailable, not run; throttled, a finished record still replays
//	the lease is lost                       ErrLeaseLost with the winner's outcome
//	the record is deleted during a run      ErrNotRecorded; it is not made again
//	clocks differ by more than 2 s          I6 fails under Rerun: handlers may overlap, records do not
//	a clock is ahead by more than a window  that worker runs again what it takes for over, under Refuse too
//	TTL deletes late                        an expired record counts as none; TTL is relied on nowhere
//	a sandbox is frozen during the run      its late end changes nothing if another attempt has taken over; its
//	                                        late effect can only be stopped by the other side, with the fence
//
// The file CRASHES.md has it call by call, and model/README.md the states and transitions as they were searched.
//
// # Compatibility
//
// Ids, items, fingerprints and downstream keys are fixed by golden vectors and change only with the record's
// schema number. A record of a newer schema is refused with [ErrBadRecord], never guessed at.
//
// # Glossary
//
//	key          the caller's name for one logical request
//	scope        whose key it is
//	operation    what is done
//	fingerprint  hash of what must be equal in a retry
//	record       the item of one (scope, operation, key)
//	attempt      one owned execution of the handler
//	token        the attempt's random identity
//	lease        how long an attempt owns the record
//	outcome      the recorded result or terminal failure
//	replay       handing out a recorded outcome
//	retention    how long the record counts; the window is the time from the first acquire to its end
//	take over    becoming the owner of an unknown
//	step         a part of a handler whose result is recorded of its own
//	body item    one of the items beside a record that hold an outcome which is too long for it
//	unknown      ended without telling whether the effect happened
package idempotency

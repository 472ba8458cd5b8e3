package idempotency

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// The first part of everything that is hashed says what it is for, so that no two uses share a hash.
const (
	idDomain         = "oncekey/id/v1"
	downstreamDomain = "oncekey/downstream/v1"
)

// recordID is the partition key of a request's record: the operation in clear, so that a person can read a
// table, and a hash of who (scope), what (operation) and which (key). Each part is preceded by its length:
// ("a", "bc") and ("ab", "c") are two records (I11). No secret: SHA-256, else HMAC-SHA-256.
//
// The golden vectors in testdata fix this; a change needs a new schema number.
func recordID(secret []byte, operation, scope, key string) string {
	h := sha256.New()
	if len(secret) > 0 {
		h = hmac.New(sha256.New, secret)
	}
	writeParts(h, idDomain, scope, operation, key)
	return operation + "#" + hex.EncodeToString(h.Sum(nil))
}

// ids returns the ids that the request's record may have: the one to write first.
func (r *Runner) ids(req *Request) []string {
	if len(r.cfg.Secrets) == 0 {
		return []string{recordID(nil, req.Operation, req.Scope, req.Key)}
	}
	ids := make([]string, 0, len(r.cfg.Secrets))
	for _, secret := range r.cfg.Secrets {
		ids = append(ids, recordID(secret, req.Operation, req.Scope, req.Key))
	}
	return ids
}

// downstreamHash depends on the record's id and the name only, so it is the same in every attempt, and on no
// raw key, so that the other side learns nothing of it.
func downstreamHash(id, name string) []byte {
	h := sha256.New()
	writeParts(h, downstreamDomain, id, name)
	return h.Sum(nil)
}

func downstreamKey(id, name string) string {
	// Bytes in fives: there is no padding.
	return strings.ToLower(base32.StdEncoding.EncodeToString(downstreamHash(id, name)[:20]))
}

// downstreamUUID is a version 8 UUID, RFC 9562's form for a name hashed by something else than MD5 or SHA-1.
func downstreamUUID(id, name string) string {
	u := downstreamHash(id, name)[:16]
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

func writeParts(h hash.Hash, parts ...string) {
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
}

package idempotency

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// SealingKey is a key of a [Sealer].
type SealingKey struct {
	// ID is stored in clear with what the key has sealed: 1 to 64 bytes of printable text. Another key must have another one.
	ID string

	// Key has 32 bytes of a random source, such as crypto/rand or a secret store.
	Key []byte
}

// String shows the ID, and never the key; so do GoString and LogValue.
func (k SealingKey) String() string { return "sealing key " + k.ID }

// GoString is [SealingKey.String].
func (k SealingKey) GoString() string { return k.String() }

// LogValue is [SealingKey.String].
func (k SealingKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Sealer is a [Codec] that seals with AES-256-GCM. Each answer has a key of its own, derived by HKDF-SHA-256 (RFC 5869) from
// the given one and 16 random bytes, so that one key can seal any number of them. The record's id, and which part of the
// record it is, are authenticated: what was sealed for one record opens for no other. It adds 46 bytes and the key's id.
type Sealer struct{ keys []SealingKey }

// String shows how many keys it has, and never a key.
func (s Sealer) String() string {
	return fmt.Sprintf("sealer with %d keys", len(s.keys))
}

// GoString is [Sealer.String].
func (s Sealer) GoString() string { return s.String() }

var _ Codec = (*Sealer)(nil)

const (
	sealVersion = 1
	sealSalt    = 16
	sealKey     = 32
	maxSealID   = 64
)

// NewSealer returns a Sealer. The first key seals, all of them open: to rotate, deploy {old, new}, then {new, old}, and drop
// the old one when the longest retention is over. An answer whose key is gone cannot be replayed ([ErrBadRecord]), and its
// handler does not run again.
func NewSealer(keys ...SealingKey) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, invalid("NewSealer's keys", "empty", "a key is required")
	}
	own := make([]SealingKey, len(keys))
	for i, k := range keys {
		field := fmt.Sprintf("NewSealer's keys[%d]", i)
		if err := validPrintable(field+".ID", k.ID); err != nil {
			return nil, err
		}
		switch {
		case len(k.ID) > maxSealID:
			return nil, invalid(field+".ID", fmt.Sprintf("%d bytes long", len(k.ID)), fmt.Sprintf("at most %d bytes are allowed", maxSealID))
		case len(k.Key) != sealKey:
			return nil, invalid(field+".Key", fmt.Sprintf("%d bytes long", len(k.Key)), fmt.Sprintf("%d bytes are needed", sealKey))
		case slices.ContainsFunc(own[:i], func(other SealingKey) bool { return other.ID == k.ID }):
			return nil, invalid(field+".ID", fmt.Sprintf("%q", k.ID), "is that of another key")
		}
		own[i] = SealingKey{ID: k.ID, Key: slices.Clone(k.Key)}
	}
	return &Sealer{own}, nil
}

var errNoKeys = errors.New("the Sealer has no keys: make one with NewSealer")

// Seal seals data with the first key. What it returns is: a byte with the version, one with the length of the key's id, the
// id, the salt, the nonce and the ciphertext with its tag.
func (s *Sealer) Seal(_ context.Context, name string, data []byte) ([]byte, error) {
	if len(s.keys) == 0 {
		return nil, errNoKeys
	}
	k := s.keys[0]
	head := make([]byte, 0, 2+len(k.ID)+sealSalt)
	head = append(head, sealVersion, byte(len(k.ID)))
	head = append(head, k.ID...)
	salt := head[len(head):cap(head)]
	_, _ = rand.Read(salt) // never fails
	aead, err := k.aead(salt)
	if err != nil {
		return nil, err
	}
	sealed := aead.Seal(nil, nil, data, authenticated(head, name))
	return slices.Concat(head[:cap(head)], sealed), nil
}

// Open opens what one of the keys has sealed under that name.
func (s *Sealer) Open(_ context.Context, name string, sealed []byte) ([]byte, error) {
	if len(sealed) < 2 || sealed[0] != sealVersion || len(sealed) < 2+int(sealed[1])+sealSalt {
		return nil, errors.New("it was not sealed by a Sealer of this release")
	}
	head, rest := sealed[:2+int(sealed[1])], sealed[2+int(sealed[1]):]
	id := string(head[2:])
	i := slices.IndexFunc(s.keys, func(k SealingKey) bool { return k.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("it was sealed with the key %q, which the Sealer does not have", id)
	}
	aead, err := s.keys[i].aead(rest[:sealSalt])
	if err != nil {
		return nil, err
	}
	data, err := aead.Open(nil, nil, rest[sealSalt:], authenticated(head, name))
	if err != nil {
		return nil, fmt.Errorf("it is not what the key %q has sealed for this record: %w", id, err)
	}
	return data, nil
}

func (k SealingKey) aead(salt []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.Key, salt, "oncekey answer, AES-256-GCM", sealKey)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// authenticated is what the tag covers besides the data.
func authenticated(head []byte, name string) []byte { return slices.Concat(head, []byte(name)) }

package dynamo

import (
	"crypto/sha256"
	"slices"
	"time"
)

const (
	maxToken  = 36
	tokenLife = 10 * time.Minute
)

func checkToken(token *string) error {
	switch {
	case token == nil:
		return nil
	case *token == "":
		return violation(*token, "clientRequestToken", "Member must have length greater than or equal to 1")
	case len(*token) > maxToken:
		return violation(*token, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	return nil
}

// fingerprint tells requests under one ClientRequestToken apart; a request itself may have megabytes.
type fingerprint [sha256.Size]byte

// tokens are the ClientRequestTokens of the transactions that were committed lately. Guarded by Engine.mu.
type tokens struct {
	prints  map[string]fingerprint
	commits []commit // in order of time, so that the oldest are found without a look at the others
}

type commit struct {
	token string
	at    time.Time
}

// repeated reports whether the transaction was committed before under the token.
func (t *tokens) repeated(token string, print fingerprint, now time.Time) (bool, error) {
	t.forget(now)
	known, ok := t.prints[token]
	if ok && known != print {
		return false, newError("IdempotentParameterMismatchException", "Request was already processed with other parameters under this ClientRequestToken")
	}
	return ok, nil
}

// forget drops the tokens whose time is over.
func (t *tokens) forget(now time.Time) {
	old := 0
	for old < len(t.commits) && now.Sub(t.commits[old].at) >= tokenLife {
		delete(t.prints, t.commits[old].token)
		old++
	}
	clear(t.commits[:old]) // the array may be in use for long
	t.commits = t.commits[old:]
}

// remember notes a transaction under a token that is not known.
func (t *tokens) remember(token string, print fingerprint, now time.Time) {
	t.prints[token] = print
	i := len(t.commits)
	for i > 0 && t.commits[i-1].at.After(now) { // the clock was set back
		i--
	}
	t.commits = slices.Insert(t.commits, i, commit{token, now})
}

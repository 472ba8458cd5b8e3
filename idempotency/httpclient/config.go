package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	defaultWindow = 24 * time.Hour
	defaultBudget = time.Minute
)

// Config is what a [Transport] is made with. The zero value is ready to use.
type Config struct {
	// Base makes the single tries. Default: http.DefaultTransport, which waits for an answer as long as the context
	// lets it; set ResponseHeaderTimeout of a transport of your own to try again sooner.
	Base http.RoundTripper

	// Window is how long the server keeps a key, as its documentation states. Default: 24 hours.
	Window time.Duration

	// Budget is how long one request is tried, from the start of its first try to the start of its last. It must be
	// shorter than Window: a try after that would be a new request to the server. A process that is frozen in a pause may
	// exceed it, and never Window. Default: 1 minute, or half of Window where that is shorter.
	Budget time.Duration

	// Methods are those that get a key and are tried again, in any case. Default: POST and PATCH. A request of another
	// method passes through as it is, unless it has a key.
	Methods []string

	// Unquoted sends a key without the quotation marks that the draft wants, for servers that take these for a part of
	// the key, such as Stripe's. This module's servers take both forms for the same key. Default: quoted.
	Unquoted bool
}

// Transport is an [http.RoundTripper] that tries again. It is safe for concurrent use.
type Transport struct {
	cfg   Config
	pause pauseFunc
}

// New makes a Transport, or says which setting cannot be right.
func New(cfg Config) (*Transport, error) {
	if cfg.Base == nil {
		cfg.Base = http.DefaultTransport
	}
	if cfg.Window == 0 {
		cfg.Window = defaultWindow
	}
	if cfg.Budget == 0 {
		cfg.Budget = min(defaultBudget, cfg.Window/2)
	}
	if cfg.Methods == nil {
		cfg.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	cfg.Methods = slices.Clone(cfg.Methods) // the caller may go on using it
	switch {
	case cfg.Window < 0:
		return nil, fmt.Errorf("httpclient: Config.Window is %v: must be positive", cfg.Window)
	case len(cfg.Methods) == 0:
		return nil, errors.New("httpclient: Config.Methods is empty: must have one method at least, or no request gets a key; leave it nil for POST and PATCH")
	case cfg.Budget < 0:
		return nil, fmt.Errorf("httpclient: Config.Budget is %v: must be positive", cfg.Budget)
	case cfg.Budget >= cfg.Window:
		return nil, fmt.Errorf("httpclient: Config.Budget is %v: must be shorter than Window, %v, since a later try would run a second time", cfg.Budget, cfg.Window)
	}
	return &Transport{cfg: cfg, pause: pause}, nil
}

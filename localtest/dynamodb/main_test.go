package main

import (
	"context"
	"net"
	"strings"
	"testing"
)

func TestServe_AddressTaken(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = serve(t.Context(), l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "address "+l.Addr().String()+" is taken by another process") {
		t.Errorf("serve: %v", err)
	}
}

func TestServe_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, "127.0.0.1:0"); err != nil && !strings.Contains(err.Error(), "canceled") {
		t.Errorf("serve: %v", err)
	}
}

func TestServe_NeedsAHost(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"", ":8000", "127.0.0.1", "8000"} {
		if err := serve(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "must be a host and a port") {
			t.Errorf("-addr %q: %v", addr, err)
		}
	}
}

package runtimeapi

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// PointsVariable is the environment variable that tells a process where to name its points. Only a
// process started by this package has it.
const PointsVariable = "LOCALTEST_POINTS"

const pointPath = "/localtest/point"

// points are the kills that are armed.
type points struct {
	mu    sync.Mutex
	armed map[string][]int // by point: how many calls are left up to the kill, that one included
}

func (p *points) arm(point string, nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == nil {
		p.armed = map[string][]int{}
	}
	p.armed[point] = append(p.armed[point], nth)
}

// reach counts one call and reports whether it is one to kill at.
func (p *points) reach(point string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left, ok := p.armed[point]
	if !ok {
		return false
	}
	for i := range left {
		left[i]--
	}
	n := len(left)
	p.armed[point] = slices.DeleteFunc(left, func(calls int) bool { return calls <= 0 })
	return len(p.armed[point]) < n
}

// KillAt arms a kill at the nth call, counted from now, that reaches the point.
func (f *Function) KillAt(point string, nth int) error {
	if nth < 1 {
		return fmt.Errorf("kill at %q: nth is %d, must be 1 (the next call) or more", point, nth)
	}
	f.points.arm(point, nth)
	return nil
}

// Reach says that the point was reached outside of the processes, which it cannot tell apart: where
// a kill is armed, it kills them all, and they are gone when it returns.
func (f *Function) Reach(point string) {
	if f.points.reach(point) {
		f.Kill()
	}
}

// servePoint lets the process wait at its point, and answers only if it is to go on.
func (s *sandbox) servePoint(w http.ResponseWriter, r *http.Request) {
	name, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if err != nil {
		return // the client is gone
	}
	if s.f.points.reach(string(name)) {
		s.kill()
		<-s.exited
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Point is the process's half: it names the point at address, the value of PointsVariable, and
// returns when it may go on.
func Point(address, name string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("point %q: %w", name, err)
	}
	// No context: the process stands at its point until it is told, whatever its deadlines are. And a
	// transport of its own: the default one may be set to something else.
	req := &http.Request{Method: http.MethodPost, URL: u, Body: io.NopCloser(strings.NewReader(name))}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("point %q: %w", name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("point %q: answer %s", name, resp.Status)
	}
	return nil
}

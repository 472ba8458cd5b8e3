package runtimeapi

import (
	"io"
	"net/http"
	"strconv"
)

func (s *sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", s.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", s.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", s.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", s.serveInitError)
	mux.HandleFunc("POST "+pointPath, s.servePoint)
	return mux
}

// serveNext waits for an event and hands it over. An event that cannot be delivered goes back: the
// process may have given up this request and made another.
func (s *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	s.askOnce.Do(func() { close(s.asked) })
	var inv *invocation
	select {
	case inv = <-s.work:
	case <-r.Context().Done():
		return
	case <-s.exited:
		return
	}
	if r.Context().Err() != nil {
		s.work <- inv // has room: it was in there
		return
	}
	if !s.hand(inv) {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.Payload)))
	h.Set(headerRequestID, inv.RequestID)
	h.Set(headerDeadline, strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set(headerFunctionARN, FunctionARN)
	h.Set(headerTraceID, newTraceID())
	if inv.TenantID != "" {
		h.Set(headerTenantID, inv.TenantID)
	}
	_, err := w.Write(inv.Payload)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		s.takeBack(inv)
	}
}

// hand marks inv as taken, unless the process is gone and inv with another sandbox.
func (s *sandbox) hand(inv *invocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	inv.taken = true
	return true
}

// takeBack is for an event of which the process cannot have got the whole.
func (s *sandbox) takeBack(inv *invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	inv.taken = false
	s.work <- inv // has room: it was in there
}

func (s *sandbox) serveResponse(w http.ResponseWriter, r *http.Request) {
	inv, body, ok := s.readAnswer(w, r)
	if !ok {
		return
	}
	if len(body) > maxResponse {
		s.settle(w, inv, http.StatusRequestEntityTooLarge, s.failed(inv, typeTooLarge,
			"Response payload size exceeded maximum allowed payload size (%d bytes).", maxResponse))
		return
	}
	s.settle(w, inv, http.StatusAccepted, inv.succeeded(body, r.Trailer))
}

func (s *sandbox) serveError(w http.ResponseWriter, r *http.Request) {
	if inv, body, ok := s.readAnswer(w, r); ok {
		s.settle(w, inv, http.StatusAccepted, inv.failedBy(body))
	}
}

// readAnswer reads the whole body before anything is decided: the process may be killed within it.
func (s *sandbox) readAnswer(w http.ResponseWriter, r *http.Request) (*invocation, []byte, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxResponse+1))
	if err != nil {
		return nil, nil, false // the client is gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	inv := s.invocations[r.PathValue("id")]
	if inv == nil || !inv.taken {
		http.Error(w, "no such invocation", http.StatusBadRequest)
		return nil, nil, false
	}
	return inv, body, true
}

func (s *sandbox) settle(w http.ResponseWriter, inv *invocation, status int, answer Response) {
	if !inv.settle() {
		http.Error(w, "the invocation has ended", http.StatusBadRequest)
		return
	}
	answer.PID = s.cmd.Process.Pid
	w.WriteHeader(status)
	inv.answer <- answer // has room: only who settles sends
}

func (s *sandbox) serveInitError(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initError = string(body)
	w.WriteHeader(http.StatusAccepted)
}

package runtimeapi

import (
	"errors"
	"fmt"
)

// stance is whether the process runs.
type stance int

const (
	running stance = iota
	freezing
	frozen
)

// freeze returns when the process stands still, or is dead. It waits without mu: kill must be able to end a process that
// never stands still.
func (s *sandbox) freeze() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if !s.beginFreeze() {
		return nil
	}
	err := freezeGroup(s.cmd.Process)
	s.endFreeze(err)
	if err != nil {
		return fmt.Errorf("freeze process %d: %w", s.cmd.Process.Pid, err)
	}
	return nil
}

func (s *sandbox) beginFreeze() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.stance != running {
		return false
	}
	s.stance = freezing
	s.inFreeze.Add(1)
	return true
}

func (s *sandbox) endFreeze(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stance = frozen
	if err != nil {
		s.stance = running
	}
	s.inFreeze.Done()
}

func (s *sandbox) thaw() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thawLocked()
}

var errFreezing = errors.New("it is being frozen")

func (s *sandbox) thawLocked() error {
	if s.ended || s.stance == running {
		return nil
	}
	err := errFreezing // not by who holds turn
	if s.stance == frozen {
		err = thawGroup(s.cmd.Process)
	}
	if err != nil {
		return fmt.Errorf("thaw process %d: %w", s.cmd.Process.Pid, err)
	}
	s.stance = running
	return nil
}

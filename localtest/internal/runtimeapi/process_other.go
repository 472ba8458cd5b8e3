//go:build !unix

package runtimeapi

import (
	"errors"
	"os"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() } // fails only where it has ended

func freezeGroup(*os.Process) error { return errors.ErrUnsupported }

func thawGroup(*os.Process) error { return errors.ErrUnsupported }

func awaitExit(int) bool { return false }

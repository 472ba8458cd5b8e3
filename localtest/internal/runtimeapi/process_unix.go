//go:build unix && !linux

package runtimeapi

import (
	"os"
	"syscall"
)

// processAttributes gives the process a group of its own, so that its children can be ended with it.
// That it ends when this program dies without cleaning up can only be had on Linux.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // fails only where none is left

func freezeGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGSTOP) }

func thawGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGCONT) }

// awaitExit cannot wait without reaping: package syscall has that system call on Linux only.
func awaitExit(int) bool { return false }

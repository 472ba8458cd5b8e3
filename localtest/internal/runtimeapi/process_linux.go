package runtimeapi

import (
	"os"
	"syscall"
)

// processAttributes gives the process a group of its own, so that its children can be ended with it,
// and ends it when this program dies, however that happens.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // fails only where none is left

// freezeGroup returns when the process stands still or is dead; its children are stopped, not waited for. The process
// comes first, alone: while it starts a child, one of its threads waits until the child has become another program
// (vfork), and does not stop before. A child that was stopped earlier than that would let it wait for ever.
func freezeGroup(p *os.Process) error {
	if err := syscall.Kill(p.Pid, syscall.SIGSTOP); err != nil {
		return err
	}
	waitWithoutReaping(p.Pid, syscall.WSTOPPED|syscall.WEXITED)
	return syscall.Kill(-p.Pid, syscall.SIGSTOP)
}

func thawGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGCONT) }

// awaitExit returns true when the process has ended and is not reaped yet, so that its pid is not
// given to another one.
func awaitExit(pid int) bool { return waitWithoutReaping(pid, syscall.WEXITED) }

func waitWithoutReaping(pid, events int) bool {
	const idIsPID = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idIsPID, uintptr(pid), 0, uintptr(events|syscall.WNOWAIT), 0, 0)
		if errno != syscall.EINTR {
			return errno == 0
		}
	}
}

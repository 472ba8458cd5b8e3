//go:build !unix

package remote

import "syscall"

// ownGroup: there are no groups here, and no shell either.
func ownGroup() *syscall.SysProcAttr { return nil }

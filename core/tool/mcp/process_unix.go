//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the head of a process group. This system does not end it with us: it is left to
// see that its input was closed.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

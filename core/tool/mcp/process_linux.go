package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the head of a process group that ends with us.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

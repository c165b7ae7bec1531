//go:build !unix

package mcp

import "os/exec"

// ownGroup does nothing here: there are no process groups.
func ownGroup(*exec.Cmd) {}

// terminate and kill end the command itself. One that is gone already is no error.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

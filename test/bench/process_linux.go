package main

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group and ends all of it at the limit.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

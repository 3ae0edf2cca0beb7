package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel stop the server when we are killed without a
// chance to do so.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
}

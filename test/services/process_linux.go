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

// keepsAttributes reports whether files in the folder can carry attributes of
// users, in which versitygw keeps what belongs to an object.
func keepsAttributes(dir string) bool {
	return syscall.Setxattr(dir, "user.castalia", []byte("x"), 0) == nil
}

package servers

import (
	"os/exec"
	"syscall"
)

// DieWithUs makes the kernel end a process by a signal when the thread that starts it is
// gone, as when we are killed without a chance to end it ourselves.
func DieWithUs(cmd *exec.Cmd, by syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = by
}

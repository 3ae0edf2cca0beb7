package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// noNamespaces says why networks of one's own cannot be made here; empty means
// they can. It tries: nothing else tells what a container forbids.
func noNamespaces(look func(string) (string, error)) string {
	ip, err := look("ip")
	if err != nil {
		return "iproute2 is not on the PATH"
	}
	if os.Geteuid() != 0 {
		return "only root makes network namespaces"
	}
	for _, kind := range []string{"bridge", "veth"} {
		cmd := exec.CommandContext(context.Background(), ip, "link", "add", "probe", "type", kind)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Sprintf("a %s in a namespace of its own fails: %v %s", kind, err, said)
		}
	}
	return ""
}

package servers

import (
	"fmt"
	"net"
)

// claim keeps a port for this process by a name that the kernel forgets with it.
func claim(port int) (release func(), ok bool) {
	l, err := net.Listen("unix", fmt.Sprintf("@castalia-test-port-%d", port))
	if err != nil {
		return nil, false
	}
	return func() { _ = l.Close() }, true
}

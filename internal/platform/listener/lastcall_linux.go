package listener

import (
	"net"
	"syscall"
)

// ignoreNew makes the kernel drop the first packet of every new connection to
// the listener, while those that it has begun are completed and can be taken.
// A client that comes now asks again after a second, and is refused then, or
// finds another node: it never has a connection that nobody will read. Where
// the kernel does not allow it, nothing changes.
func ignoreNew(l *net.TCPListener) {
	const (
		flags    = 13   // offset in the TCP header
		synAck   = 0x12 // the two bits we look at
		syn      = 0x02
		drop     = 0
		passThru = 0xffffffff
	)
	filter := []syscall.SockFilter{
		{Code: syscall.BPF_LD | syscall.BPF_B | syscall.BPF_ABS, K: flags},
		{Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: synAck},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jf: 1, K: syn},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: drop},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: passThru},
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.AttachLsf(int(fd), filter) //nolint:staticcheck // x/net/bpf would be a dependency for five words
	})
}

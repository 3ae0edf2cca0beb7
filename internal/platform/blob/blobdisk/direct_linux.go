package blobdisk

import (
	"os"
	"syscall"
)

// setDirect lets writes to f go past the page cache, or not.
func setDirect(f *os.File, on bool) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		var flags uintptr
		if flags, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0); errno != 0 {
			return
		}
		flags &^= syscall.O_DIRECT
		if on {
			flags |= syscall.O_DIRECT
		}
		_, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETFL, flags)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}

//go:build unix

package datadir

import (
	"os"
	"syscall"
)

// takeLock asks the kernel for the file, without waiting.
func takeLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

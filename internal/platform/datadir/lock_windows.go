package datadir

import (
	"os"

	"golang.org/x/sys/windows"
)

// takeLock asks the kernel for the file, without waiting. What is locked on
// Windows cannot be read by others, so it is a byte far behind the text that
// tells them who holds it.
func takeLock(file *os.File) error {
	const beyond = 1 << 30
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0,
		&windows.Overlapped{Offset: beyond})
}

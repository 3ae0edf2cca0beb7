//go:build unix

package httpserver

import "syscall"

// defaultMaxConns leaves a quarter of the process's open files to databases
// and objects.
func defaultMaxConns() int {
	const most = 16384
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil || lim.Cur/4*3 > most {
		return most
	}
	return max(64, int(lim.Cur/4*3)) //nolint:gosec // below most
}

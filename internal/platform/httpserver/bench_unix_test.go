//go:build unix

package httpserver_test

import "syscall"

// cpuTime is what this process has used, in nanoseconds: unlike the clock, it
// does not depend on what else the machine does.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

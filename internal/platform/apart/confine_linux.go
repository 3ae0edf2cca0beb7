package apart

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// confine asks the system to hold this process to its limits. What it refuses is
// still watched from inside and from outside.
func confine(limits Limits) {
	seconds := uint64(max(1, limits.CPU/time.Second))
	memory := mapped() + uint64(limits.Memory)*mostMapped //nolint:gosec // positive; the watch comes first where it can
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, unix.SIGXCPU)
	go func() {
		<-spent
		panic(outOfTime)
	}()
	for what, most := range map[int]unix.Rlimit{
		unix.RLIMIT_CPU:    {Cur: seconds, Max: seconds + 2}, // the first is told, the second ends
		unix.RLIMIT_DATA:   {Cur: memory, Max: memory},
		unix.RLIMIT_CORE:   {},
		unix.RLIMIT_FSIZE:  {},
		unix.RLIMIT_NOFILE: {Cur: 32, Max: 32},
	} {
		_ = unix.Setrlimit(what, &most)
	}
}

// mapped is how much the process has already, which its limit would count too.
func mapped() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var other, data uint64
	if _, err := fmt.Sscan(string(text), &other, &other, &other, &other, &other, &data); err != nil {
		return 0
	}
	return data * uint64(os.Getpagesize()) //nolint:gosec // positive
}

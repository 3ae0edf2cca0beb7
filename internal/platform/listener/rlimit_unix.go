//go:build unix

package listener

import (
	"math"
	"syscall"
)

// Budget is how many connections the process's limit of open files bears:
// a quarter of it is left to databases and objects. Go has raised the soft
// limit to the hard one already.
func Budget() int {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil || lim.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(16, int(lim.Cur)/4*3)
}

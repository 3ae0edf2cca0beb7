//go:build !unix

package engineio

import "syscall"

// writeNow sends nothing: here every write may wait.
func writeNow(syscall.RawConn, []byte) int { return 0 }

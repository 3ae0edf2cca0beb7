// Package goruntime sets Go's scheduler and collector as a server wants them, in one
// place, so that what is measured runs as what is served.
//
// It promises to leave alone what GOMAXPROCS and GOGC say.
package goruntime

import (
	"runtime"
	"runtime/debug"
)

// collectAt lets the heap of a server grow to three times what is alive before
// it is collected, instead of twice: what is alive is small beside what machines
// have, and a request then costs a tenth less (400 was no better).
const collectAt = 200

// threadsMore is how many threads more than processors may run Go code. One that
// waits for the disk keeps its place until the runtime notices, which takes
// longer than the wait: with two processors and an upload that was half of the
// time (ADR 0092). Calls need them too: whoever computes for long keeps a place
// for ten milliseconds at a time, and the system shares processors out more finely.
const threadsMore = 2

// Serve sets both for the whole process; undo takes that back.
func Serve(getenv func(string) string) (undo func()) {
	percent, threads := 0, runtime.GOMAXPROCS(0)
	setPercent, setThreads := getenv("GOGC") == "", getenv("GOMAXPROCS") == ""
	if setPercent {
		percent = debug.SetGCPercent(collectAt)
	}
	if setThreads {
		runtime.GOMAXPROCS(threads + threadsMore)
	}
	return func() {
		if setPercent {
			debug.SetGCPercent(percent)
		}
		if setThreads {
			runtime.GOMAXPROCS(threads)
		}
	}
}

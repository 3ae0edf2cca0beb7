package main

import "os"

// memoryFolder is where Linux keeps files in memory.
const memoryFolder = "/dev/shm"

// memoryRoom is what must be free in memory, far more than our tests store at any time.
const memoryRoom = 4 << 30

// inMemory is the environment of a command whose temporary folders are in memory. Those in
// which Go links programs stay where they were: hundreds of test programs are large. The
// folder is the same for every run, or else Go would run again what did not change.
func inMemory(env []string, disk string) []string {
	env = append(env, "TMPDIR="+memoryFolder)
	if os.Getenv("GOTMPDIR") == "" {
		env = append(env, "GOTMPDIR="+disk)
	}
	return env
}

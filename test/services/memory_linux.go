package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// What statfs says of a file system in memory, and of one whose programs cannot be run.
const (
	tmpfs  = 0x01021994
	noExec = 0x8
)

// noMemory says why temporary folders cannot be in this folder; empty means that they can.
func noMemory(folder string) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return fmt.Sprintf("%s: %v", folder, err)
	}
	room := min(fs.Bavail*uint64(fs.Bsize), available())
	switch {
	case fs.Type != tmpfs:
		return folder + " is not in memory"
	case fs.Flags&noExec != 0:
		return "programs cannot be run in " + folder // tests build some
	case room < memoryRoom:
		return fmt.Sprintf("%s has room for %d MiB, not for %d", folder, room>>20, memoryRoom>>20)
	}
	return ""
}

// available is how many bytes of memory are free; zero where that cannot be read.
func available() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			kib, _ := strconv.ParseUint(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc: 100 a second on every Linux.
const clockTick = 10 * time.Millisecond

// read adds up what the processes have used. One that is gone counts nothing.
func read(pids []int, private bool) usage {
	var sum usage
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The name, in parentheses, may contain anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 22 {
			continue
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		pages, _ := strconv.ParseInt(fields[21], 10, 64)
		if private {
			pages -= sharedPages(pid)
		}
		sum.cpu += time.Duration(user+system) * clockTick
		sum.resident += pages * int64(os.Getpagesize())
	}
	return sum
}

func sharedPages(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(text)); len(f) > 2 {
		pages, _ := strconv.ParseInt(f[2], 10, 64)
		return pages
	}
	return 0
}

// withArgument finds processes by a word in their command line. PostgreSQL
// writes the database's name there, so a shared server's other users are left
// out.
func withArgument(word string) []int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []int
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(text, []byte("postgres:")) || !bytes.Contains(text, []byte(word)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// listeningOn finds the process that listens on a TCP port of this machine.
func listeningOn(port string) []int {
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", number)) {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && inodes[to] {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				return []int{pid}
			}
		}
	}
	return nil
}

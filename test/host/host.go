// Package host says how much of its processors' time a machine was denied: a virtual one
// shares them with others, and what is slow on it meanwhile says nothing about the
// program that is measured.
package host

import (
	"os"
	"strconv"
	"strings"
)

// TooMuch is the share of the processors' time from which on figures of time are not valid.
const TooMuch = 0.05

// Clock is what the processors did since the machine was started, in ticks.
type Clock struct{ Withheld, All uint64 }

// Read reads the clock; it stays at zero where a system does not tell.
func Read() Clock {
	text, _ := os.ReadFile("/proc/stat")
	return parse(string(text))
}

// parse reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq
// and steal. What follows is counted as user time already.
func parse(text string) (c Clock) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Clock{}
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return Clock{}
		}
		c.All += n
		if i == 7 {
			c.Withheld = n
		}
	}
	return c
}

// Since is the share of the time since another reading that the host withheld.
func (c Clock) Since(before Clock) float64 {
	if c.All <= before.All || c.Withheld < before.Withheld {
		return 0
	}
	return float64(c.Withheld-before.Withheld) / float64(c.All-before.All)
}

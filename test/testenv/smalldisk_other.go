//go:build !linux

package testenv

import "testing"

// SmallDisk is offered on Linux alone.
func SmallDisk(t testing.TB, _ string) string {
	t.Helper()
	Need(t, "smalldisk")
	return ""
}

func noSmallDisk() string { return "small disks are mounted on Linux alone" }

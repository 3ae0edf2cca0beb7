//go:build !linux

package servers

// KeepsAttributes says no where it is not known how to ask.
func KeepsAttributes(string) bool { return false }

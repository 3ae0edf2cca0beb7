//go:build !linux

package main

// noMemory knows of no folder in memory here.
func noMemory(string) string { return "this system has no " + memoryFolder }

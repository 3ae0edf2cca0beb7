//go:build !race

package apart

const (
	// mostMapped is how much of the system's memory there may be for each byte of
	// the limit: garbage, and what the heap has not given back.
	mostMapped = 2
	// outOfShadow is what the race detector says when it has no memory.
	outOfShadow = outOfMemory
)

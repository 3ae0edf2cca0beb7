//go:build race

package apart

// The race detector keeps a shadow of the heap, several times as large.
const (
	mostMapped  = 12
	outOfShadow = "failed to allocate"
)

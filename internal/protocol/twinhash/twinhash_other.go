//go:build !amd64 || purego

package twinhash

const fast = false

var constants [64]uint32

func blocks(_, _ *[8]uint32, _ *[64]uint32, _ *byte, _ int) { panic("twinhash: not on this processor") }

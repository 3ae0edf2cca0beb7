package upstream

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// Buffers between these sizes, as powers of two, are kept.
const (
	smallestBuffer = 10 // 1 KiB
	largestBuffer  = 20 // 1 MiB
)

// buffers lends memory to gRPC. Its own pool has five sizes, and clears a
// buffer before it lends it: a reply of 40 KiB would cost a megabyte of
// zeros. Here a buffer is at most twice as large as asked for and is not
// cleared, since whoever borrows it fills it. The option is experimental: when it
// goes, gRPC's own pool does the same, slower.
type buffers struct {
	kept [largestBuffer - smallestBuffer + 1]sync.Pool // of *[]byte
}

var _ mem.BufferPool = (*buffers)(nil)

// class returns the index of the smallest size that holds length.
func class(length int) int {
	return max(bits.Len(uint(max(length-1, 0))), smallestBuffer) - smallestBuffer
}

// Get lends a buffer of the length; its bytes are whatever they were.
func (b *buffers) Get(length int) *[]byte {
	c := class(length)
	if c >= len(b.kept) {
		fresh := make([]byte, length)
		return &fresh
	}
	if kept, ok := b.kept[c].Get().(*[]byte); ok {
		*kept = (*kept)[:length]
		return kept
	}
	fresh := make([]byte, length, 1<<(c+smallestBuffer))
	return &fresh
}

// Put takes a buffer back. One of another size than those that are lent is
// left to the collector.
func (b *buffers) Put(lent *[]byte) {
	if c := class(cap(*lent)); c < len(b.kept) && cap(*lent) == 1<<(c+smallestBuffer) {
		b.kept[c].Put(lent)
	}
}

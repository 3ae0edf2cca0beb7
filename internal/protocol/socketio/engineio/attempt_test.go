//go:build unix

package engineio_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

func TestFramesStayWholeWhenTheConnectionTakesParts(t *testing.T) {
	t.Parallel()
	a := serve(t, engineio.Config{MaxQueueBytes: 64 << 20})
	w := wire(t, a, "")
	s := a.session(t)
	// More than a connection's buffers take while nobody reads, in pieces of
	// which no buffer is a multiple.
	const frames = 300
	body := func(i int) []byte {
		return append(bytes.Repeat([]byte{'a' + byte(i%26)}, 50_021+i), fmt.Sprint(i)...)
	}
	for i := range frames {
		if err := s.Send(engineio.NewText(body(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range frames {
		if got := w.Next(); got != "4"+string(body(i)) {
			t.Fatalf("frame %d came damaged: %d bytes", i, len(got))
		}
	}
}

// A session whose peer takes what comes is written to by whoever sends: no
// goroutine, no memory.
func TestSendingToAnIdlePeerAllocatesNothing(t *testing.T) {
	a := serve(t, quiet)
	w := wire(t, a, "")
	s := a.session(t)
	frame := engineio.NewText([]byte("hello"))
	batch := []engineio.Frame{frame}
	const rounds = 100
	if got := testing.AllocsPerRun(rounds, func() { _ = s.Send(batch...) }); got >= 1 {
		t.Errorf("%v allocations for each frame", got)
	}
	for range rounds + 1 {
		w.Expect("4hello")
	}
}

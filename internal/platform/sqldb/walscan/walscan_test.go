package walscan_test

import (
	"bytes"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

// What is no log holds nothing, and what is damaged is not read past. That a log is
// read right is tested by package replica, which restores from it.
func FuzzScan(f *testing.F) {
	f.Add([]byte{}, uint32(0))
	f.Add(bytes.Repeat([]byte{0x37, 0x7f, 0x06, 0x82}, 40), uint32(1))
	f.Fuzz(func(t *testing.T, log []byte, frames uint32) {
		read := walscan.Position{Known: true, Frames: frames}
		over := read
		over.Over = true
		for _, from := range []walscan.Position{{}, read, over} {
			found, err := walscan.Scan(bytes.NewReader(log), from)
			if err == nil && len(found.Pages) > len(log)/512 {
				t.Errorf("%d pages in %d bytes", len(found.Pages), len(log))
			}
			_, _ = walscan.Holds(bytes.NewReader(log), from)
		}
	})
}

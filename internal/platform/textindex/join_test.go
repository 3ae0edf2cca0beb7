package textindex_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// counted counts what is read.
type counted struct {
	bytes.Reader
	calls, bytes int64
}

func (c *counted) ReadAt(into []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(into, at)
	c.calls++
	c.bytes += int64(n)
	return n, err
}

func joinOf(t *testing.T, out io.Writer, built ...[]byte) (calls, read int64, err error) {
	t.Helper()
	cache := textindex.NewJoinCache(1 << 20) // far less than the segments have
	var views []*textindex.View
	var readers []*counted
	for _, data := range built {
		r := &counted{Reader: *bytes.NewReader(data)}
		readers = append(readers, r)
		s, err := textindex.Open(r, int64(len(data)), cache)
		if err != nil {
			return 0, 0, err
		}
		v, err := s.Without(nil)
		if err != nil {
			return 0, 0, err
		}
		views = append(views, v)
	}
	_, err = textindex.Merge(t.Context(), out, views...)
	for _, r := range readers {
		calls, read = calls+r.calls, read+r.bytes
	}
	return calls, read, err
}

// Joining reads segments once, in pieces as large as sealed ones, however small its
// cache is, and writes what a builder would have written. A page that is damaged is
// noticed whichever of its piece was asked for.
func TestJoiningReadsSegmentsOnce(t *testing.T) {
	t.Parallel()
	passages := benchPassages(6000)
	var parts [3][]textindex.Passage
	for i, p := range passages {
		parts[i/10%3] = append(parts[i/10%3], p)
	}
	var built [][]byte
	size := int64(0)
	for _, part := range parts {
		built = append(built, build(t, "c", part))
		size += int64(len(built[len(built)-1]))
	}
	var out bytes.Buffer
	calls, read, err := joinOf(t, &out, built...)
	if err != nil || !bytes.Equal(out.Bytes(), build(t, "c", passages)) {
		t.Fatalf("joined %d bytes, %v", out.Len(), err)
	}
	if read > size*5/4 || calls > size/(48<<10) {
		t.Errorf("%d bytes are read in %d calls, of %d", read, calls, size)
	}
	for at := 100; at < len(built[1])/2; at += 40 << 10 {
		damaged := bytes.Clone(built[1])
		damaged[at] ^= 1
		if _, _, err := joinOf(t, io.Discard, built[0], damaged); !errors.Is(err, segment.ErrCorrupt) {
			t.Fatalf("damaged at %d: %v", at, err)
		}
	}
}

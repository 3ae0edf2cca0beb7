package talksearch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// maxFresh bounds what is kept of segments that are in no index yet, in bytes.
const maxFresh = 16 << 20

// fresh keeps the segments of what the index does not have yet, in memory alone. To make
// one of a long message takes a hundred times as long as to search it, and people search
// for more than one thing. The zero value keeps none yet.
type fresh struct {
	mu   sync.Mutex
	kept []freshSegment // one of an owner; the one that was needed last is the last
}

type freshSegment struct {
	owner string
	of    [sha256.Size]byte
	size  int
	view  *textindex.View
}

// get returns the owner's segment of something, which it makes unless it is kept. The
// view is nil when there is nothing to search.
func (f *fresh) get(owner string, of [sha256.Size]byte,
	build func() (plain []byte, err error),
) (*textindex.View, error) {
	if s, ok := f.take(owner, of); ok {
		return s.view, nil
	}
	plain, err := build()
	if err != nil || len(plain) == 0 {
		return nil, err
	}
	segment, err := textindex.OpenBytes(plain)
	if err != nil {
		return nil, err
	}
	view, err := segment.Without(nil)
	if err != nil {
		return nil, err
	}
	f.keep(freshSegment{owner: owner, of: of, size: len(plain), view: view})
	return view, nil
}

// take returns what is kept of an owner, if it is of that; else it is of no use any more.
func (f *fresh) take(owner string, of [sha256.Size]byte) (s freshSegment, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.kept, func(s freshSegment) bool { return s.owner == owner })
	if at < 0 {
		return s, false
	}
	s = f.kept[at]
	f.kept = slices.Delete(f.kept, at, at+1)
	if s.of != of {
		return s, false
	}
	f.kept = append(f.kept, s)
	return s, true
}

func (f *fresh) keep(s freshSegment) {
	if s.size > maxFresh {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(slices.DeleteFunc(f.kept, func(k freshSegment) bool { return k.owner == s.owner }), s)
	size, from := 0, len(f.kept)
	for from > 0 && size+f.kept[from-1].size <= maxFresh {
		from--
		size += f.kept[from].size
	}
	f.kept = slices.Delete(f.kept, 0, from)
}

// freshView is what is to be searched beside the index: nil when there is nothing.
func (s *Service) freshView(owner string, at Stand) (*textindex.View, error) {
	return s.fresh.get(owner, digest(at), func() ([]byte, error) {
		b, _, err := build(owner, at, len(at.Talks))
		if err != nil || b.Passages() == 0 {
			return nil, err
		}
		var plain bytes.Buffer
		if _, err := b.WriteTo(&plain); err != nil {
			return nil, fmt.Errorf("build index: %w", err)
		}
		return plain.Bytes(), nil
	})
}

// digest tells apart what build makes a segment of.
func digest(at Stand) (sum [sha256.Size]byte) {
	h := sha256.New()
	put := func(texts ...string) {
		for _, t := range texts {
			_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(t))))
			_, _ = h.Write([]byte(t))
		}
	}
	for _, t := range at.Talks {
		if t.titleWaits() {
			put(t.ID, t.Title)
		}
	}
	put("")
	for _, m := range at.Unread {
		put(nameOf(m.Turn, m.Seq), m.Text)
	}
	h.Sum(sum[:0])
	return sum
}

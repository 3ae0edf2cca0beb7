// Package walscan reads what was committed in SQLite's write-ahead log, as the file
// format's documentation describes it (sqlite.org/fileformat2.html, section 4).
//
// It promises to return pages of whole transactions only, each checked by the log's
// own running sum, and never to step over something: a log that was begun anew
// behind the reader's back is ErrLost. It writes nothing and takes no lock; who scans
// keeps others from restarting the log meanwhile.
package walscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
)

// The sizes of the format.
const (
	headerSize = 32
	frameSize  = 24 // before each page
)

const (
	magic   = 0x377f0682 // with its lowest bit: sums are big-endian
	version = 3007000
)

// mostFrames bounds one scan. A transaction that is longer is taken whole.
const mostFrames = 1 << 14

// ErrLost says that the log is not the one that the position belongs to.
var ErrLost = errors.New("the database's log was begun anew before it was read")

// Position is how far a log was read. The zero value is before its first frame,
// whatever log it is.
type Position struct {
	Salt1  uint32 `json:"salt1"`
	Salt2  uint32 `json:"salt2"`
	Frames uint32 `json:"frames"`
	Sum1   uint32 `json:"sum1"`
	Sum2   uint32 `json:"sum2"`
	// Known says that the salts count.
	Known bool `json:"known"`
	// Over says that all of this log is in the database file, so that the next writer
	// may begin it anew.
	Over bool `json:"over"`
}

// Found is what a scan found.
type Found struct {
	// Next is the position behind it.
	Next Position
	// Pages are the newest version of each changed page: where it is in the log.
	Pages map[uint32]int64
	// PageSize and Size, in pages, are those of the database behind it.
	PageSize, Size uint32
	// More says that the scan ended before the log did.
	More bool
}

// header is what the log begins with.
type header struct {
	order        binary.ByteOrder
	pageSize     uint32
	salt1, salt2 uint32
	sum1, sum2   uint32
}

func readHeader(log io.ReaderAt) (header, bool, error) {
	var b [headerSize]byte
	n, err := log.ReadAt(b[:], 0)
	if errors.Is(err, io.EOF) && n < headerSize {
		return header{}, false, nil // empty, or its first header is on its way
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return header{}, false, fmt.Errorf("read the database's log: %w", err)
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	h := header{
		order: binary.LittleEndian, pageSize: word(8),
		salt1: word(16), salt2: word(20), sum1: word(24), sum2: word(28),
	}
	if word(0)&^1 != magic || word(4) != version {
		return header{}, false, nil // on its way
	}
	if word(0)&1 == 1 {
		h.order = binary.BigEndian
	}
	if h.pageSize < 512 || h.pageSize > 65536 || h.pageSize&(h.pageSize-1) != 0 {
		return header{}, false, nil
	}
	if s1, s2 := sum(h.order, 0, 0, b[:24]); s1 != h.sum1 || s2 != h.sum2 {
		return header{}, false, nil
	}
	return h, true, nil
}

// start returns where to read on in the log with this header.
func (p Position) start(h header) (Position, error) {
	fresh := Position{Salt1: h.salt1, Salt2: h.salt2, Sum1: h.sum1, Sum2: h.sum2, Known: true}
	switch {
	case !p.Known:
		return fresh, nil
	case p.Salt1 == h.salt1 && p.Salt2 == h.salt2:
		return p, nil
	case p.Over && p.Salt1+1 == h.salt1:
		return fresh, nil
	}
	return p, ErrLost
}

// Scan reads what was committed behind the position. Nothing new leaves Pages empty.
func Scan(log io.ReaderAt, from Position) (Found, error) {
	h, ok, err := readHeader(log)
	if err != nil {
		return Found{}, err
	}
	if !ok {
		if from.Known && !from.Over && from.Frames > 0 {
			return Found{}, ErrLost
		}
		return Found{Next: from}, nil
	}
	at, err := from.start(h)
	if err != nil {
		return Found{}, err
	}
	found := Found{Next: from, Pages: map[uint32]int64{}, PageSize: h.pageSize}
	frame := make([]byte, frameSize+int(h.pageSize))
	open := map[uint32]int64{} // of the transaction that is being read
	for n := 0; ; n++ {
		offset := headerSize + int64(at.Frames)*int64(len(frame))
		if n >= mostFrames && len(open) == 0 {
			found.More = true
			return found, nil
		}
		got, err := log.ReadAt(frame, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return Found{}, fmt.Errorf("read the database's log: %w", err)
		}
		page, size, ok := at.next(h, frame[:got])
		if !ok {
			return found, nil
		}
		open[page] = offset + frameSize
		if size == 0 {
			continue
		}
		maps.Copy(found.Pages, open)
		clear(open)
		found.Next, found.Size = at, size
	}
}

// next moves over a frame that is whole and belongs here.
func (p *Position) next(h header, frame []byte) (page, size uint32, ok bool) {
	if len(frame) < frameSize+int(h.pageSize) {
		return 0, 0, false
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(frame[at:]) }
	if word(0) == 0 || word(8) != h.salt1 || word(12) != h.salt2 {
		return 0, 0, false
	}
	s1, s2 := sum(h.order, p.Sum1, p.Sum2, frame[:8])
	s1, s2 = sum(h.order, s1, s2, frame[frameSize:])
	if s1 != word(16) || s2 != word(20) {
		return 0, 0, false
	}
	p.Sum1, p.Sum2, p.Over = s1, s2, false
	p.Frames++
	return word(0), word(4), true
}

// Holds reports whether the log still has what was read up to the position, or was
// begun anew in a way that lost nothing.
func Holds(log io.ReaderAt, at Position) (bool, error) {
	h, ok, err := readHeader(log)
	if err != nil || !ok {
		return false, err
	}
	from, err := at.start(h)
	if err != nil {
		return false, nil //nolint:nilerr // that is the answer
	}
	if from.Frames == 0 {
		return true, nil
	}
	var b [frameSize]byte
	if _, err := log.ReadAt(b[:], headerSize+int64(from.Frames-1)*int64(frameSize+h.pageSize)); err != nil {
		return false, nil //nolint:nilerr // it is shorter
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	return word(8) == h.salt1 && word(12) == h.salt2 && word(16) == from.Sum1 && word(20) == from.Sum2, nil
}

// sum is the log's running sum.
func sum(order binary.ByteOrder, s1, s2 uint32, b []byte) (uint32, uint32) {
	if order == binary.LittleEndian {
		for ; len(b) >= 8; b = b[8:] {
			s1 += binary.LittleEndian.Uint32(b) + s2
			s2 += binary.LittleEndian.Uint32(b[4:]) + s1
		}
		return s1, s2
	}
	for ; len(b) >= 8; b = b[8:] {
		s1 += binary.BigEndian.Uint32(b) + s2
		s2 += binary.BigEndian.Uint32(b[4:]) + s1
	}
	return s1, s2
}

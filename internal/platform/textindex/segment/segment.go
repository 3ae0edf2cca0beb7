package segment

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Segment is an immutable part of a collection's index. It is safe for
// concurrent use.
type Segment struct {
	from      source
	contents  contents
	terms     termIndex
	storeEnds []uint64

	// What only some queries need is read when one does.
	documents lazily[*documentTable]
	grams     lazily[map[string]section]
}

// lazily holds a value that is read once. A failure is not kept: the store may
// answer the next time.
type lazily[T any] struct {
	mu    sync.Mutex
	have  bool
	value T
}

func (l *lazily[T]) get(read func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		return l.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	l.value, l.have = value, true
	return value, nil
}

// defaultCache is what a segment keeps of its pages when Open is given no cache.
const defaultCache = 8 << 20

// Open reads a segment through r, page by page as queries need them. Pages that
// were read lately are kept in the cache; without one the segment has a small
// cache of its own.
func Open(r io.ReaderAt, size int64, cache *Cache) (*Segment, error) {
	footer, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	if cache == nil {
		cache = NewCache(defaultCache)
	}
	return openSegment(&pagedSource{from: r, size: footer.pages, sums: footer.sums, cache: cache}, footer.contents)
}

// OpenBytes reads a segment that is in memory, and checks all of it at once.
func OpenBytes(data []byte) (*Segment, error) {
	footer, err := readFooter(bytesReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	pages := data[:footer.pages]
	for i := 0; i < len(footer.sums); i += 4 {
		page := pages[:min(pageSize, len(pages))]
		if checksum(page) != binary.LittleEndian.Uint32(footer.sums[i:]) {
			return nil, corrupt(fmt.Sprintf("page %d does not have its checksum", i/4))
		}
		pages = pages[len(page):]
	}
	return openSegment(memorySource(data[:footer.pages]), footer.contents)
}

type bytesReader []byte

func (b bytesReader) ReadAt(into []byte, at int64) (int, error) {
	if at < 0 || at > int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(into, b[at:])
	if n < len(into) {
		return n, io.EOF
	}
	return n, nil
}

type footer struct {
	pages    uint64 // the bytes before the tail
	sums     []byte
	contents contents
}

func readFooter(r io.ReaderAt, size int64) (footer, error) {
	var f footer
	if size < int64(len(magic)+footerSize) {
		return f, corrupt("it is too short")
	}
	end := make([]byte, footerSize)
	if n, err := r.ReadAt(end, size-int64(footerSize)); n < len(end) {
		return f, fmt.Errorf("read the end of a search segment: %w", err)
	}
	if string(end[footerSize-len(magic):]) != magic {
		return f, corrupt("it does not end as a segment does")
	}
	f.pages = binary.LittleEndian.Uint64(end)
	tailSize, aboutSize := binary.LittleEndian.Uint32(end[8:]), binary.LittleEndian.Uint32(end[12:])
	if tailSize > maxTail || aboutSize > tailSize || f.pages > uint64(size) ||
		f.pages+uint64(tailSize)+uint64(footerSize) != uint64(size) {
		return f, corrupt("its footer is wrong")
	}
	tail := make([]byte, tailSize)
	if n, err := r.ReadAt(tail, int64(f.pages)); n < len(tail) { //nolint:gosec // smaller than size
		return f, fmt.Errorf("read the tail of a search segment: %w", err)
	}
	sum := binary.LittleEndian.Uint32(end[16:])
	if checksum(slices.Concat(tail, end[:16])) != sum {
		return f, corrupt("its tail does not have its checksum")
	}
	f.sums = tail[aboutSize:]
	if uint64(len(f.sums)) != 4*((f.pages+pageSize-1)/pageSize) {
		return f, corrupt("it has too few or too many checksums")
	}
	var err error
	f.contents, err = decodeContents(tail[:aboutSize], f.pages)
	return f, err
}

func openSegment(from source, about contents) (*Segment, error) {
	s := &Segment{from: from, contents: about}
	start, err := from.slice(0, uint64(len(magic)))
	if err != nil {
		return nil, err
	}
	if string(start) != magic {
		return nil, corrupt("it does not begin as a segment does")
	}
	index, err := s.section(storeIndexSection)
	if err != nil {
		return nil, err
	}
	if s.storeEnds, err = decodeStoreIndex(index, about.passages, about.sections[storeSection].length); err != nil {
		return nil, err
	}
	if index, err = s.section(termIndexSection); err != nil {
		return nil, err
	}
	s.terms, err = decodeTermIndex(index, about.terms, about.sections[dictionarySection].length)
	return s, err
}

func (s *Segment) section(which int) ([]byte, error) {
	at := s.contents.sections[which]
	return s.from.slice(at.offset, at.length)
}

// Collection names the collection that the segment is a part of.
func (s *Segment) Collection() string { return s.contents.collection }

// Passages counts what is in the segment.
func (s *Segment) Passages() int { return int(s.contents.passages) } //nolint:gosec // at most 2^31

// TextBytes is the length of all passages' texts.
func (s *Segment) TextBytes() int64 { return int64(s.contents.textBytes) } //nolint:gosec // what was written

// Memory is about how many bytes an open segment holds, with what it reads when a query
// needs it and without pages, which are the cache's.
func (s *Segment) Memory() int64 {
	n := 0
	switch from := s.from.(type) {
	case memorySource:
		n = len(from)
	case *pagedSource:
		n = len(from.sums)
	}
	n += 8*len(s.storeEnds) + (16+4)*len(s.terms.firsts)
	for _, first := range s.terms.firsts {
		n += len(first)
	}
	// Decoded, names have headers, and trigrams are in a map.
	at := s.contents.sections
	//nolint:gosec // lengths within a file
	return int64(n) + int64(at[documentsSection].length)*4 + int64(at[gramIndexSection].length)*12
}

// Documents names the documents in the segment, in order.
func (s *Segment) Documents() ([]string, error) {
	table, err := s.documentTable()
	if err != nil {
		return nil, err
	}
	return append([]string(nil), table.names...), nil
}

// CountDocuments counts the documents in the segment.
//
//nolint:gosec // at most as many as passages
func (s *Segment) CountDocuments() int { return int(s.contents.documents) }

// EachDocument calls visit for the documents in the segment, in order, with where their
// passages are: the first, and the one after the last. It ends with the first error.
func (s *Segment) EachDocument(visit func(name string, from, to uint32) error) error {
	table, err := s.documentTable()
	if err != nil {
		return err
	}
	for i, name := range table.names {
		if err := visit(name, table.firsts[i], table.end(i)); err != nil {
			return err
		}
	}
	return nil
}

// Span returns where the passages of a document are: the first, and the one after
// the last.
func (s *Segment) Span(document string) (from, to uint32, ok bool, err error) {
	table, err := s.documentTable()
	if err != nil {
		return 0, 0, false, err
	}
	from, to, ok = table.span(document)
	return from, to, ok, nil
}

// SpanAround returns where the passages of the document are that a passage belongs
// to: the first, and the one after the last.
func (s *Segment) SpanAround(passage uint32) (from, to uint32, err error) {
	table, err := s.documentTable()
	if err != nil {
		return 0, 0, err
	}
	if uint64(passage) >= s.contents.passages {
		return 0, 0, corrupt("it points to a passage that it does not have")
	}
	from, to = table.around(passage)
	return from, to, nil
}

func (s *Segment) documentTable() (*documentTable, error) {
	return s.documents.get(func() (*documentTable, error) {
		data, err := s.section(documentsSection)
		if err != nil {
			return nil, err
		}
		return decodeDocuments(data, s.contents.documents, s.contents.passages)
	})
}

// gramIndex says where the list of each trigram is.
func (s *Segment) gramIndex() (map[string]section, error) {
	return s.grams.get(func() (map[string]section, error) {
		data, err := s.section(gramIndexSection)
		if err != nil {
			return nil, err
		}
		lists := s.contents.sections[gramsSection]
		out := make(map[string]section)
		d := decoder{data: data}
		at := uint64(0)
		for d.at < len(data) && !d.failed {
			gram := d.text(16)
			n := d.number()
			if n > lists.length-at {
				return nil, corrupt("the index of trigrams is wrong")
			}
			out[gram] = section{lists.offset + at, n}
			at += n
		}
		if d.failed {
			return nil, corrupt("the index of trigrams is wrong")
		}
		return out, nil
	})
}

// Tie returns the number that tells a passage from others with its score.
func (s *Segment) Tie(passage uint32) (uint32, error) {
	at := s.contents.sections[tiesSection]
	data, err := s.from.slice(at.offset+4*uint64(passage), 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(data), nil
}

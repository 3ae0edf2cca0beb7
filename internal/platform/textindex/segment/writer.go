package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// segmentWriter writes a segment from passages in order of their keys, and then
// from terms in order with their postings.
type segmentWriter struct {
	out     io.Writer
	written uint64
	page    []byte
	sums    []byte

	contents contents
	started  uint64 // where the section began

	encoded    []byte // the passage that is being added
	store      []byte // passages of the block that is being filled
	inStore    int
	storeIndex []byte
	documents  []byte
	last       Key
	ties       []byte

	dictionary  []byte // all blocks so far
	termIndex   []byte
	blockStart  int
	inBlock     int
	lastTerm    string
	lastFirst   string
	grams       map[analyse.Gram]*gramList
	blockGrams  []analyse.Gram
	blockNumber uint64
	packed      []byte
	postings    postingsEncoder
}

// gramList are the dictionary blocks that have a trigram, as deltas.
type gramList struct {
	last uint64
	data []byte
}

func newSegmentWriter(out io.Writer, collection string) (*segmentWriter, error) {
	w := &segmentWriter{out: out, page: make([]byte, 0, pageSize), grams: make(map[analyse.Gram]*gramList)}
	w.contents.collection = collection
	if err := w.write([]byte(magic)); err != nil {
		return nil, err
	}
	w.beginSection()
	return w, nil
}

// write fills pages and takes their checksums.
func (w *segmentWriter) write(data []byte) error {
	w.written += uint64(len(data))
	for len(data) > 0 {
		n := min(len(data), pageSize-len(w.page))
		w.page = append(w.page, data[:n]...)
		data = data[n:]
		if len(w.page) == pageSize {
			if err := w.flushPage(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *segmentWriter) flushPage() error {
	if len(w.page) == 0 {
		return nil
	}
	w.sums = binary.LittleEndian.AppendUint32(w.sums, checksum(w.page))
	_, err := w.out.Write(w.page)
	w.page = w.page[:0]
	if err != nil {
		return fmt.Errorf("write search segment: %w", err)
	}
	return nil
}

func (w *segmentWriter) beginSection() { w.started = w.written }

func (w *segmentWriter) endSection(which int) {
	w.contents.sections[which] = section{w.started, w.written - w.started}
	w.started = w.written
}

func (w *segmentWriter) writeSection(which int, data []byte) error {
	if err := w.write(data); err != nil {
		return err
	}
	w.endSection(which)
	return nil
}

// addPassage stores the next passage. Keys only ever grow.
func (w *segmentWriter) addPassage(p Passage) error {
	w.encoded = appendStored(w.encoded[:0], p)
	return w.addStored(storedPassage{p.Document, p.Number, len(p.Text), w.encoded})
}

// addStored is addPassage for one that is encoded already.
func (w *segmentWriter) addStored(p storedPassage) error {
	key := Key{w.contents.collection, p.document, p.number}
	if w.contents.passages > 0 && w.last.Compare(key) >= 0 {
		return fmt.Errorf("%w: passage %d of document %q is there twice", ErrPassage, p.number, p.document)
	}
	if w.contents.passages >= maxPassages {
		return errors.New("a search segment cannot hold more passages")
	}
	if w.contents.passages == 0 || w.last.Document != p.document {
		shared := commonPrefix(w.last.Document, p.document)
		w.documents = binary.AppendUvarint(w.documents, uint64(shared)) //nolint:gosec // not negative
		w.documents = appendString(w.documents, p.document[shared:])
		w.documents = binary.AppendUvarint(w.documents, w.contents.passages)
		w.contents.documents++
	}
	w.last = key
	w.ties = binary.LittleEndian.AppendUint32(w.ties, key.tie())
	w.contents.passages++
	w.contents.textBytes += uint64(p.text) //nolint:gosec // not negative
	w.store = append(w.store, p.encoded...)
	if w.inStore++; w.inStore == blockPassages {
		return w.flushStore()
	}
	return nil
}

func (w *segmentWriter) flushStore() error {
	if w.inStore == 0 {
		return nil
	}
	w.packed = s2.EncodeBetter(w.packed[:cap(w.packed)], w.store)
	if err := w.write(w.packed); err != nil {
		return err
	}
	w.storeIndex = binary.AppendUvarint(w.storeIndex, uint64(len(w.packed)))
	w.store, w.inStore = w.store[:0], 0
	return nil
}

// endPassages closes the store; terms follow.
func (w *segmentWriter) endPassages() error {
	if err := w.flushStore(); err != nil {
		return err
	}
	w.endSection(storeSection)
	return nil
}

// addTerm writes a term whose postings were given to w.postings since the last
// one. Terms only ever grow. A term without postings is left out.
func (w *segmentWriter) addTerm(term string) error {
	p := &w.postings
	if p.total == 0 {
		return nil
	}
	p.finish()
	if w.inBlock == blockTerms {
		w.closeTermBlock()
	}
	if w.inBlock == 0 {
		w.blockStart = len(w.dictionary)
		shared := commonPrefix(w.lastFirst, term)
		w.termIndex = binary.AppendUvarint(w.termIndex, uint64(shared)) //nolint:gosec // not negative
		w.termIndex = appendString(w.termIndex, term[shared:])
		w.lastFirst = term
		w.dictionary = binary.AppendUvarint(w.dictionary, w.written-w.started)
		w.lastTerm = ""
	}
	shared := commonPrefix(w.lastTerm, term)
	w.dictionary = binary.AppendUvarint(w.dictionary, uint64(shared)) //nolint:gosec // not negative
	w.dictionary = appendString(w.dictionary, term[shared:])
	w.dictionary = binary.AppendUvarint(w.dictionary, uint64(p.total)) //nolint:gosec // not negative
	w.dictionary = append(w.dictionary, p.best)
	for _, part := range [][]byte{p.directory, p.docs, p.positions} {
		w.dictionary = binary.AppendUvarint(w.dictionary, uint64(len(part)))
		if err := w.write(part); err != nil {
			return err
		}
	}
	w.lastTerm = term
	w.inBlock++
	w.contents.terms++
	if correctable(term) {
		w.blockGrams = analyse.AppendGrams(w.blockGrams, term)
	}
	p.reset()
	return nil
}

func (w *segmentWriter) closeTermBlock() {
	w.termIndex = binary.AppendUvarint(w.termIndex, uint64(len(w.dictionary)-w.blockStart)) //nolint:gosec // not negative
	slices.Sort(w.blockGrams)
	for _, gram := range slices.Compact(w.blockGrams) {
		list := w.grams[gram]
		if list == nil {
			list = &gramList{}
			w.grams[gram] = list
		}
		list.data = binary.AppendUvarint(list.data, w.blockNumber-list.last)
		list.last = w.blockNumber
	}
	w.blockGrams = w.blockGrams[:0]
	w.blockNumber++
	w.inBlock = 0
}

// finish writes what was gathered, the tail and the footer.
func (w *segmentWriter) finish() (int64, error) {
	if w.inBlock > 0 {
		w.closeTermBlock()
	}
	w.endSection(postingsSection)
	var grams, gramIndex []byte
	for _, gram := range slices.Sorted(maps.Keys(w.grams)) {
		gramIndex = appendString(gramIndex, gram.String())
		gramIndex = binary.AppendUvarint(gramIndex, uint64(len(w.grams[gram].data)))
		grams = append(grams, w.grams[gram].data...)
	}
	for _, s := range []struct {
		which int
		data  []byte
	}{
		{dictionarySection, w.dictionary},
		{storeIndexSection, w.storeIndex},
		{termIndexSection, w.termIndex},
		{documentsSection, w.documents},
		{gramsSection, grams},
		{gramIndexSection, gramIndex},
		{tiesSection, w.ties},
	} {
		if err := w.writeSection(s.which, s.data); err != nil {
			return 0, err
		}
	}
	if err := w.flushPage(); err != nil {
		return 0, err
	}
	about := w.contents.encode()
	tail := slices.Concat(about, w.sums)
	footer := binary.LittleEndian.AppendUint64(nil, w.written)
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(tail)))  //nolint:gosec // far smaller
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(about))) //nolint:gosec // far smaller
	footer = binary.LittleEndian.AppendUint32(footer, checksum(slices.Concat(tail, footer)))
	footer = append(footer, magic...)
	if len(tail) > maxTail {
		return 0, errors.New("the search segment is too large")
	}
	for _, data := range [][]byte{tail, footer} {
		if _, err := w.out.Write(data); err != nil {
			return 0, fmt.Errorf("write search segment: %w", err)
		}
	}
	return int64(w.written) + int64(len(tail)+len(footer)), nil //nolint:gosec // far smaller
}

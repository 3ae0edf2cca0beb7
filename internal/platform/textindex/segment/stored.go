package segment

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// languageCodes are the languages as they are stored.
var languageCodes = []analyse.Language{
	analyse.Undetermined, analyse.English, analyse.French, analyse.Spanish, analyse.Portuguese,
	analyse.Swahili, analyse.Arabic, analyse.Hindi,
}

func appendStored(out []byte, p Passage) []byte {
	out = append(out, byte(max(slices.Index(languageCodes, p.Language), 0))) //nolint:gosec // a few languages
	out = binary.AppendUvarint(out, uint64(p.Number))
	for _, s := range []string{p.Document, p.Title, p.Headings, p.Text} {
		out = appendString(out, s)
	}
	return appendString(out, string(p.Meta))
}

func decodeStored(d *decoder) Passage {
	var p Passage
	if code := int(d.byte()); code < len(languageCodes) {
		p.Language = languageCodes[code]
	} else {
		d.fail()
	}
	p.Number = uint32(d.count(1<<32 - 1)) //nolint:gosec // checked by count
	p.Document = d.text(MaxName)
	p.Title, p.Headings = d.text(MaxHead), d.text(MaxHead)
	p.Text = d.text(MaxText)
	if meta := d.bytes(d.count(MaxMeta)); len(meta) > 0 {
		p.Meta = slices.Clone(meta)
	}
	return p
}

// storedPassage is a passage as it is stored, with what is asked of it when it moves
// to another segment.
type storedPassage struct {
	document string
	number   uint32
	text     int // bytes
	encoded  []byte
}

// nextStored steps over a passage and keeps it encoded. Passages of one document follow
// each other, so most take over the name of the one before.
func nextStored(d *decoder, before string) storedPassage {
	begin := d.at
	if int(d.byte()) >= len(languageCodes) {
		d.fail()
	}
	p := storedPassage{document: before, number: uint32(d.count(1<<32 - 1))} //nolint:gosec // checked by count
	if name := d.bytes(d.count(MaxName)); string(name) != before {
		p.document = string(name)
	}
	d.bytes(d.count(MaxHead))
	d.bytes(d.count(MaxHead))
	p.text = d.count(MaxText)
	d.bytes(p.text)
	d.bytes(d.count(MaxMeta))
	if !d.failed {
		p.encoded = d.data[begin:d.at]
	}
	return p
}

// skipStored steps over a passage.
func skipStored(d *decoder) {
	d.byte()
	d.number()
	for range 5 { // document, title, headings, text, meta
		d.bytes(d.count(MaxText))
	}
}

// unpackBlock returns the bytes of a block of passages, in the memory of another if
// they fit.
func (s *Segment) unpackBlock(block int, into []byte) ([]byte, error) {
	begin := uint64(0)
	if block > 0 {
		begin = s.storeEnds[block-1]
	}
	in := s.contents.sections[storeSection]
	packed, err := s.from.slice(in.offset+begin, s.storeEnds[block]-begin)
	if err != nil {
		return nil, err
	}
	if size, err := s2.DecodedLen(packed); err != nil || size > maxStoreBlock {
		return nil, corrupt("a block of passages is too large")
	}
	data, err := s2.Decode(into[:cap(into)], packed)
	if err != nil {
		return nil, corrupt("a block of passages cannot be unpacked")
	}
	return data, nil
}

// storedBlock is a block of passages, each still encoded.
type storedBlock struct {
	data     []byte
	passages []storedPassage
}

// read takes another block into the same memory.
func (b *storedBlock) read(s *Segment, block int) error {
	var err error
	if b.data, err = s.unpackBlock(block, b.data); err != nil {
		return err
	}
	before := ""
	if n := len(b.passages); n > 0 {
		before = b.passages[n-1].document
	}
	b.passages = b.passages[:0]
	d := decoder{data: b.data}
	for range min(blockPassages, s.Passages()-block*blockPassages) {
		p := nextStored(&d, before)
		before = p.document
		b.passages = append(b.passages, p)
	}
	if d.failed || d.at != len(b.data) {
		return corrupt("a block of passages is wrong")
	}
	return nil
}

// Passage reads one passage by its place in the segment.
func (s *Segment) Passage(at uint32) (Passage, error) {
	if uint64(at) >= s.contents.passages {
		return Passage{}, corrupt("it points to a passage that it does not have")
	}
	data, err := s.unpackBlock(int(at/blockPassages), nil)
	if err != nil {
		return Passage{}, err
	}
	d := decoder{data: data}
	for range at % blockPassages {
		skipStored(&d)
	}
	p := decodeStored(&d)
	if d.failed {
		return Passage{}, corrupt("a block of passages is wrong")
	}
	return p, nil
}

func decodeStoreIndex(data []byte, passages, length uint64) ([]uint64, error) {
	blocks := (passages + blockPassages - 1) / blockPassages
	if blocks > uint64(len(data)) {
		return nil, corrupt("the index of passages is too short")
	}
	ends := make([]uint64, blocks)
	d := decoder{data: data}
	end := uint64(0)
	for i := range ends {
		n := d.number()
		if d.failed || n > length-end {
			return nil, corrupt("the index of passages is wrong")
		}
		end += n
		ends[i] = end
	}
	if d.at != len(data) || end != length {
		return nil, corrupt("the index of passages does not fit the store")
	}
	return ends, nil
}

// documentTable has the documents in order and where their passages begin.
type documentTable struct {
	names  []string
	firsts []uint32
	total  uint32
}

func decodeDocuments(data []byte, documents, passages uint64) (*documentTable, error) {
	if documents > uint64(len(data)) {
		return nil, corrupt("the table of documents is too short")
	}
	//nolint:gosec // at most 2^31
	t := &documentTable{names: make([]string, documents), firsts: make([]uint32, documents), total: uint32(passages)}
	d := decoder{data: data}
	last, before := "", uint64(0)
	for i := range t.names {
		name := last[:d.count(len(last))] + d.text(MaxName)
		first := d.number()
		if d.failed || len(name) > MaxName || i > 0 && (name <= last || first <= before) || i == 0 && first != 0 ||
			first >= passages {
			return nil, corrupt("the table of documents is wrong")
		}
		t.names[i], t.firsts[i] = strings.Clone(name), uint32(first) //nolint:gosec // checked above
		last, before = name, first
	}
	if d.at != len(data) {
		return nil, corrupt("the table of documents is too long")
	}
	return t, nil
}

// span returns the passages of a document: the first, and the one after the last.
func (t *documentTable) span(document string) (uint32, uint32, bool) {
	i, ok := slices.BinarySearch(t.names, document)
	if !ok {
		return 0, 0, false
	}
	return t.firsts[i], t.end(i), true
}

// around returns the passages of the document that a passage belongs to.
func (t *documentTable) around(passage uint32) (uint32, uint32) {
	i, exact := slices.BinarySearch(t.firsts, passage)
	if !exact {
		i--
	}
	return t.firsts[i], t.end(i)
}

func (t *documentTable) end(i int) uint32 {
	if i+1 < len(t.firsts) {
		return t.firsts[i+1]
	}
	return t.total
}

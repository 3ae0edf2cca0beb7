package segment

import (
	"encoding/binary"
	"slices"
)

// The postings of a term have three parts. The directory has, for each block of
// 128 postings, its last passage, its best impact and the lengths of its two
// other parts. The second has passages as differences, then impacts, a byte
// each. The third has positions: how many there are in each field, and their
// differences.

// postingsEncoder gathers the postings of one term.
type postingsEncoder struct {
	directory, docs, positions []byte

	total   int
	best    uint8
	last    uint32 // the last passage, plus one
	before  uint32 // the last passage of the block before, plus one
	impacts []byte
	docsAt  int // where the block began
	posAt   int
}

// add takes the next posting, with its positions already encoded.
func (e *postingsEncoder) add(passage uint32, impact uint8, positions []byte) {
	e.docs = binary.AppendUvarint(e.docs, uint64(passage-e.last))
	e.last = passage + 1
	e.impacts = append(e.impacts, impact)
	e.positions = append(e.positions, positions...)
	e.total++
	if len(e.impacts) == blockPostings {
		e.finish()
	}
}

// finish closes the block that is being filled.
func (e *postingsEncoder) finish() {
	if len(e.impacts) == 0 {
		return
	}
	best := uint8(0)
	for _, i := range e.impacts {
		best = max(best, i)
	}
	e.best = max(e.best, best)
	e.docs = append(e.docs, e.impacts...)
	e.directory = binary.AppendUvarint(e.directory, uint64(e.last-e.before))
	e.directory = append(e.directory, best)
	e.directory = binary.AppendUvarint(e.directory, uint64(len(e.docs)-e.docsAt))     //nolint:gosec // not negative
	e.directory = binary.AppendUvarint(e.directory, uint64(len(e.positions)-e.posAt)) //nolint:gosec // not negative
	e.before = e.last
	e.docsAt, e.posAt = len(e.docs), len(e.positions)
	e.impacts = e.impacts[:0]
}

func (e *postingsEncoder) reset() {
	*e = postingsEncoder{directory: e.directory[:0], docs: e.docs[:0], positions: e.positions[:0], impacts: e.impacts[:0]}
}

// appendPositions encodes where a term stands in a passage.
func appendPositions(out []byte, places [Fields][]uint32) []byte {
	body, others := uint64(len(places[InBody]))<<1, len(places[InTitle])+len(places[InHeadings])
	if others > 0 {
		body |= 1
	}
	out = binary.AppendUvarint(out, body)
	if others > 0 {
		out = binary.AppendUvarint(out, uint64(len(places[InTitle])))
		out = binary.AppendUvarint(out, uint64(len(places[InHeadings])))
	}
	for _, in := range places {
		last := uint32(0)
		for _, at := range in {
			out = binary.AppendUvarint(out, uint64(at-last))
			last = at
		}
	}
	return out
}

// positionCounts reads how many positions a posting has in each field.
func positionCounts(d *decoder) [Fields]int {
	var n [Fields]int
	head := d.number()
	if head>>1 > MaxText {
		d.fail()
		return n
	}
	n[InBody] = int(head >> 1)
	if head&1 == 1 {
		n[InTitle], n[InHeadings] = d.count(MaxHead), d.count(MaxHead)
	}
	return n
}

// skipPositions steps over a posting's positions.
func skipPositions(d *decoder) {
	n := positionCounts(d)
	left := n[InBody] + n[InTitle] + n[InHeadings]
	for left > 0 && d.at < len(d.data) {
		if d.data[d.at] < 0x80 {
			left--
		}
		d.at++
	}
	if left > 0 {
		d.fail()
	}
}

// readPositions appends a posting's positions to those of each field.
func readPositions(d *decoder, into *[Fields][]uint32) {
	n := positionCounts(d)
	for f := range into {
		last := uint64(0)
		for range n[f] {
			if d.failed {
				return
			}
			last += d.number()
			into[f] = append(into[f], uint32(last)) //nolint:gosec // a wrong number is a wrong place and no more
		}
	}
}

// blockInfo is what the directory says of a block.
type blockInfo struct {
	last      uint32
	best      uint8
	count     uint8 // postings less one
	docsAt    uint32
	posAt     uint32
	positions uint32 // bytes
}

// NoPassage is where a reader stands at the end.
const NoPassage = ^uint32(0)

// Postings reads the postings of one term in order.
type Postings struct {
	from      source
	entry     TermEntry
	blocks    []blockInfo
	docsStart uint64
	posStart  uint64

	block   int // the one that is decoded, or -1
	at      int
	n       int
	docs    [blockPostings]uint32
	impacts [blockPostings]uint8
	// Doc is the passage where the reader stands: NoPassage at the end. Before the
	// first Seek it means nothing.
	Doc uint32
}

// open reads the directory of a term and stands before its first posting. It takes
// over the memory of the term before: joining opens every term of every segment.
func (p *Postings) open(from source, entry TermEntry, passages uint64) error {
	data, err := from.slice(entry.offset, entry.directory)
	if err != nil {
		return err
	}
	p.from, p.entry = from, entry
	p.docsStart, p.posStart = entry.offset+entry.directory, entry.offset+entry.directory+entry.docs
	p.Rewind()
	want := (int(entry.DF) + blockPostings - 1) / blockPostings
	if want > len(data) {
		return corrupt("a directory of postings is too short")
	}
	p.blocks = slices.Grow(p.blocks[:0], want)[:want]
	d := decoder{data: data}
	var last, docsAt, posAt uint64
	for i := range p.blocks {
		last += d.number()
		best := d.byte()
		docs, positions := d.number(), d.number()
		if d.failed || last == 0 || last > passages || docs > entry.docs-docsAt || positions > entry.positions-posAt {
			return corrupt("a directory of postings is wrong")
		}
		count := blockPostings
		if i == want-1 {
			count = int(entry.DF) - i*blockPostings
		}
		p.blocks[i] = blockInfo{last: uint32(last - 1), best: best, count: uint8(count - 1), //nolint:gosec // checked above
			docsAt: uint32(docsAt), posAt: uint32(posAt), positions: uint32(positions)} //nolint:gosec // checked by openTerm
		docsAt += docs
		posAt += positions
	}
	if d.at != len(data) {
		return corrupt("a directory of postings is too long")
	}
	return nil
}

// decode reads a block of passages and impacts.
func (p *Postings) decode(block int) error {
	info := &p.blocks[block]
	end := uint32(p.entry.docs) //nolint:gosec // checked by openTerm
	if block+1 < len(p.blocks) {
		end = p.blocks[block+1].docsAt
	}
	data, err := p.from.slice(p.docsStart+uint64(info.docsAt), uint64(end-info.docsAt))
	if err != nil {
		return err
	}
	n := int(info.count) + 1
	if len(data) < 2*n {
		return corrupt("a block of postings is too short")
	}
	next := uint32(0)
	if block > 0 {
		next = p.blocks[block-1].last + 1
	}
	at := 0
	for i := range n {
		if at >= len(data) {
			return corrupt("a block of postings is too short")
		}
		delta := uint32(data[at])
		if delta < 0x80 {
			at++
		} else {
			v, size := binary.Uvarint(data[at:])
			if size <= 0 || v > maxPassages {
				return corrupt("a block of postings is wrong")
			}
			delta = uint32(v)
			at += size
		}
		doc := next + delta
		if doc < next || doc > info.last {
			return corrupt("a block of postings is out of order")
		}
		p.docs[i] = doc
		next = doc + 1
	}
	if p.docs[n-1] != info.last || at+n != len(data) {
		return corrupt("a block of postings does not fit its directory")
	}
	copy(p.impacts[:n], data[at:])
	p.block, p.n, p.at = block, n, 0
	return nil
}

// Seek moves to the first posting at or after a passage.
func (p *Postings) Seek(passage uint32) error {
	if p.block >= 0 && p.Doc >= passage {
		return nil
	}
	block := max(p.block, 0)
	if block < len(p.blocks) && p.blocks[block].last < passage {
		block = p.findBlock(block+1, passage)
	}
	if block >= len(p.blocks) {
		p.Doc = NoPassage
		return nil
	}
	if block != p.block {
		if err := p.decode(block); err != nil {
			return err
		}
	}
	at := p.at
	for p.docs[at] < passage { // the block's last is at or after it
		at++
	}
	p.at, p.Doc = at, p.docs[at]
	return nil
}

// findBlock returns the first block from one on that reaches a passage: near
// ones by steps that double, since most are near.
func (p *Postings) findBlock(from int, passage uint32) int {
	step, low := 1, from
	for low+step < len(p.blocks) && p.blocks[low+step].last < passage {
		low += step
		step *= 2
	}
	high := min(low+step, len(p.blocks))
	for low < high {
		middle := (low + high) / 2
		if p.blocks[middle].last < passage {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Bound returns the best impact that the term can have from a passage to the end
// of the block in which that would be, and that end. A term that ends before has
// none.
func (p *Postings) Bound(passage uint32) (uint8, uint32) {
	if p.Doc == NoPassage {
		return 0, NoPassage - 1
	}
	block := max(p.block, 0)
	if p.blocks[block].last < passage {
		if block = p.findBlock(block, passage); block >= len(p.blocks) {
			return 0, NoPassage - 1
		}
	}
	return p.blocks[block].best, p.blocks[block].last
}

// Rewind goes back before the first posting.
func (p *Postings) Rewind() { p.block, p.at, p.n, p.Doc = -1, 0, 0, 0 }

// Impact is what the term is worth in the passage where the reader stands.
func (p *Postings) Impact() uint8 { return p.impacts[p.at] }

// Places appends the positions of the posting where the reader stands.
func (p *Postings) Places(into *[Fields][]uint32) error {
	d, err := p.positions()
	if err != nil {
		return err
	}
	for range p.at {
		skipPositions(&d)
	}
	readPositions(&d, into)
	if d.failed {
		return corrupt("positions end early")
	}
	return nil
}

// positions returns a decoder at the first posting of the block.
func (p *Postings) positions() (decoder, error) {
	info := p.blocks[p.block]
	data, err := p.from.slice(p.posStart+uint64(info.posAt), uint64(info.positions))
	return decoder{data: data}, err
}

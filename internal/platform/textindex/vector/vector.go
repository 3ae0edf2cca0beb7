// Package vector keeps the embeddings of passages beside a search index and finds
// the nearest by looking at all of them.
//
// A vector is scaled to one byte per dimension, which changes a cosine by less
// than one per cent. Looking at all of a hundred thousand takes some tens of
// milliseconds, needs no structure to keep in step with deletions, and finds
// exactly the nearest. The package makes no embeddings and does not know where
// they come from: a set names its model, so that vectors of different models are
// never compared.
package vector

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sort"
)

// The bounds of a set.
const (
	MaxDimensions = 4096
	MaxName       = 512 // bytes of a model's or a document's name
	maxVectors    = 1 << 24
)

// The errors of this package.
var (
	ErrVector  = errors.New("vector cannot be kept")
	ErrCorrupt = errors.New("vector set is damaged")
)

const magic = "ctxvec01"

// entry is one passage's vector.
type entry struct {
	document string
	number   uint32
	values   []int8
}

// Builder gathers vectors of one model.
type Builder struct {
	model      string
	dimensions int
	entries    []entry
}

// NewBuilder begins a set of a model's vectors.
func NewBuilder(model string, dimensions int) *Builder {
	return &Builder{model: model, dimensions: dimensions}
}

// Add keeps the vector of a passage. Its length does not count, only where it
// points.
func (b *Builder) Add(document string, number uint32, values []float32) error {
	switch {
	case b.dimensions < 1 || b.dimensions > MaxDimensions || len(b.model) > MaxName:
		return fmt.Errorf("%w: a set has 1 to %d dimensions and a model's name of at most %d bytes", ErrVector, MaxDimensions, MaxName)
	case len(values) != b.dimensions:
		return fmt.Errorf("%w: it has %d dimensions, the set has %d", ErrVector, len(values), b.dimensions)
	case document == "" || len(document) > MaxName:
		return fmt.Errorf("%w: its document's name has %d bytes, allowed are 1 to %d", ErrVector, len(document), MaxName)
	case len(b.entries) >= maxVectors:
		return fmt.Errorf("%w: the set has %d already", ErrVector, maxVectors)
	}
	packed, ok := quantise(values)
	if !ok {
		return fmt.Errorf("%w: it points nowhere", ErrVector)
	}
	b.entries = append(b.entries, entry{document, number, packed})
	return nil
}

// AddNone notes that a passage has no vector: it is near nothing.
func (b *Builder) AddNone(document string, number uint32) error {
	if document == "" || len(document) > MaxName || len(b.entries) >= maxVectors {
		return fmt.Errorf("%w: its document's name has %d bytes, or the set is full", ErrVector, len(document))
	}
	b.entries = append(b.entries, entry{document, number, make([]int8, b.dimensions)})
	return nil
}

// AddSet keeps the vectors of a set whose documents are wanted, as they are, and
// reports whether it could: a set of another model or of other dimensions is left out.
func (b *Builder) AddSet(s *Set, wanted func(document string) bool) bool {
	if s.model != b.model || s.dimensions != b.dimensions || len(b.entries)+s.Len() > maxVectors {
		return false
	}
	for i, document := range s.documents {
		if !wanted(document) {
			continue
		}
		values := make([]int8, s.dimensions)
		for j, v := range s.values[i*s.dimensions : (i+1)*s.dimensions] {
			values[j] = int8(v) //nolint:gosec // a byte that was an int8
		}
		b.entries = append(b.entries, entry{document, s.numbers[i], values})
	}
	return true
}

// Len counts the vectors.
func (b *Builder) Len() int { return len(b.entries) }

// quantise scales a vector so that its largest value is 127.
func quantise(values []float32) ([]int8, bool) {
	largest := 0.0
	for _, v := range values {
		if f := math.Abs(float64(v)); f > largest {
			largest = f
		}
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, false
		}
	}
	if largest == 0 {
		return nil, false
	}
	out := make([]int8, len(values))
	for i, v := range values {
		out[i] = int8(math.Round(float64(v) / largest * 127))
	}
	return out, true
}

// WriteTo writes the set; the order of Add does not matter.
func (b *Builder) WriteTo(w io.Writer) (int64, error) {
	entries := slices.Clone(b.entries)
	sort.SliceStable(entries, func(i, j int) bool { return compare(entries[i], entries[j]) < 0 })
	out := []byte(magic)
	out = appendText(out, b.model)
	out = binary.AppendUvarint(out, uint64(b.dimensions)) //nolint:gosec // not negative
	out = binary.AppendUvarint(out, uint64(len(entries)))
	for i, e := range entries {
		if i > 0 && compare(entries[i-1], e) == 0 {
			return 0, fmt.Errorf("%w: passage %d of document %q is there twice", ErrVector, e.number, e.document)
		}
		out = appendText(out, e.document)
		out = binary.AppendUvarint(out, uint64(e.number))
		for _, v := range e.values {
			out = append(out, byte(v)) //nolint:gosec // read back as an int8
		}
	}
	out = binary.LittleEndian.AppendUint32(out, checksum(out))
	n, err := w.Write(out)
	if err != nil {
		return int64(n), fmt.Errorf("write vector set: %w", err)
	}
	return int64(n), nil
}

func compare(a, b entry) int {
	return cmp.Or(cmp.Compare(a.document, b.document), cmp.Compare(a.number, b.number))
}

func appendText(out []byte, s string) []byte {
	out = binary.AppendUvarint(out, uint64(len(s)))
	return append(out, s...)
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// Set is vectors that can be looked through. It is immutable and safe for
// concurrent use.
type Set struct {
	model      string
	dimensions int
	documents  []string
	numbers    []uint32
	values     []byte    // all vectors, one after the other
	norms      []float64 // their lengths
}

// Open reads a set.
func Open(data []byte) (*Set, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as a set does", ErrCorrupt)
	}
	body := data[:len(data)-4]
	if checksum(body) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, fmt.Errorf("%w: it does not have its checksum", ErrCorrupt)
	}
	r := setReader{rest: body[len(magic):]}
	s := &Set{model: r.text()}
	s.dimensions = r.count(MaxDimensions)
	n := r.count(maxVectors)
	if r.failed || s.dimensions == 0 || n > len(r.rest)/s.dimensions {
		return nil, fmt.Errorf("%w: its head is wrong", ErrCorrupt)
	}
	s.documents, s.numbers, s.norms = make([]string, n), make([]uint32, n), make([]float64, n)
	s.values = make([]byte, 0, n*s.dimensions)
	for i := range n {
		s.documents[i] = r.text()
		if i > 0 && s.documents[i] == s.documents[i-1] {
			s.documents[i] = s.documents[i-1] // one copy of the name
		}
		s.numbers[i] = uint32(r.count(math.MaxUint32)) //nolint:gosec // checked by count
		packed := r.bytes(s.dimensions)
		if r.failed {
			return nil, fmt.Errorf("%w: vector %d is wrong", ErrCorrupt, i)
		}
		s.norms[i] = length(packed)
		s.values = append(s.values, packed...)
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: it ends late", ErrCorrupt)
	}
	return s, nil
}

// Model names what made the vectors.
func (s *Set) Model() string { return s.model }

// Len counts the vectors.
func (s *Set) Len() int { return len(s.numbers) }

// Dimensions is how long each vector is.
func (s *Set) Dimensions() int { return s.dimensions }

// Size is about how much memory the set takes, in bytes.
func (s *Set) Size() int { return len(s.values) + s.Len()*40 }

// find returns where the vector of a passage is.
func (s *Set) find(document string, number uint32) (int, bool) {
	return sort.Find(s.Len(), func(i int) int {
		return cmp.Or(cmp.Compare(document, s.documents[i]), cmp.Compare(number, s.numbers[i]))
	})
}

// Has reports whether the set has the vector of a passage.
func (s *Set) Has(document string, number uint32) bool {
	_, found := s.find(document, number)
	return found
}

// Match is a passage and how near it is: the cosine, at most 1.
type Match struct {
	Document string
	Number   uint32
	Cosine   float64
}

// Question is a vector to compare with.
type Question struct {
	values []int8
	norm   float64
}

// NewQuestion prepares a vector to compare with; one that points nowhere is near
// nothing.
func NewQuestion(values []float32) Question {
	packed, ok := quantise(values)
	if !ok {
		return Question{}
	}
	sum := 0
	for _, v := range packed {
		sum += int(v) * int(v)
	}
	return Question{packed, math.Sqrt(float64(sum))}
}

func (s *Set) cosine(q Question, i int) float64 {
	return float64(dot(q.values, s.values[i*s.dimensions:(i+1)*s.dimensions])) / (q.norm * s.norms[i])
}

// Cosine is how near a passage is to a question; false when that is not known.
func (s *Set) Cosine(q Question, document string, number uint32) (float64, bool) {
	i, found := s.find(document, number)
	if !found || len(q.values) != s.dimensions || s.norms[i] == 0 {
		return 0, false
	}
	return s.cosine(q, i), true
}

// Spread is how near all passages are that were looked at: their number, and the
// sums of their cosines and of the squares of those.
type Spread struct {
	N            int
	Sum, Squares float64
}

// Add joins two.
func (a Spread) Add(b Spread) Spread {
	return Spread{a.N + b.N, a.Sum + b.Sum, a.Squares + b.Squares}
}

// Nearest returns the passages that are nearest to a question, nearest first, of
// those documents that are allowed, and the spread of all that are allowed. A
// question of other dimensions finds nothing.
func (s *Set) Nearest(q Question, most int, allowed func(document string) bool) ([]Match, Spread) {
	var seen Spread
	if len(q.values) != s.dimensions || most < 1 || allowed == nil {
		return nil, seen
	}
	var out []Match
	last, may := "", false
	for i := range s.numbers {
		if i == 0 || s.documents[i] != last {
			last = s.documents[i]
			may = allowed(last)
		}
		if !may || s.norms[i] == 0 {
			continue
		}
		cosine := s.cosine(q, i)
		seen = seen.Add(Spread{1, cosine, cosine * cosine})
		if len(out) == most && cosine <= out[most-1].Cosine {
			continue
		}
		at := sort.Search(len(out), func(k int) bool { return out[k].Cosine < cosine })
		if len(out) < most {
			out = append(out, Match{})
		}
		copy(out[at+1:], out[at:])
		out[at] = Match{s.documents[i], s.numbers[i], cosine}
	}
	return out, seen
}

// dot adds up four products at a time, which do not wait for each other.
func dot(a []int8, b []byte) int32 {
	var w, x, y, z int32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		w += int32(a[0]) * int32(int8(b[0])) //nolint:gosec // a byte that was an int8
		x += int32(a[1]) * int32(int8(b[1])) //nolint:gosec // likewise
		y += int32(a[2]) * int32(int8(b[2])) //nolint:gosec // likewise
		z += int32(a[3]) * int32(int8(b[3])) //nolint:gosec // likewise
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		w += int32(v) * int32(int8(b[i])) //nolint:gosec // likewise
	}
	return w + x + y + z
}

func length(values []byte) float64 {
	sum := 0
	for _, v := range values {
		sum += int(int8(v)) * int(int8(v)) //nolint:gosec // a byte that was an int8
	}
	return math.Sqrt(float64(sum))
}

// setReader reads bytes that may say anything.
type setReader struct {
	rest   []byte
	failed bool
}

func (r *setReader) count(most int) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(most) { //nolint:gosec // bounds are not negative
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n) //nolint:gosec // at most an int
}

func (r *setReader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.failed, r.rest = true, nil
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *setReader) text() string { return string(r.bytes(r.count(MaxName))) }

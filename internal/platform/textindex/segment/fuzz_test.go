package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func sample(t testing.TB) []byte {
	t.Helper()
	b := NewBuilder("village")
	for i := range uint32(140) {
		p := Passage{
			Document: fmt.Sprintf("document-%d", i/9), Number: i % 9,
			Title: "Clinic hours", Headings: "Opening", Meta: []byte("page"),
			Text: fmt.Sprintf("The clinic opens at %d. The committee decided number%d and pump%d.", i%12, i, i%40),
		}
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err := b.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reseal gives a damaged segment the checksums of its damage, so that what lies
// behind them is tried.
func reseal(data []byte) []byte {
	if len(data) < footerSize {
		return data
	}
	end := data[len(data)-footerSize:]
	pages, tail, about := binary.LittleEndian.Uint64(end), uint64(binary.LittleEndian.Uint32(end[8:])),
		uint64(binary.LittleEndian.Uint32(end[12:]))
	if pages > uint64(len(data)) || tail > uint64(len(data)) || pages+tail+uint64(footerSize) != uint64(len(data)) ||
		about > tail {
		return data
	}
	sums := data[pages+about : pages+tail]
	for at := uint64(0); at < pages && len(sums) >= 4; at += pageSize {
		binary.LittleEndian.PutUint32(sums, checksum(data[at:min(at+pageSize, pages)]))
		sums = sums[4:]
	}
	binary.LittleEndian.PutUint32(end[16:], checksum(append(bytes.Clone(data[pages:pages+tail]), end[:16]...)))
	return data
}

// readAll does with a segment all that can be done.
func readAll(t *testing.T, s *Segment) {
	t.Helper()
	hold := func(err error) bool {
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrPassage) {
			t.Fatalf("an error of another kind: %v", err)
		}
		return err == nil
	}
	names, err := s.Documents()
	hold(err)
	view, err := s.Without(append(names[:min(len(names), 3)], "nowhere"))
	if hold(err) {
		_, err = Merge(t.Context(), io.Discard, view)
		hold(err)
	}
	for i := 0; i < min(s.Passages(), 400); i += blockPassages {
		_, err := s.Passage(uint32(i))
		hold(err)
		_, err = s.Tie(uint32(i))
		hold(err)
		if from, to, err := s.SpanAround(uint32(i)); hold(err) && (from > uint32(i) || to <= uint32(i)) {
			t.Fatalf("passage %d is in a document from %d to %d", i, from, to)
		}
	}
	free := func() error { return nil }
	_, err = s.Near("committteee", free)
	hold(err)
	for _, part := range []string{"", "c", "comm", "number", "mmit", "zzz"} {
		eachTerm(t, s.TermsStarting(part, free), hold, func(term string) bool { return strings.HasPrefix(term, part) })
		containing, err := s.TermsContaining(part, free)
		if hold(err) {
			eachTerm(t, containing, hold, func(term string) bool { return strings.Contains(term, part) })
		}
	}
	for _, term := range []string{"clinic", "open", "committ", "number7", "zebra", ""} {
		e, ok, err := s.Find(term)
		if !hold(err) || !ok {
			continue
		}
		p, err := s.Postings(e)
		if !hold(err) {
			continue
		}
		for doc := uint32(0); ; doc = p.Doc + 1 {
			p.Bound(doc)
			if !hold(p.Seek(doc)) || p.Doc == NoPassage {
				break
			}
			if p.Doc < doc || int(p.Doc) >= s.Passages() {
				t.Fatalf("passage %d after a seek to %d of %d", p.Doc, doc, s.Passages())
			}
			var places [Fields][]uint32
			hold(p.Places(&places))
		}
	}
}

func FuzzSegment(f *testing.F) {
	whole := sample(f)
	f.Add(uint32(0), []byte{})
	f.Add(uint32(9000), []byte{0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add(uint32(len(whole)-30), []byte{1})
	f.Add(uint32(len(whole)-300), []byte{0x80, 0x80})
	f.Fuzz(func(t *testing.T, at uint32, damage []byte) {
		data := bytes.Clone(whole)
		if int(at) < len(data) {
			copy(data[at:], damage)
		}
		s, err := OpenBytes(reseal(data))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		readAll(t, s)
	})
}

// What chance does to a segment, in every run of the tests.
func TestDamageIsNoticedBehindChecksums(t *testing.T) {
	t.Parallel()
	whole := sample(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		data := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		if s, err := OpenBytes(reseal(data)); err == nil {
			readAll(t, s)
		} else if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error of another kind: %v", err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := OpenBytes(reseal(data)); err == nil {
			readAll(t, s)
		} else if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an error of another kind: %v", err)
		}
	})
}

func TestEveryDamagedByteIsNoticed(t *testing.T) {
	t.Parallel()
	whole := sample(t)
	for at := 0; at < len(whole); at += 7 {
		data := bytes.Clone(whole)
		data[at] ^= 0x10
		if _, err := OpenBytes(data); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d was changed, and the error is %v", at, err)
		}
	}
	for _, size := range []int{0, 1, footerSize, len(whole) / 2, len(whole) - 1} {
		if _, err := OpenBytes(whole[:size]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d, and the error is %v", size, err)
		}
	}
}

// A page that changes after the segment was opened is noticed when it is read.
func TestPagesAreHeldToTheirChecksums(t *testing.T) {
	t.Parallel()
	data := sample(t)
	s, err := Open(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, s)
	fresh, err := Open(bytes.NewReader(data), int64(len(data)), NewCache(0))
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	cold := &pagedSource{
		from: bytes.NewReader(data), size: fresh.from.(*pagedSource).size,
		sums: fresh.from.(*pagedSource).sums, cache: NewCache(0),
	}
	if _, err := cold.slice(50, 100); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a changed page gave %v", err)
	}
}

func TestLazyReadingIsReadingInMemory(t *testing.T) {
	t.Parallel()
	data := sample(t)
	inMemory, err := OpenBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	lazy, err := Open(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var merged [2]bytes.Buffer
	for i, s := range []*Segment{inMemory, lazy} {
		v, err := s.Without([]string{"document-3"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(t.Context(), &merged[i], v); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(merged[0].Bytes(), merged[1].Bytes()) {
		t.Fatal("a segment read by pages differs from the same in memory")
	}
}

// eachTerm holds that a walk comes to an end, in order, and has only terms that fit.
func eachTerm(t *testing.T, terms *Terms, hold func(error) bool, fits func(term string) bool) {
	t.Helper()
	last := ""
	for {
		e, ok, err := terms.Next()
		if !hold(err) || !ok {
			return
		}
		if !fits(e.Term) || e.Term < last {
			t.Fatalf("%q comes after %q, or does not fit", e.Term, last)
		}
		last = e.Term
	}
}

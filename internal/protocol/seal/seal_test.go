package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

const (
	firstPlain = int(coarse) - HeaderSize - tagSize
	nextPlain  = int(coarse) - tagSize
)

// edges are sizes around the borders of segments.
var edges = []int{
	0, 1, 15, firstPlain - 1, firstPlain, firstPlain + 1, firstPlain + nextPlain - 1, firstPlain + nextPlain,
	firstPlain + nextPlain + 1, 3*SegmentSize + 7,
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, n := range edges {
		plain, key := content(n), NewKey()
		_, sealed, err := Bytes(plain, key, []byte("place"))
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(sealed)) != SealedSize(int64(n)) {
			t.Errorf("%d bytes: sealed %d, SealedSize %d", n, len(sealed), SealedSize(int64(n)))
		}
		got, err := Open(sealed, key, []byte("place"), int64(n))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: open: %v, equal %v", n, err, bytes.Equal(got, plain))
		}
	}
}

func TestContentInMemoryIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, n := range edges {
		plain, key := content(n), NewKey()
		header, sealed, err := Bytes(plain, key, []byte("place"))
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOpener(key, []byte("place"), header, int64(n), int64(len(sealed)))
		if err != nil {
			t.Fatal(err)
		}
		read := func(sealed []byte, off, length int64) ([]byte, error) {
			r, err := o.RangeOf(sealed, off, length)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}
		before := bytes.Clone(sealed)
		for _, at := range [][2]int{{0, n}, {0, n / 2}, {n / 2, n}, {n, n}} {
			for range 2 {
				got, err := read(sealed, int64(at[0]), int64(at[1]-at[0]))
				if err != nil || !bytes.Equal(got, plain[at[0]:at[1]]) {
					t.Errorf("%d bytes, %v: %v, %d bytes", n, at, err, len(got))
				}
			}
		}
		if !bytes.Equal(sealed, before) {
			t.Errorf("%d bytes: the sealed ones changed", n)
		}
		for _, at := range []int{0, 1, HeaderSize - 1, HeaderSize, len(sealed) - 1} {
			bad := bytes.Clone(sealed)
			bad[at] ^= 1
			if _, err := read(bad, 0, -1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, bit %d: %v", n, at, err)
			}
		}
		for _, left := range []int{0, HeaderSize, len(sealed) - 1} {
			if _, err := read(sealed[:left], 0, -1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, %d left: %v", n, left, err)
			}
		}
	}
}

// Both cuts hold the same, and which it was shows in the lengths.
func TestFineSegmentsOpen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4039, 4040, 4041, 8120, 8121, 100_000, 3*SegmentSize + 7} {
		plain, key := content(n), NewKey()
		s, err := NewFineSealer(pieces(plain, io.EOF, func(left int) int { return min(left, SegmentSize) }), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := io.ReadAll(s)
		if err != nil || int64(len(sealed)) != s.SealedSize() || s.Size() != int64(n) {
			t.Fatalf("%d bytes: sealed %d of %d: %v", n, len(sealed), s.SealedSize(), err)
		}
		got, err := Open(sealed, key, nil, int64(n))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: open: %v, equal %v", n, err, bytes.Equal(got, plain))
		}
		if _, coarse, err := Bytes(plain, key, nil); err != nil || (len(coarse) == len(sealed)) != (n <= 4040) {
			t.Errorf("%d bytes are %d in coarse and %d in fine segments: %v", n, len(coarse), len(sealed), err)
		}
		for _, at := range []int{0, len(sealed) / 2, len(sealed) - 1} {
			sealed[at] ^= 4
			if _, err := Open(sealed, key, nil, int64(n)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, bit flip at %d: %v", n, at, err)
			}
			sealed[at] ^= 4
		}
	}
}

// A short range of fine segments is fetched and opened in a few of them, at once.
func TestFineRanges(t *testing.T) {
	t.Parallel()
	plain, key := content(3*SegmentSize+7), NewKey()
	s, err := NewFineSealer(pieces(plain, io.EOF, func(left int) int { return left }), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOpener(key, nil, s.Header(), s.Size(), int64(len(sealed)))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.IntRange(0, len(plain)-1).Draw(t, "off")
		n := rapid.IntRange(1, len(plain)-off).Draw(t, "n")
		scratch := make([]byte, rapid.SampledFrom([]int{0, 100, 4 << 10, 10_000, SegmentSize}).Draw(t, "scratch"))
		reads := 0
		r, err := o.RangeWith(func(from, length int64) (io.ReadCloser, error) {
			if length > int64(n)+2*FineSegmentSize+HeaderSize {
				t.Errorf("%d bytes are fetched for %d", length, n)
			}
			return io.NopCloser(counted{bytes.NewReader(sealed[from : from+length]), &reads}), nil
		}, int64(off), int64(n), scratch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, plain[off:off+n]) {
			t.Fatalf("range %d+%d: %v", off, n, err)
		}
		if len(scratch) == SegmentSize && n <= 16<<10 && reads > 2 { // one of them for the header
			t.Fatalf("%d bytes from %d took %d reads", n, off, reads)
		}
	})
}

// counted counts the reads of a fetched range.
type counted struct {
	from  io.Reader
	reads *int
}

func (c counted) Read(p []byte) (int, error) {
	*c.reads++
	return c.from.Read(p)
}

// pieces hands content out in pieces of the sizes that cut returns, each of which
// is spoiled when the next one is asked for.
func pieces(plain []byte, end error, cut func(left int) int) func() ([]byte, error) {
	var last []byte
	return func() ([]byte, error) {
		clear(last)
		if len(plain) == 0 {
			return nil, end
		}
		n := cut(len(plain))
		last, plain = append([]byte(nil), plain[:n]...), plain[n:]
		return last, nil
	}
}

func TestPiecesAndReadsOfAnySizeSealTheSame(t *testing.T) {
	t.Parallel()
	whole := content(5*SegmentSize + 11)
	rapid.Check(t, func(t *rapid.T) {
		plain := whole[:rapid.SampledFrom(append(edges, len(whole))).Draw(t, "size")]
		key := NewKey()
		s, err := NewSealer(pieces(plain, io.EOF, func(left int) int {
			return rapid.IntRange(0, left).Draw(t, "piece")
		}), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for err == nil {
			p := make([]byte, rapid.SampledFrom([]int{1, 100, SegmentSize - 1, SegmentSize, 3*SegmentSize + 1}).Draw(t, "read"))
			var n int
			n, err = s.Read(p)
			b.Write(p[:n])
		}
		if !errors.Is(err, io.EOF) || s.Size() != int64(len(plain)) {
			t.Fatalf("%d bytes sealed: %v", s.Size(), err)
		}
		got, err := Open(b.Bytes(), key, nil, int64(len(plain)))
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("open: %v", err)
		}
		if h, err := ParseHeader(b.Bytes()); err != nil || h != s.Header() {
			t.Fatalf("header: %v", err)
		}
	})
}

func TestRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := content(rapid.SampledFrom(edges).Draw(t, "size"))
		key, size := NewKey(), int64(len(plain))
		h, sealed, err := Bytes(plain, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOpener(key, nil, h, size, int64(len(sealed)))
		if err != nil {
			t.Fatal(err)
		}
		off := rapid.Int64Range(0, size).Draw(t, "off")
		n := rapid.Int64Range(-1, size+5).Draw(t, "n")
		var fetched int64
		r, err := o.Range(func(off, n int64) (io.ReadCloser, error) {
			fetched = n
			return io.NopCloser(bytes.NewReader(sealed[off : off+n])), nil
		}, off, n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		end := size
		if n >= 0 {
			end = min(size, off+n)
		}
		if !bytes.Equal(got, plain[off:end]) {
			t.Fatalf("range %d+%d: other bytes", off, n)
		}
		if fetched > end-off+2*SegmentSize {
			t.Fatalf("range of %d bytes fetched %d", end-off, fetched)
		}
	})
}

func TestEveryDamageIsDetected(t *testing.T) {
	t.Parallel()
	plain, key := content(3*SegmentSize), NewKey()
	aad, size := []byte("ns|blob"), int64(3*SegmentSize)
	_, sealed, err := Bytes(plain, key, aad)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func([]byte) []byte{
		"cut at a segment border": func(b []byte) []byte { return b[:2*SegmentSize] },
		"cut by one":              func(b []byte) []byte { return b[:len(b)-1] },
		"one byte more":           func(b []byte) []byte { return append(b, 0) },
		"segments swapped": func(b []byte) []byte {
			s := append([]byte(nil), b...)
			copy(s[SegmentSize:], b[2*SegmentSize:3*SegmentSize])
			copy(s[2*SegmentSize:], b[SegmentSize:2*SegmentSize])
			return s
		},
		"nothing": func([]byte) []byte { return nil },
	}
	for _, at := range []int{0, 1, 20, 39, 40, SegmentSize - 1, SegmentSize, 2*SegmentSize + 5, len(sealed) - 1} {
		damage[fmt.Sprintf("bit flip at %d", at)] = func(b []byte) []byte {
			s := append([]byte(nil), b...)
			s[at] ^= 4
			return s
		}
	}
	for name, do := range damage {
		if _, err := Open(do(sealed), key, aad, size); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	if _, err := Open(sealed, key, []byte("ns|other"), size); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another place: %v", err)
	}
	if _, err := Open(sealed, NewKey(), aad, size); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another key: %v", err)
	}
	if _, err := Open(sealed, key, aad, size-1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another size: %v", err)
	}
}

// What was not read to its end has no last segment.
func TestContentThatBreaksOffCanNotBeOpened(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line broke")
	for _, size := range []int{0, firstPlain, 2 * SegmentSize} {
		key := NewKey()
		s, err := NewSealer(pieces(content(size), broken, func(left int) int { return left }), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := io.ReadAll(s)
		if !errors.Is(err, broken) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, err := s.Read(make([]byte, SegmentSize)); !errors.Is(err, broken) {
			t.Errorf("%d bytes: reads on after the failure: %v", size, err)
		}
		for _, said := range []int64{0, int64(firstPlain), int64(size)} {
			if _, err := Open(sealed, key, nil, said); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes opened as %d: %v", size, said, err)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	outer, key := NewKey(), NewKey()
	wrapped, err := Wrap(outer, key, []byte("ns"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Unwrap(outer, wrapped, []byte("ns")); err != nil || got != key {
		t.Errorf("unwrap: %v, equal %v", err, got == key)
	}
	for name, try := range map[string]func() (Key, error){
		"other outer": func() (Key, error) { return Unwrap(NewKey(), wrapped, []byte("ns")) },
		"other place": func() (Key, error) { return Unwrap(outer, wrapped, []byte("n2")) },
		"cut":         func() (Key, error) { return Unwrap(outer, wrapped[:40], []byte("ns")) },
	} {
		if _, err := try(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	t.Parallel()
	k := Key{0xAB}
	for _, f := range []string{"%v", "%s", "%+v", "%#v"} {
		if got := fmt.Sprintf(f, k); got != "seal.Key(hidden)" {
			t.Errorf("%s prints %q", f, got)
		}
	}
}

func FuzzOpen(f *testing.F) {
	key := Key{1}
	for _, n := range []int{0, 5, firstPlain + 1} {
		_, sealed, _ := Bytes(content(n), key, nil)
		f.Add(sealed, int64(n))
	}
	f.Fuzz(func(t *testing.T, sealed []byte, size int64) {
		got, err := Open(sealed, key, nil, size)
		if err == nil && int64(len(got)) != size {
			t.Fatalf("%d bytes, said %d", len(got), size)
		}
	})
}

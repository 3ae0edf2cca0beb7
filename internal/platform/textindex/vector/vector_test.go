package vector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// embed is a deterministic embedder: each word adds a direction of its own.
func embed(text string, dimensions int) []float32 {
	out := make([]float32, dimensions)
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(w))
		state := h.Sum64()
		for i := range out {
			state = state*6364136223846793005 + 1442695040888963407
			out[i] += float32(int32(state>>32)) / math.MaxInt32
		}
	}
	return out
}

func write(t interface{ Fatal(...any) }, b *Builder) []byte {
	var out bytes.Buffer
	if _, err := b.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNearest(t *testing.T) {
	t.Parallel()
	texts := []string{"clinic opening hours", "price of maize", "pump repair meeting", "clinic fees for children"}
	b := NewBuilder("words", 64)
	for i, text := range texts {
		if err := b.Add(fmt.Sprint("d", i), uint32(i), embed(text, 64)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(write(t, b))
	if err != nil {
		t.Fatal(err)
	}
	q := NewQuestion(embed("hours of the clinic", 64))
	got, seen := s.Nearest(q, 2, func(string) bool { return true })
	if len(got) != 2 || got[0].Document != "d0" || seen.N != 4 {
		t.Fatalf("found %+v of %+v", got, seen)
	}
	if cosine, known := s.Cosine(q, "d0", 0); !known || cosine != got[0].Cosine {
		t.Errorf("the first has %v, %v", cosine, known)
	}
	if _, known := s.Cosine(q, "d0", 1); known || s.Has("d0", 1) || !s.Has("d3", 3) {
		t.Error("the set has what was not put in, or not what was")
	}
	got, seen = s.Nearest(q, 2, func(d string) bool { return d != "d0" })
	if seen.N != 3 {
		t.Errorf("what is not allowed counts: %+v", seen)
	}
	if len(got) != 2 || got[0].Document == "d0" || got[1].Document == "d0" {
		t.Fatalf("found what is not allowed: %+v", got)
	}
	if got, _ := s.Nearest(NewQuestion(embed("clinic", 64)), 2, nil); got != nil {
		t.Fatalf("without rights found %+v", got)
	}
	if got, _ := s.Nearest(NewQuestion(embed("clinic", 32)), 2, func(string) bool { return true }); got != nil {
		t.Fatalf("another model's query found %+v", got)
	}
}

// Sets join without being made anew, and lose what is not wanted.
func TestSetsJoin(t *testing.T) {
	t.Parallel()
	var sets []*Set
	for i, text := range []string{"clinic opening hours", "price of maize"} {
		b := NewBuilder("words", 64)
		for number := range uint32(2) {
			if err := b.Add(fmt.Sprint("d", i), number, embed(text+fmt.Sprint(number), 64)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(write(t, b))
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	b := NewBuilder("words", 64)
	for _, s := range sets {
		if !b.AddSet(s, func(d string) bool { return d != "d1" }) {
			t.Fatal("a set of the model is left out")
		}
	}
	joined, err := Open(write(t, b))
	if err != nil || joined.Len() != 2 || !joined.Has("d0", 1) || joined.Has("d1", 0) {
		t.Fatalf("%d vectors, %v", joined.Len(), err)
	}
	if NewBuilder("other", 64).AddSet(joined, func(string) bool { return true }) {
		t.Error("vectors of different models are one set")
	}
}

// One byte per dimension keeps cosines.
func TestCosinesAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32Range(-1, 1), 48, 48).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float32Range(-1, 1), 48, 48).Draw(t, "y")
		x[0], y[0] = 1, 1
		b := NewBuilder("m", 48)
		if err := b.Add("d", 1, x); err != nil {
			t.Fatal(err)
		}
		s, err := Open(write(t, b))
		if err != nil {
			t.Fatal(err)
		}
		xy, xx, yy := 0.0, 0.0, 0.0
		for i := range x {
			xy += float64(x[i]) * float64(y[i])
			xx += float64(x[i]) * float64(x[i])
			yy += float64(y[i]) * float64(y[i])
		}
		got, _ := s.Nearest(NewQuestion(y), 1, func(string) bool { return true })
		if len(got) != 1 || math.Abs(got[0].Cosine-xy/math.Sqrt(xx*yy)) > 0.03 {
			t.Fatalf("cosine %v, want %v", got, xy/math.Sqrt(xx*yy))
		}
	})
}

func TestVectorsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := NewBuilder("m", 2)
	for _, values := range [][]float32{nil, {1}, {0, 0}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 1}, {1, 2, 3}} {
		if err := b.Add("d", 1, values); !errors.Is(err, ErrVector) {
			t.Errorf("%v gave %v", values, err)
		}
	}
	if err := b.Add("", 1, []float32{1, 2}); !errors.Is(err, ErrVector) {
		t.Errorf("no document gave %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	b := NewBuilder("m", 3)
	for i := range uint32(5) {
		if err := b.Add("d", i, []float32{1, 2, float32(i)}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(write(f, b))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4 { // what lies behind the checksum is tried
			data = bytes.Clone(data)
			binary.LittleEndian.PutUint32(data[len(data)-4:], checksum(data[:len(data)-4]))
		}
		s, err := Open(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		s.Nearest(NewQuestion([]float32{1, 2, 3}), 3, func(string) bool { return true })
	})
}

func BenchmarkNearest(b *testing.B) {
	const n, dimensions = 10_000, 384
	builder := NewBuilder("m", dimensions)
	for i := range n {
		if err := builder.Add(fmt.Sprintf("d%06d", i), 0, embed(fmt.Sprint(i), dimensions)); err != nil {
			b.Fatal(err)
		}
	}
	s, err := Open(write(b, builder))
	if err != nil {
		b.Fatal(err)
	}
	q := NewQuestion(embed("5", dimensions))
	for b.Loop() {
		s.Nearest(q, 20, func(string) bool { return true })
	}
}

package hdr_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/test/load/hdr"
)

// Every percentile is the one of the sorted list, within the promised error.
func TestPercentilesAreThoseOfTheValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Exponents, so that all magnitudes are as likely.
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(math.Exp2(rapid.Float64Range(0, 45).Draw(t, "exponent")))
		}), 1, 300).Draw(t, "values")
		var h hdr.Histogram
		for _, v := range values {
			h.Record(v)
		}
		slices.Sort(values)
		for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(0, int(math.Ceil(share*float64(len(values))))-1)]
			got := h.At(share)
			if diff := (got - want).Abs(); diff > want/128+2*time.Microsecond {
				t.Fatalf("At(%v) of %d values = %v, want %v", share, len(values), got, want)
			}
		}
		if h.Max() != values[len(values)-1] || h.Min() != values[0] || h.Count() != int64(len(values)) {
			t.Fatalf("max %v, min %v, count %d of %v", h.Max(), h.Min(), h.Count(), values)
		}
	})
}

func TestHistogramsAddUp(t *testing.T) {
	t.Parallel()
	var a, b, both hdr.Histogram
	for i := range 1000 {
		d := time.Duration(i*i) * time.Microsecond
		both.Record(d)
		if i%3 == 0 {
			a.Record(d)
		} else {
			b.Record(d)
		}
	}
	var empty hdr.Histogram
	a.Add(&b)
	a.Add(&empty)
	if a != both {
		t.Errorf("the sum differs: count %d and %d, p99 %v and %v", a.Count(), both.Count(), a.At(0.99), both.At(0.99))
	}
	if empty.At(0.5) != 0 || empty.Mean() != 0 {
		t.Error("an empty histogram says something")
	}
}

func TestValuesBeyondTheRangeAreCountedAtItsEnds(t *testing.T) {
	t.Parallel()
	var h hdr.Histogram
	h.Record(-time.Second)
	h.Record(math.MaxInt64)
	if h.At(0.5) != 0 || h.At(1) > h.Max() || h.Count() != 2 {
		t.Errorf("p50 %v, p100 %v, max %v", h.At(0.5), h.At(1), h.Max())
	}
}

func BenchmarkRecord(b *testing.B) {
	var h hdr.Histogram
	for i := range b.N {
		h.Record(time.Duration(i))
	}
}

// Package hdr keeps latencies in a histogram of high dynamic range: from a
// microsecond to hours, every value with an error below one in a hundred and
// twenty-eight, in a few kilobytes.
//
// It promises that percentiles, count, least and largest are those of all values
// recorded, that histograms add up, and that recording allocates nothing. It
// keeps no single value and no order.
package hdr

import (
	"math"
	"math/bits"
	"time"
)

// Values are kept in microseconds: below 2^linear each has its own bucket;
// above it every power of two is cut into 2^(linear-1) buckets.
const (
	linear  = 8
	half    = 1 << (linear - 1)
	powers  = 40 - linear // up to 2^40 µs, twelve days
	buckets = 1<<linear + powers*half
)

// Histogram counts durations. Its zero value is empty and ready. It is not safe
// for concurrent use.
type Histogram struct {
	counts     [buckets]int64
	total      int64
	sum        time.Duration
	least, top time.Duration
}

// bucket returns where a value of so many microseconds is counted.
func bucket(us uint64) int {
	if us < 1<<linear {
		return int(us)
	}
	shift := bits.Len64(us) - linear
	i := 1<<linear + (shift-1)*half + int(us>>shift) - half
	return min(i, buckets-1)
}

// upper returns the largest number of microseconds that a bucket counts.
func upper(i int) uint64 {
	if i < 1<<linear {
		return uint64(i)
	}
	shift := (i-1<<linear)/half + 1
	inside := uint64((i-1<<linear)%half + half)
	return (inside+1)<<shift - 1
}

// Record counts one duration; a negative one counts as zero.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d.Microseconds()))]++
	if h.total == 0 || d < h.least {
		h.least = d
	}
	h.top = max(h.top, d)
	h.total++
	h.sum += d
}

// Add counts everything that another histogram has counted.
func (h *Histogram) Add(o *Histogram) {
	if o.total == 0 {
		return
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	if h.total == 0 || o.least < h.least {
		h.least = o.least
	}
	h.top = max(h.top, o.top)
	h.total += o.total
	h.sum += o.sum
}

// Count is how many durations were recorded.
func (h *Histogram) Count() int64 { return h.total }

// Max is the largest of them, exactly.
func (h *Histogram) Max() time.Duration { return h.top }

// Min is the least of them, exactly.
func (h *Histogram) Min() time.Duration { return h.least }

// Mean is their mean, exactly.
func (h *Histogram) Mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	return h.sum / time.Duration(h.total)
}

// At returns the duration that the given share of all (0 to 1) did not exceed:
// At(0.99) is p99. An empty histogram says zero.
func (h *Histogram) At(share float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	want := max(1, int64(math.Ceil(share*float64(h.total))))
	var seen int64
	for i, n := range h.counts {
		if seen += n; seen >= want {
			d := time.Duration(upper(i)) * time.Microsecond
			return min(max(d, h.least), h.top)
		}
	}
	return h.top
}

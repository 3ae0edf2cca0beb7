package segmentsize

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

const mebibyte = 1 << 20

func shelfOf(now time.Time, sizes ...int64) []Segment {
	var all []Segment
	for i, size := range sizes {
		all = append(all, Segment{ID: strconv.Itoa(i), Size: size, Created: now.Add(-time.Minute)})
	}
	return all
}

// A segment is joined with those of about its size: one that is large is not written
// again for each small one that comes.
func TestSegmentsOfOneSizeAreJoined(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		sizes  []int64
		chosen int
	}{
		{[]int64{1, 1, 1}, 0},
		{[]int64{1, 1, 1, 1}, 4},
		{[]int64{1, 1, 1, 30 * mebibyte}, 0},
		{[]int64{1, 1, 1, 1, 30 * mebibyte}, 4},
		{[]int64{30 * mebibyte, 31 * mebibyte, 32 * mebibyte, 60 * mebibyte}, 4},
		{[]int64{900 * mebibyte, 900 * mebibyte, 900 * mebibyte, 900 * mebibyte}, 0},
		{[]int64{250 * mebibyte, 250 * mebibyte, 250 * mebibyte, 250 * mebibyte, 250 * mebibyte}, 4},
	} {
		if got := Choose(shelfOf(now, c.sizes...), Tiers(false), now); len(got) != c.chosen {
			t.Errorf("of %v %d are joined, want %d", c.sizes, len(got), c.chosen)
		}
	}
}

// Segments stay few however many documents come, and each passage is written a few
// times only.
func TestJoiningCostsLittle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var all []Segment
	const documents, size = 20_000, 50 << 10
	written, most := int64(0), 0
	for i := range documents {
		all = append(all, Segment{ID: strconv.Itoa(i), Size: size})
		for {
			chosen := Choose(all, Tiers(false), now)
			if len(chosen) == 0 {
				break
			}
			joined := Segment{ID: "joined " + chosen[0].ID}
			var rest []Segment
			for _, g := range all {
				if slices.Contains(chosen, g) {
					joined.Size += g.Size
				} else {
					rest = append(rest, g)
				}
			}
			written += joined.Size
			all = append(rest, joined)
		}
		most = max(most, len(all))
	}
	if times := float64(written) / (documents * size); times > 7 || most > 24 {
		t.Errorf("each byte was written %.1f times, and there were up to %d segments", times, most)
	}
}

// What is to be destroyed is, in small segments at once and in large ones by and by,
// and never forgotten because another segment was written anew.
func TestWhatIsLostIsDestroyed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := shelfOf(now, mebibyte, 10*mebibyte, 20*mebibyte, 500*mebibyte)
	all[2].Lost, all[3].Lost = 1, 1
	if got := Choose(all, Tiers(false), now); len(got) != 1 || got[0].ID != "2" {
		t.Errorf("at once: %+v", got)
	}
	if next, some := Destroyable(all, all[2:3]); !some || !next.Equal(all[3].Created.Add(largeRest)) {
		t.Errorf("the large one is to be destroyed at %v, %v", next, some)
	}
	all[2].Lost = 0
	if got := Choose(all, Tiers(false), now); len(got) != 0 {
		t.Errorf("before its time: %+v", got)
	}
	if got := Choose(all, Tiers(false), now.Add(largeRest)); len(got) != 1 || got[0].ID != "3" {
		t.Errorf("in its time: %+v", got)
	}
}

// Small segments that lose something all the time do not keep a large one from its
// turn, nor large ones a small one from its own; and none is written more often.
func TestWhatWaitsLongestIsDestroyedFirst(t *testing.T) {
	t.Parallel()
	const pass = 15 * time.Second
	for _, large := range []int{1, 5} {
		now := time.Now()
		all := shelfOf(now, slices.Repeat([]int64{500 * mebibyte}, large)...)
		written := map[string][]time.Time{}
		for n := range 3 * int(time.Hour/pass) {
			now = now.Add(pass)
			for i := range all {
				all[i].Lost = 1
			}
			all = append(all, Segment{ID: "new" + strconv.Itoa(n), Size: 20 * mebibyte, Created: now, Lost: 1})
			chosen := Choose(all, Tiers(true), now)
			if len(chosen) == 0 {
				t.Fatal("nothing is destroyed")
			}
			joined := Segment{ID: chosen[0].ID, Created: now}
			var rest []Segment
			for _, g := range all {
				if !slices.Contains(chosen, g) {
					rest = append(rest, g)
					continue
				}
				joined.Size += g.Size
				if g.Size > small && len(chosen) > 1 {
					t.Fatalf("%+v are joined", chosen)
				}
				if g.Created.Before(now.Add(-largeRest - time.Duration(2*large+2)*pass)) {
					t.Fatalf("%s waited from %v to %v", g.ID, g.Due(), now)
				}
				if g.Size < small && g.Created.Before(now.Add(-time.Duration(2*large+2)*pass)) {
					t.Fatalf("%s waited from %v to %v", g.ID, g.Created, now)
				}
			}
			if all = rest; joined.Size >= small {
				written[joined.ID] = append(written[joined.ID], now)
				all = append(all, joined)
			} // a small one was destroyed as a whole
		}
		if len(written) != large {
			t.Fatalf("%d of %d large segments were written", len(written), large)
		}
		for id, times := range written {
			if len(times) < 2 || times[1].Sub(times[0]) < largeRest {
				t.Errorf("%s was written at %v", id, times)
			}
		}
	}
}

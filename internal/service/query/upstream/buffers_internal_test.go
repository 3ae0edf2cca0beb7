package upstream

import "testing"

func TestBuffersAreLargeEnough(t *testing.T) {
	t.Parallel()
	var pool buffers
	for _, length := range []int{0, 1, 1023, 1024, 1025, 16384, 40000, 1 << 20, 1<<20 + 1, 3 << 20} {
		for range 3 { // the later ones may be used ones
			got := pool.Get(length)
			if len(*got) != length {
				t.Fatalf("asked for %d, got %d", length, len(*got))
			}
			if limit := max(2*length, 1024); cap(*got) > limit {
				t.Errorf("asked for %d, got room for %d", length, cap(*got))
			}
			*got = (*got)[:length/2] // who gives it back may have cut it
			pool.Put(got)
		}
	}
	odd := make([]byte, 1500) // not one of ours
	pool.Put(&odd)
	if got := pool.Get(2000); len(*got) != 2000 {
		t.Errorf("got %d of 2000", len(*got))
	}
}

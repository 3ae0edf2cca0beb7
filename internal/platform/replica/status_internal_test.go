package replica

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
)

// Pieces of a generation without a whole copy cannot be restored, and are not counted.
func TestTheStatusCountsWhatCanBeRestored(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	w.crash() // is continued, without a base of its own
	w.write(r, 5)
	w.round()
	w.stop()
	w.open()
	w.write(r, 5)
	w.round()
	before, err := Look(t.Context(), w.remote)
	if err != nil || before.Newest.UnixMilli() != w.ship.state.Made || len(before.Passed) > 0 {
		t.Fatalf("generations that go on: %+v %v, want %d", before, err, w.ship.state.Made)
	}
	if err := w.ship.lose(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.write(r, 5)
		w.tick(time.Second)
		if err := w.ship.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.ship.stopBase()
	bases, err := list(t.Context(), w.remote, baseFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bases {
		if b.Generation == w.ship.generation.number {
			if err := w.remote.Delete(t.Context(), b.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	after, err := Look(t.Context(), w.remote)
	if err != nil || after.Pieces <= before.Pieces || !after.Newest.Equal(before.Newest) ||
		!slices.Equal(after.Passed, []int64{4}) {
		t.Errorf("before %+v\nafter %+v %v", before, after, err)
	}
	if _, did := w.restore(after.Newest); !did.Moment.Equal(after.Newest) {
		t.Errorf("restored %s, the status said %s", did.Moment, after.Newest)
	}
}

// A server is started and stopped without a change, and started again.
func TestTheStatusCountsWhatFollowsAWholeCopyAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	w.round()
	w.stop()
	w.open()
	w.write(rand.New(rand.NewPCG(8, 8)), 5)
	w.round()
	seen, err := Look(t.Context(), w.remote)
	if err != nil || seen.Bases != 1 || seen.Newest.UnixMilli() != w.ship.state.Made || len(seen.Passed) > 0 {
		t.Errorf("%+v %v, want %d", seen, err, w.ship.state.Made)
	}
}

package diskroom

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

func TestTheReserveIsForThoseWhoDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free, size       int64
		content, records bool
	}{
		{20 << 20, 48 << 20, true, true},
		{8<<20 + 99, 48 << 20, false, true}, // a hundred bytes do not fit beside the reserve
		{4<<20 - 1, 48 << 20, false, false},
		{65 << 20, 1 << 40, true, true},
		{63 << 20, 1 << 40, false, true},
		{31 << 20, 1 << 40, false, false},
	} {
		r := &Room{measure: func(string) (int64, int64, error) { return c.free, c.size, nil }}
		if got := r.Content(100) == nil; got != c.content {
			t.Errorf("%d of %d free: content %v", c.free, c.size, got)
		}
		if got := r.Records(t.Context()) == nil; got != c.records {
			t.Errorf("%d of %d free: records %v", c.free, c.size, got)
		}
		if err := r.Records(Freeing(t.Context())); err != nil {
			t.Errorf("%d of %d free: nobody can delete: %v", c.free, c.size, err)
		}
	}
	r := &Room{measure: func(string) (int64, int64, error) { return 0, 0, errors.New("unknown") }}
	if r.Content(1) != nil || r.Records(t.Context()) != nil {
		t.Error("who does not know what is free refuses nothing")
	}
}

// An object whose length nobody knows is refused when it reaches the reserve, and
// nothing of it is left.
func TestContentEndsAtTheReserve(t *testing.T) {
	t.Parallel()
	free := int64(12 << 20)
	r := &Room{measure: func(string) (int64, int64, error) { return free, 48 << 20, nil }}
	s := r.Guard(blobmem.New())
	taken := int64(0)
	body := io.TeeReader(io.LimitReader(zeros{}, 32<<20), counter(func(n int) { taken += int64(n); free -= int64(n) }))
	if _, err := s.Put(t.Context(), "a", body, blob.PutOptions{}); !fault.Is(err, fault.StorageFull) || taken > 6<<20 {
		t.Errorf("%d bytes were taken: %v", taken, err)
	}
	if _, err := s.Stat(t.Context(), "a"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("half of it is there: %v", err)
	}
	free = 12 << 20
	if _, err := s.Put(t.Context(), "a", strings.NewReader("fits"), blob.Sized(4)); err != nil {
		t.Error(err)
	}
}

// A disk stays short of room after content was refused: who then deletes gets all
// of the room, not only what lifts the disk over the reserve.
func TestADiskStaysShortOfRoomForAWhile(t *testing.T) {
	t.Parallel()
	free := int64(20 << 20)
	r := &Room{measure: func(string) (int64, int64, error) { return free, 48 << 20, nil }}
	if r.Full() || r.Short() {
		t.Error("a disk with room is short of it")
	}
	if r.Content(16<<20) == nil || r.Full() || !r.Short() {
		t.Error("content was refused, and nobody knows")
	}
	r = &Room{measure: r.measure}
	free = 1 << 20
	if !r.Full() || !r.Short() {
		t.Error("a full disk has room")
	}
	free = 9 << 20
	if r.Full() || !r.Short() {
		t.Error("a disk that was full a moment ago is short of room, and not full")
	}
	r.refused.Add(-int64(shortFor))
	if r.Short() {
		t.Error("a disk is short of room for ever")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type counter func(n int)

func (c counter) Write(p []byte) (int, error) {
	c(len(p))
	return len(p), nil
}

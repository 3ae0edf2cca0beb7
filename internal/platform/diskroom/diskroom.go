// Package diskroom keeps a part of a disk for those who make room on it.
//
// A disk that is full to the last byte cannot be emptied through a database:
// deleting is writing. So new content is refused while less than the reserve is
// free, other records while less than half of it is, and what deletes goes on to
// the last byte. It promises nothing where the system does not tell what is free,
// and does not keep other programs from filling the disk.
//
// Decision: ADR 0215.
package diskroom

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The reserve is a sixteenth of the disk, between these bounds: deleting many
// files takes some megabytes of the database's log before it is reused.
const (
	leastReserve = 8 << 20
	mostReserve  = 64 << 20
	share        = 16
)

// lookEvery is how many bytes of content are taken between two looks at the disk.
const lookEvery = 1 << 20

// shortFor is how long a disk counts as short of room after content was last
// refused: whoever makes room for it does so within this time, in many steps.
const shortFor = time.Hour

// Room watches the disk that a folder is on.
type Room struct {
	dir string
	// measure tells the bytes that are free, and that there are.
	measure func(dir string) (free, size int64, err error)
	refused atomic.Int64 // when content was last refused, in Unix nanoseconds
}

// Of watches the disk of a folder.
func Of(dir string) *Room { return &Room{dir: dir, measure: measure} }

// spare returns how many bytes may be taken before part of the reserve is left;
// false when nobody can say.
func (r *Room) spare(part int64) (int64, bool) {
	free, size, err := r.measure(r.dir)
	if err != nil {
		return 0, false
	}
	return free - min(max(size/share, leastReserve), mostReserve)/part, true
}

// Content fails unless so many bytes of new content fit beside the reserve.
func (r *Room) Content(bytes int64) error {
	if spare, known := r.spare(1); known && spare < bytes {
		r.refused.Store(time.Now().UnixNano())
		return full()
	}
	return nil
}

// Full reports that no new content is taken at all.
func (r *Room) Full() bool { return r.Content(0) != nil }

// Short reports that the disk is full, or that content was refused not long ago.
func (r *Room) Short() bool {
	return r.Full() || time.Now().UnixNano()-r.refused.Load() < int64(shortFor)
}

// freeingKey marks contexts of those who make room.
type freeingKey struct{}

// Freeing marks what is done with a context as making room.
func Freeing(ctx context.Context) context.Context {
	return context.WithValue(ctx, freeingKey{}, true)
}

// Records fails when less than half of the reserve is left, unless the context is
// of those who make room.
func (r *Room) Records(ctx context.Context) error {
	if ctx.Value(freeingKey{}) != nil {
		return nil
	}
	if spare, known := r.spare(2); known && spare < 0 {
		return full()
	}
	return nil
}

func full() error {
	return fault.New(fault.StorageFull, "The disk is full: only deleting goes on.").WithCode("storage_full")
}

// Guard returns a store that takes new objects only while there is room for them
// beside the reserve.
func (r *Room) Guard(s blob.Store) blob.Store { return guarded{s, r} }

type guarded struct {
	blob.Store
	room *Room
}

// Put implements blob.Store.
func (g guarded) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := g.room.Content(opt.Size); err != nil {
		return blob.Info{}, err
	}
	return g.Store.Put(ctx, key, &watched{Reader: body, room: g.room}, opt)
}

// watched is content on its way to the disk: its length may not be known before.
type watched struct {
	io.Reader
	room *Room
	seen int64
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.seen += int64(n); w.seen >= lookEvery {
		w.seen = 0
		if full := w.room.Content(0); full != nil {
			return 0, full
		}
	}
	return n, err
}

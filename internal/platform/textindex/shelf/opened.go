package shelf

import (
	"maps"
	"slices"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// Opened are the segments that a node has open, by collection. Those of the
// collection that was asked for last stay however large they are, since a question
// needs all of them at once; others go when there is no room.
type Opened struct {
	shelf Shelf
	pages *textindex.Cache
	gone  func(collections []string)
	most  int64

	mu     sync.Mutex
	bytes  int64
	turn   int64
	spaces map[string]*openedSpace
}

// openedSpace are the open segments of one collection, by id.
type openedSpace struct {
	segments map[string]*textindex.Segment
	used     int64 // the turn in which it was asked for
}

// NewOpened returns none, with room for so many bytes: small segments are in memory as a
// whole, and in clear. gone is told, after the fact, for which collections there was no
// more room.
func NewOpened(s Shelf, pages *textindex.Cache, most int64, gone func(collections []string)) *Opened {
	return &Opened{shelf: s, pages: pages, gone: gone, most: most, spaces: map[string]*openedSpace{}}
}

// Open opens a segment, unless it is open.
func (o *Opened) Open(vault Vault, r Record) (*textindex.Segment, error) {
	if segment := o.find(r.Collection, r.ID); segment != nil {
		return segment, nil
	}
	segment, err := o.shelf.Open(vault, r, o.pages)
	if err != nil {
		return nil, err
	}
	if gone := o.add(r.Collection, r.ID, segment); len(gone) > 0 {
		o.gone(gone)
	}
	return segment, nil
}

// Has reports whether all of these segments of a collection are open.
func (o *Opened) Has(collection string, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return o.find(collection, id) == nil })
}

// find returns a segment that is open, or nil.
func (o *Opened) find(collection, id string) *textindex.Segment {
	o.mu.Lock()
	defer o.mu.Unlock()
	space := o.spaces[collection]
	if space == nil {
		return nil
	}
	o.turn++
	space.used = o.turn
	return space.segments[id]
}

// add takes a segment, and returns the collections for which there was no more room.
func (o *Opened) add(collection, id string, segment *textindex.Segment) (gone []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	space := o.spaces[collection]
	if space == nil {
		space = &openedSpace{segments: map[string]*textindex.Segment{}}
		o.spaces[collection] = space
	}
	o.turn++
	space.used = o.turn
	if space.segments[id] == nil {
		space.segments[id] = segment
		o.bytes += segment.Memory()
	}
	for o.bytes > o.most && len(o.spaces) > 1 {
		oldest := ""
		for name, s := range o.spaces {
			if oldest == "" || s.used < o.spaces[oldest].used {
				oldest = name
			}
		}
		o.keep(oldest, nil)
		gone = append(gone, oldest)
	}
	return gone
}

// Keep closes the segments of a collection that are not among those that live.
func (o *Opened) Keep(collection string, live []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(collection, live)
}

func (o *Opened) keep(collection string, live []string) {
	for _, id := range o.of(collection) {
		if !slices.Contains(live, id) {
			o.drop(collection, id)
		}
	}
}

// Of are the ids of a collection's segments that are open.
func (o *Opened) Of(collection string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(collection)
}

func (o *Opened) of(collection string) []string {
	if space := o.spaces[collection]; space != nil {
		return slices.Collect(maps.Keys(space.segments))
	}
	return nil
}

// Drop closes segments of a collection.
func (o *Opened) Drop(collection string, ids ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		o.drop(collection, id)
	}
}

func (o *Opened) drop(collection, id string) {
	space := o.spaces[collection]
	if space == nil || space.segments[id] == nil {
		return
	}
	o.bytes -= space.segments[id].Memory()
	if delete(space.segments, id); len(space.segments) == 0 {
		delete(o.spaces, collection)
	}
}

package shelf

import (
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// Opened are the segments that a node has open, by collection. Those of the
// collection that was asked for last stay however large they are, since a question
// needs all of them at once; others go when there is no room. It has no lock.
type Opened struct {
	most, bytes int64
	turn        int64
	spaces      map[string]*openedSpace
}

// openedSpace are the open segments of one collection, by id.
type openedSpace struct {
	segments map[string]*textindex.Segment
	used     int64 // the turn in which it was asked for
}

// NewOpened returns none, with room for so many bytes: small segments are in memory as a
// whole, and in clear.
func NewOpened(most int64) *Opened {
	return &Opened{most: most, spaces: map[string]*openedSpace{}}
}

// Find returns a segment that is open, or nil.
func (o *Opened) Find(collection, id string) *textindex.Segment {
	space := o.spaces[collection]
	if space == nil {
		return nil
	}
	o.turn++
	space.used = o.turn
	return space.segments[id]
}

// Add takes a segment, and returns the collections for which there was no more room.
func (o *Opened) Add(collection, id string, segment *textindex.Segment) (gone []string) {
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
		o.Keep(oldest, nil)
		gone = append(gone, oldest)
	}
	return gone
}

// Keep closes the segments of a collection that are not among those that live.
func (o *Opened) Keep(collection string, live []string) {
	for _, id := range o.Of(collection) {
		if !slices.Contains(live, id) {
			o.Drop(collection, id)
		}
	}
}

// Of are the ids of a collection's segments that are open.
func (o *Opened) Of(collection string) []string {
	if space := o.spaces[collection]; space != nil {
		return slices.Collect(maps.Keys(space.segments))
	}
	return nil
}

// Drop closes a segment.
func (o *Opened) Drop(collection, id string) {
	space := o.spaces[collection]
	if space == nil || space.segments[id] == nil {
		return
	}
	o.bytes -= space.segments[id].Memory()
	if delete(space.segments, id); len(space.segments) == 0 {
		delete(o.spaces, collection)
	}
}

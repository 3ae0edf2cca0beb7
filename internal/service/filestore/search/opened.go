package search

import (
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// maxOpened bounds what the open segments of a node hold, in bytes: small ones are in
// memory as a whole, and in clear.
const maxOpened = 32 << 20

// openedSegments are the segments that a node has open, by namespace. Those of the
// namespace that was asked for last stay however large they are, since a question
// needs all of them at once; others go when there is no room. It has no lock.
type openedSegments struct {
	most, bytes int64
	turn        int64
	spaces      map[string]*openedSpace
}

// openedSpace are the open segments of one namespace, by id.
type openedSpace struct {
	segments map[string]*textindex.Segment
	used     int64 // the turn in which it was asked for
}

func newOpenedSegments(most int64) *openedSegments {
	return &openedSegments{most: most, spaces: map[string]*openedSpace{}}
}

// find returns a segment that is open, or nil.
func (o *openedSegments) find(ns, id string) *textindex.Segment {
	space := o.spaces[ns]
	if space == nil {
		return nil
	}
	o.turn++
	space.used = o.turn
	return space.segments[id]
}

// add takes a segment, and returns the namespaces for which there was no more room.
func (o *openedSegments) add(ns, id string, segment *textindex.Segment) (gone []string) {
	space := o.spaces[ns]
	if space == nil {
		space = &openedSpace{segments: map[string]*textindex.Segment{}}
		o.spaces[ns] = space
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

// keep closes the segments of a namespace that are not among those that live.
func (o *openedSegments) keep(ns string, live []string) {
	space := o.spaces[ns]
	if space == nil {
		return
	}
	for id := range space.segments {
		if !slices.Contains(live, id) {
			o.drop(ns, id)
		}
	}
}

// drop closes a segment.
func (o *openedSegments) drop(ns, id string) {
	space := o.spaces[ns]
	if space == nil || space.segments[id] == nil {
		return
	}
	o.bytes -= space.segments[id].Memory()
	if delete(space.segments, id); len(space.segments) == 0 {
		delete(o.spaces, ns)
	}
}

// Package textindex finds passages of text by what they say: one mechanism for
// everything that a community can search, with the same ranking on every engine
// and machine (ADR 0162).
//
// A Builder turns the passages of one collection into a segment: an immutable
// file with a dictionary, postings, positions and the passages themselves. The
// same passages give the same bytes, in whichever order they were added. Open
// reads a segment through an io.ReaderAt, page by page as queries need them, and
// holds each page against its checksum. Documents that are gone are taken out by
// Without and dropped by Merge, whose result is the segment that a Builder would
// have written from what is left.
//
// A Searcher asks any number of segments of any number of collections at once.
// What a reader may see is part of the question: a passage outside of the scope
// is not found, is not counted, and does not move the rank of any other passage,
// since the statistics are those of the scope alone. An empty scope finds
// nothing.
//
// The package does not seal segments, keep a list of them or decide who may read
// what: its callers do. It trusts no byte of a segment; what is not well formed
// is ErrCorrupt.
package textindex

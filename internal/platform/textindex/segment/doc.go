// Package segment writes and reads the files of a search index: terms, postings,
// positions and passages of one collection, immutable and checksummed.
//
// It promises that the same passages give the same bytes, whether a Builder wrote
// them or Merge, and that no bytes whatever make a reader do more than return
// ErrCorrupt. It ranks nothing: package textindex does.
package segment

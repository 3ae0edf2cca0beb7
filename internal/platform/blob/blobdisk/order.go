package blobdisk

import (
	"io/fs"
	"slices"
	"strings"
)

// sorted orders a folder's entries as their keys sort: a folder's keys go on with
// a slash, so "a.b" comes before "a/…" although "a" comes before "a.b".
func sorted(entries []fs.DirEntry) []fs.DirEntry {
	name := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(name(a), name(b)) })
	return entries
}

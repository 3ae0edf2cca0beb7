package vfspath

import "slices"

// Area is what one proved capability reaches of a namespace: a subtree, and which
// dot-files of it may be seen. What one area reveals does not open another one's
// subtree. It is read off a verified chain once and becomes part of the query as
// it is.
type Area struct {
	Root Root
	// Reveal lists the folders and files whose dot-names may be seen; Everything is
	// all of them. The owner of a namespace sees everything in it.
	Reveal []Root
	// Named are contents that may be read by CID also where they are dot-files: the
	// owner's own link of the chain names each of them. No path is reached by them.
	Named []string
}

// Whole returns the area of a whole namespace, dot-files and all, as its owner
// sees it.
func Whole() Area { return Area{Root: Everything, Reveal: []Root{Everything}} }

// IsWhole reports whether the area leaves out nothing of a namespace.
func (a Area) IsWhole() bool { return a.Root == Everything && a.RevealsAll() }

// RevealsAll reports whether every dot-file of the subtree may be seen.
func (a Area) RevealsAll() bool { return slices.Contains(a.Reveal, Everything) }

// Allows reports whether the clean path may be reached.
func (a Area) Allows(path string) bool {
	if !a.Root.Contains(path) {
		return false
	}
	return !IsHidden(path) || slices.ContainsFunc(a.Reveal, func(r Root) bool { return r.Contains(path) })
}

// Equal reports whether the areas are written alike.
func (a Area) Equal(b Area) bool {
	return a.Root == b.Root && slices.Equal(a.Reveal, b.Reveal) && slices.Equal(a.Named, b.Named)
}

package cid

import "fmt"

// Tree folds leaves, left to right, into the balanced layout. Its memory is one
// open group of at most fan-out links per level: two levels reach 1 TiB.
type Tree struct {
	levels [][]Link
	fanout int
	// emit, when set, receives every inner node as it is closed.
	emit func(Block)
}

// NewTree returns an empty tree. emit may be nil; it receives the inner nodes,
// children before parents.
func NewTree(emit func(Block)) *Tree { return &Tree{fanout: Fanout, emit: emit} }

// Add appends a leaf of n bytes.
func (t *Tree) Add(digest Digest, n int) {
	//nolint:gosec // a length is not negative
	t.push(0, Link{CID: New(Raw, digest), Bytes: uint64(n), Cumulative: uint64(n)})
}

// push closes a full group only when a further sibling arrives, so that exactly
// fan-out leaves do not get a level too many.
func (t *Tree) push(level int, l Link) {
	if level == len(t.levels) {
		t.levels = append(t.levels, make([]Link, 0, min(t.fanout, 16)))
	}
	if len(t.levels[level]) == t.fanout {
		t.close(level)
	}
	t.levels[level] = append(t.levels[level], l)
}

func (t *Tree) close(level int) {
	block, link := fileNode(t.levels[level])
	if t.emit != nil {
		t.emit(block)
	}
	t.levels[level] = t.levels[level][:0]
	t.push(level+1, link)
}

// Root closes the tree and returns its root. A tree without leaves is the empty
// file: one empty leaf. The tree must not be used afterwards.
func (t *Tree) Root() Link {
	if len(t.levels) == 0 {
		t.Add(emptyDigest, 0)
	}
	for level := 0; ; level++ {
		if level == len(t.levels)-1 && len(t.levels[level]) == 1 {
			return t.levels[level][0]
		}
		t.close(level) // a lone last node is wrapped too: all leaves are equally deep
	}
}

// FromLeaves returns the root of a file of size bytes with the given leaf
// digests, and hands the inner nodes to emit when it is not nil.
func FromLeaves(leaves []Digest, size int64, emit func(Block)) Link {
	t := NewTree(emit)
	for i, d := range leaves {
		t.Add(d, int(min(LeafSize, size-int64(i)*LeafSize)))
	}
	return t.Root()
}

// SplitLeaves reads a stored list of leaf digests, one after the other.
func SplitLeaves(list []byte) ([]Digest, error) {
	if len(list)%len(Digest{}) != 0 {
		return nil, fmt.Errorf("leaf list of %d bytes", len(list))
	}
	leaves := make([]Digest, 0, len(list)/len(Digest{}))
	for rest := list; len(rest) > 0; rest = rest[len(Digest{}):] {
		leaves = append(leaves, Digest(rest[:len(Digest{})]))
	}
	return leaves, nil
}

package cid

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// entriesOf are so many files with one byte each.
func entriesOf(n int) []Link {
	c := New(Raw, sha256.Sum256([]byte("x")))
	links := make([]Link, n)
	for i := range links {
		links[i] = Link{CID: c, Name: fmt.Sprintf("file-%05d", i), Bytes: 1, Cumulative: 1}
	}
	return links
}

// A folder is one block of up to 256 KiB, and a tree of shards from one byte more on.
// The CIDs are those of ipfs-unixfs-importer 17.1.1 with the profile unixfs-v1-2025;
// test/interop compares more, with boxo as well.
func TestLargeFoldersAreSharded(t *testing.T) {
	t.Parallel()
	exact := entriesOf(4854)
	exact[0].Name += strings.Repeat("x", 24)
	over := append([]Link(nil), exact...)
	over[0].Name += "x"
	for name, c := range map[string]struct {
		entries []Link
		cid     string
		size    uint64
		blocks  int
	}{
		"none":      {nil, "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354", 4, 1},
		"256 KiB":   {exact, "bafybeiemjtgnu3opm3awio32jc6yqe4eungg2o575pa2qtcbuqburcoo6y", 266_998, 1},
		"one more":  {over, "bafybeiettl6warbfadykg7xdg2p2lsidlqrwvs5wuz7mhfpmc6ac4rfowy", 311_889, 257},
		"many more": {entriesOf(6000), "bafybeiaiwkaa6f2mznu2a36naxrf4kfreigbop5tpr5qc2a4i6vqb7odnm", 385_546, 257},
	} {
		n, last, largest := 0, CID{}, 0
		link := Folder(c.entries, func(b Block) {
			n, last, largest = n+1, b.CID, max(largest, len(b.Data))
			if sha256.Sum256(b.Data) != b.CID.Digest() {
				t.Errorf("%s: block %d has another hash", name, n)
			}
		})
		if link.CID.String() != c.cid || link.Cumulative != c.size || last != link.CID || n < c.blocks || largest > 256<<10 {
			t.Errorf("%s: %s of %d bytes in %d blocks, the largest of %d; the last is %s", name, link.CID, link.Cumulative, n, largest, last)
		}
	}
}

// Shards cannot tell equal names apart: such a folder is one block.
func TestEqualNamesAreInOneBlock(t *testing.T) {
	t.Parallel()
	twins := append(entriesOf(6000), entriesOf(1)...)
	n := 0
	if link := Folder(twins, func(Block) { n++ }); n != 1 || !link.CID.Defined() {
		t.Errorf("%d blocks, %s", n, link.CID)
	}
}

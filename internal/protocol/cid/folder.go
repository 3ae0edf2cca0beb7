package cid

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/spaolacci/murmur3"
)

const (
	// maxDirectory is how long the one block of a folder may be; a longer one is
	// spread over shards. It is measured as the profile wants it: the whole block.
	maxDirectory = 256 << 10
	// shardBits is how many bits of a name's hash choose its place in a shard, and
	// shardWidth how many places there are.
	shardBits  = 8
	shardWidth = 1 << shardBits
	// hashMurmur3 is the multicodec of that hash.
	hashMurmur3 = 0x22
)

// Folder encodes a UnixFS folder of the named entries: one block, or where that would
// be too long a tree of shards, as the profile defines both. It gives the blocks with
// those below before those above, and returns the link of the folder.
//
// Names that no tree can tell apart, because they are equal or have equal hashes, are
// in one block, however long it gets: a folder is always what its entries are.
//
// Decision: ADR 0260.
func Folder(entries []Link, give func(Block)) Link {
	if directoryLen(entries) > maxDirectory {
		sorted := make([]hashed, len(entries))
		for i, e := range entries {
			sorted[i] = hashed{e, murmur3.Sum64([]byte(e.Name))}
		}
		sort.Slice(sorted, func(i, j int) bool { return sorted[i].hash < sorted[j].hash })
		if distinct(sorted) {
			return shard(sorted, 0, give)
		}
	}
	block, link := directory(entries)
	give(block)
	return link
}

// hashed is an entry with the hash of its name.
type hashed struct {
	Link

	hash uint64
}

func distinct(sorted []hashed) bool {
	for i := 1; i < len(sorted); i++ {
		if sorted[i].hash == sorted[i-1].hash {
			return false
		}
	}
	return true
}

// shard encodes entries, in the order of their hashes, which agree in all bits above
// the depth. An entry that is alone in its place is linked from there, several are in a
// shard below.
func shard(sorted []hashed, depth int, give func(Block)) Link {
	var links []Link
	var places [shardWidth / 8]byte // a bit field: place 0 is the last bit of the last byte
	for len(sorted) > 0 {
		place := sorted[0].place(depth)
		n := 1
		for n < len(sorted) && sorted[n].place(depth) == place {
			n++
		}
		prefix := fmt.Sprintf("%02X", place)
		link := sorted[0].Link
		if n > 1 {
			link = shard(sorted[:n], depth+1, give)
		}
		link.Name = prefix + link.Name
		links, sorted = append(links, link), sorted[n:]
		places[len(places)-1-int(place/8)] |= 1 << (place % 8)
	}
	block, link := node(links, shardData(places[:]), 0)
	give(block)
	return link
}

func (h hashed) place(depth int) byte {
	return byte(h.hash >> (64 - shardBits*(depth+1))) //nolint:gosec // eight bits are meant
}

// shardData is the UnixFS message of a shard. Its bit field begins with the first byte
// that says anything.
func shardData(places []byte) []byte {
	for places[0] == 0 {
		places = places[1:]
	}
	data := []byte{tagType, typeShard, tagData}
	data = append(binary.AppendUvarint(data, uint64(len(places))), places...)
	data = binary.AppendUvarint(append(data, tagHashType), hashMurmur3)
	return binary.AppendUvarint(append(data, tagFanout), shardWidth)
}

// directory encodes a folder as one block, sorted by name as dag-pb wants it.
func directory(entries []Link) (Block, Link) {
	sorted := append([]Link(nil), entries...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	return node(sorted, directoryData(), 0)
}

func directoryData() []byte { return []byte{tagType, typeDirectory} }

// directoryLen is how long the block of directory is.
func directoryLen(entries []Link) int {
	size := 2 + len(directoryData())
	for _, e := range entries {
		n := linkLen(e)
		size += 1 + uvarintLen(uint64(n)) + n //nolint:gosec // a length is not negative
	}
	return size
}

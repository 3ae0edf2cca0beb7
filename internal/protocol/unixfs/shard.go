package unixfs

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/spaolacci/murmur3"
)

// hashMurmur3 is the multicodec of the hash by which names are spread over shards.
const hashMurmur3 = 0x22

// maxFanout bounds the width of a shard, as others do.
const maxFanout = 1024

// prefixLen is how many characters of a link's name say its place in a shard.
func (n Node) prefixLen() (int, error) {
	if n.Hash != hashMurmur3 || n.Fanout < 8 || n.Fanout > maxFanout || n.Fanout&(n.Fanout-1) != 0 {
		return 0, malformed("shard of width %d by hash 0x%x", n.Fanout, n.Hash)
	}
	if uint64(len(n.Links)) > n.Fanout {
		return 0, malformed("%d links in a shard of width %d", len(n.Links), n.Fanout)
	}
	return len(strconv.FormatUint(n.Fanout-1, 16)), nil
}

// find looks an entry up in one shard at a depth: the entry itself, or the shard
// that it is below.
func (n Node) find(name string, depth int) (id string, below bool, err error) {
	width, err := n.prefixLen()
	if err != nil {
		return "", false, err
	}
	step := bits.Len64(n.Fanout - 1)
	if (depth+1)*step > 64 {
		return "", false, malformed("shards are too deep")
	}
	place := murmur3.Sum64([]byte(name)) << (depth * step) >> (64 - step)
	prefix := fmt.Sprintf("%0*X", width, place)
	for _, l := range n.Links {
		switch l.Name {
		case prefix + name:
			return l.CID, false, nil
		case prefix:
			return l.CID, true, nil
		}
	}
	return "", false, ErrNoPath
}

// Package unixfs reads graphs of blocks as IPFS writes them: dag-pb with UnixFS
// files, folders and sharded folders, and the links of dag-cbor and dag-json.
//
// It promises to look at no more of a graph than was asked for, in the order in which
// the trustless gateway specification wants it, and to end on every graph: depth and
// number of visits are bounded. It checks no hashes: whoever hands out blocks does.
package unixfs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-varint"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// The codecs whose blocks are understood. Plain CBOR and JSON have no links.
const (
	CodecRaw     = 0x55
	CodecCBOR    = 0x51
	CodecDagPB   = 0x70
	CodecDagCBOR = 0x71
	CodecDagJSON = 0x0129
	CodecJSON    = 0x0200
)

// Why something cannot be read.
var (
	ErrMalformed = errors.New("malformed block")
	ErrNoPath    = errors.New("no such path")
	ErrTooLarge  = errors.New("graph too large")
)

// Kind is what a UnixFS node is.
type Kind uint64

// The kinds that are understood.
const (
	RawBytes  Kind = 0
	Directory Kind = 1
	File      Kind = 2
	Symlink   Kind = 4
	Shard     Kind = 5
)

// Link is a named link of a dag-pb block.
type Link struct {
	CID  string // binary
	Name string
}

// Node is a dag-pb block that was read.
type Node struct {
	Links []Link
	Kind  Kind
	// Data are the bytes that a file has in this block, or where a symbolic link leads.
	Data []byte
	// Size is the length of the file, Sizes those of what the links lead to.
	Size   uint64
	Sizes  []uint64
	Fanout uint64
	Hash   uint64 // of a sharded folder's names
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// Decode reads a dag-pb block with UnixFS data.
func Decode(block []byte) (Node, error) {
	var n Node
	var data []byte
	hasData := false
	err := fields(block, func(number protowire.Number, _ uint64, body []byte) error {
		switch {
		case body == nil:
		case number == 1 && !hasData:
			data, hasData = body, true
			return nil
		case number == 2:
			l, err := decodeLink(body)
			n.Links = append(n.Links, l)
			return err
		}
		return malformed("dag-pb field %d", number)
	})
	if err != nil {
		return Node{}, err
	}
	if !hasData {
		return Node{}, malformed("dag-pb without UnixFS data")
	}
	return n, n.decodeData(data)
}

// pbLinks reads the links of a dag-pb block, whatever its data are.
func pbLinks(block []byte) ([]string, error) {
	var all []string
	err := fields(block, func(number protowire.Number, _ uint64, body []byte) error {
		if number != 2 || body == nil {
			return nil
		}
		l, err := decodeLink(body)
		all = append(all, l.CID)
		return err
	})
	return all, err
}

func decodeLink(b []byte) (Link, error) {
	var l Link
	err := fields(b, func(number protowire.Number, _ uint64, body []byte) error {
		switch {
		case number == 1 && body != nil:
			l.CID = string(body)
		case number == 2 && body != nil:
			l.Name = string(body)
		case number == 3 && body == nil:
		default:
			return malformed("field %d of a link", number)
		}
		return nil
	})
	if err == nil {
		err = ipld.CheckCID(l.CID)
	}
	return l, err
}

func (n *Node) decodeData(data []byte) error {
	kind := false
	err := fields(data, func(number protowire.Number, v uint64, body []byte) error {
		switch {
		case number == 1 && body == nil:
			n.Kind, kind = Kind(v), true
		case number == 2 && body != nil:
			n.Data = body
		case number == 3 && body == nil:
			n.Size = v
		case number == 4 && body == nil:
			n.Sizes = append(n.Sizes, v)
		case number == 4: // packed
			for len(body) > 0 {
				v, used := protowire.ConsumeVarint(body)
				if used < 0 {
					return malformed("block sizes")
				}
				n.Sizes, body = append(n.Sizes, v), body[used:]
			}
		case number == 5 && body == nil:
			n.Hash = v
		case number == 6 && body == nil:
			n.Fanout = v
		}
		return nil // mode and time are not looked at
	})
	switch {
	case err != nil:
		return err
	case !kind:
		return malformed("UnixFS data without a type")
	case n.Kind == File && len(n.Sizes) != len(n.Links):
		return malformed("%d sizes for %d links", len(n.Sizes), len(n.Links))
	}
	return nil
}

// fields takes a protobuf message apart. body is nil for numbers.
func fields(b []byte, take func(number protowire.Number, v uint64, body []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return malformed("protobuf tag")
		}
		b = b[n:]
		var v uint64
		var body []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			if body, n = protowire.ConsumeBytes(b); body == nil {
				body = []byte{}
			}
		default: // nothing here has them
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return malformed("protobuf field %d", number)
		}
		b = b[n:]
		if err := take(number, v, body); err != nil {
			return err
		}
	}
	return nil
}

// Multihash returns the hash inside a binary CID. It is what blocks are known by: the
// same one may be named as CIDs of both versions, and under several codecs.
func Multihash(id string) (string, error) {
	if strings.HasPrefix(id, "\x12\x20") && len(id) == 34 {
		return id, nil
	}
	c, err := cid.Cast([]byte(id))
	if err != nil {
		return "", malformed("CID: %v", err)
	}
	return string(c.Hash()), nil
}

// Codec returns the codec of a binary CID. One of version 0 is dag-pb.
func Codec(id string) (uint64, error) {
	if strings.HasPrefix(id, "\x12\x20") && len(id) == 34 {
		return CodecDagPB, nil
	}
	if id == "" || id[0] != 1 {
		return 0, malformed("CID")
	}
	codec, _, err := varint.FromUvarint([]byte(id[1:min(len(id), 10)]))
	if err != nil {
		return 0, malformed("CID: %v", err)
	}
	return codec, nil
}

// Links returns the CIDs that a block links to, in its own order.
func Links(id string, block []byte) ([]string, error) {
	codec, err := Codec(id)
	if err != nil {
		return nil, err
	}
	switch codec {
	case CodecRaw, CodecCBOR, CodecJSON:
		return nil, nil
	case CodecDagPB:
		return pbLinks(block)
	}
	n, err := decodeIPLD(codec, block)
	if err != nil {
		return nil, err
	}
	return nodeLinks(nil, n), nil
}

func decodeIPLD(codec uint64, block []byte) (ipld.Node, error) {
	switch codec {
	case CodecDagCBOR:
		return ipld.Decode(string(block))
	case CodecDagJSON:
		return ipld.DecodeJSON(block)
	}
	return ipld.Node{}, malformed("codec 0x%x is not known", codec)
}

func nodeLinks(all []string, n ipld.Node) []string {
	if n.Kind == ipld.Link {
		return append(all, n.Str)
	}
	for _, item := range n.List {
		all = nodeLinks(all, item)
	}
	for _, e := range n.Entries {
		all = nodeLinks(all, e.Value)
	}
	return all
}

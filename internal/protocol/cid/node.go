package cid

import (
	"crypto/sha256"
	"encoding/binary"
)

// Link is what a parent keeps of a child.
type Link struct {
	CID CID
	// Name is empty inside a file and the entry's name inside a directory.
	Name string
	// Bytes counts the file's bytes below the child.
	Bytes uint64
	// Cumulative counts the child's block and all blocks below it (Tsize).
	Cumulative uint64
}

// Block is a named piece of a DAG.
type Block struct {
	CID  CID
	Data []byte
}

// Protobuf tags of the dag-pb and UnixFS messages.
const (
	tagPBLinks   = 0x12
	tagPBData    = 0x0a
	tagHash      = 0x0a
	tagName      = 0x12
	tagTsize     = 0x18
	tagType      = 0x08
	tagFilesize  = 0x18
	tagBlocksize = 0x20
	tagData      = 0x12
	tagHashType  = 0x28
	tagFanout    = 0x30

	typeDirectory = 1
	typeFile      = 2
	typeShard     = 5
)

// fileNode encodes an inner node of a file: all links, then the UnixFS data.
func fileNode(children []Link) (Block, Link) {
	var size uint64
	data := []byte{tagType, typeFile}
	for _, c := range children {
		size += c.Bytes
	}
	data = binary.AppendUvarint(append(data, tagFilesize), size)
	for _, c := range children {
		data = binary.AppendUvarint(append(data, tagBlocksize), c.Bytes)
	}
	return node(children, data, size)
}

func node(children []Link, data []byte, size uint64) (Block, Link) {
	b := make([]byte, 0, len(children)*56+len(data)+8)
	var below uint64
	for _, c := range children {
		below += c.Cumulative
		b = append(b, tagPBLinks)
		b = binary.AppendUvarint(b, uint64(linkLen(c))) //nolint:gosec // a length is not negative
		b = c.CID.append(append(b, tagHash, Size))
		b = binary.AppendUvarint(append(b, tagName), uint64(len(c.Name)))
		b = append(b, c.Name...)
		b = binary.AppendUvarint(append(b, tagTsize), c.Cumulative)
	}
	b = binary.AppendUvarint(append(b, tagPBData), uint64(len(data)))
	b = append(b, data...)
	id := New(DagPB, sha256.Sum256(b))
	return Block{id, b}, Link{CID: id, Bytes: size, Cumulative: uint64(len(b)) + below}
}

func linkLen(c Link) int {
	return 2 + Size + 1 + uvarintLen(uint64(len(c.Name))) + len(c.Name) + 1 + uvarintLen(c.Cumulative)
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

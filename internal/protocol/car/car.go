// Package car reads and writes CARv1 archives that are small enough to be held
// in memory: the container in which capability tokens travel.
//
// Read checks every block against its CID, so that nobody above it ever sees
// bytes under a name that is not theirs. It refuses trailing bytes, sections
// without a block, and more blocks than the caller allows.
package car

import (
	"errors"
	"fmt"

	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// The two ways in which an archive can be refused.
var (
	ErrMalformed = errors.New("malformed CAR")
	ErrMismatch  = errors.New("block does not match its CID")
)

// Block is one section: a binary CID and the bytes it names.
type Block struct {
	CID  string
	Data string
}

// Archive is a CAR: its roots as binary CIDs and its blocks in order.
type Archive struct {
	Roots  []string
	Blocks []Block
}

// Find returns the data of the block with the binary CID.
func (a Archive) Find(id string) (string, bool) {
	for i := range a.Blocks {
		if a.Blocks[i].CID == id {
			return a.Blocks[i].Data, true
		}
	}
	return "", false
}

// Read parses an archive of at most maxBlocks blocks. The archive's strings are
// parts of data.
func Read(data string, maxBlocks int) (Archive, error) {
	header, rest, err := section(data)
	if err != nil {
		return Archive{}, fmt.Errorf("header: %w", err)
	}
	roots, err := readHeader(header)
	if err != nil {
		return Archive{}, err
	}
	a := Archive{Roots: roots, Blocks: make([]Block, 0, 4)}
	for rest != "" {
		if len(a.Blocks) == maxBlocks {
			return Archive{}, fmt.Errorf("%w: more than %d blocks", ErrMalformed, maxBlocks)
		}
		var s string
		if s, rest, err = section(rest); err != nil {
			return Archive{}, fmt.Errorf("block %d: %w", len(a.Blocks), err)
		}
		id, block, err := ipld.CutCID(s)
		if err != nil {
			return Archive{}, fmt.Errorf("%w: block %d: %w", ErrMalformed, len(a.Blocks), err)
		}
		same, err := ipld.Matches(id, block)
		if err != nil {
			return Archive{}, fmt.Errorf("%w: block %d: %w", ErrMalformed, len(a.Blocks), err)
		}
		if !same {
			return Archive{}, fmt.Errorf("%w: block %d is not %s", ErrMismatch, len(a.Blocks), ipld.CIDText(id))
		}
		a.Blocks = append(a.Blocks, Block{CID: id, Data: block})
	}
	return a, nil
}

// section splits one length-prefixed section from data.
func section(data string) (body, rest string, err error) {
	size, n, err := varint.FromUvarint([]byte(data[:min(len(data), varint.MaxLenUvarint63)]))
	if err != nil {
		return "", "", fmt.Errorf("%w: length: %w", ErrMalformed, err)
	}
	data = data[n:]
	if size == 0 || size > uint64(len(data)) {
		return "", "", fmt.Errorf("%w: section of %d bytes, %d are left", ErrMalformed, size, len(data))
	}
	return data[:size], data[size:], nil
}

func readHeader(header string) ([]string, error) {
	n, err := ipld.Decode(header)
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	version, _ := n.Get("version")
	if v, ok := version.Int64(); !ok || v != 1 {
		return nil, fmt.Errorf("%w: version is not 1", ErrMalformed)
	}
	list, _ := n.Get("roots")
	if list.Kind != ipld.List || len(list.List) == 0 {
		return nil, fmt.Errorf("%w: no roots", ErrMalformed)
	}
	roots := make([]string, len(list.List))
	for i, root := range list.List {
		if root.Kind != ipld.Link {
			return nil, fmt.Errorf("%w: root %d is not a link", ErrMalformed, i)
		}
		roots[i] = root.Str
	}
	return roots, nil
}

// Append writes the archive after dst.
func Append(dst []byte, a Archive) []byte {
	dst = AppendHeader(dst, a.Roots...)
	for _, b := range a.Blocks {
		dst = append(AppendSection(dst, b.CID, len(b.Data)), b.Data...)
	}
	return dst
}

// AppendHeader writes the header of an archive with binary CIDs as roots, for those
// who write the sections themselves.
func AppendHeader(dst []byte, roots ...string) []byte {
	links := make([]ipld.Node, len(roots))
	for i, root := range roots {
		links[i] = ipld.LinkNode(root)
	}
	header := ipld.AppendCBOR(nil, ipld.MapNode(
		ipld.Entry{Key: "roots", Value: ipld.ListNode(links...)},
		ipld.Entry{Key: "version", Value: ipld.IntNode(1)},
	))
	return append(append(dst, varint.ToUvarint(uint64(len(header)))...), header...)
}

// AppendSection writes what comes before a block of a length.
func AppendSection(dst []byte, id string, length int) []byte {
	dst = append(dst, varint.ToUvarint(uint64(len(id)+length))...) //nolint:gosec // a length is not negative
	return append(dst, id...)
}

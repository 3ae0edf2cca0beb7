package unixfs

import (
	"fmt"
	"io"
	"slices"
)

// Content reads the bytes of a UnixFS file. It holds one block.
type Content struct {
	get    Getter
	todo   []string // what is still to be read, the next one last
	left   []byte
	size   uint64 // what the file said of itself
	read   uint64
	visits int
}

// Open returns the content of the file with a binary CID. What is no file is
// ErrMalformed.
func Open(get Getter, id string) (*Content, error) {
	c := &Content{get: get, todo: []string{id}}
	codec, err := Codec(id)
	if err != nil {
		return nil, err
	}
	block, err := get(id)
	if err != nil {
		return nil, err
	}
	if codec == CodecRaw {
		c.size = uint64(len(block))
		return c, nil
	}
	if codec != CodecDagPB {
		return nil, malformed("codec 0x%x is no file", codec)
	}
	n, err := Decode(block)
	if err != nil {
		return nil, err
	}
	if n.Kind != File && n.Kind != RawBytes {
		return nil, malformed("UnixFS type %d is no file", n.Kind)
	}
	if c.size = n.Size; len(n.Links) == 0 {
		c.size = uint64(len(n.Data)) // which some leave out
	}
	return c, nil
}

// Size is how many bytes the file has, as it says itself. Reading fails when it is
// another number.
func (c *Content) Size() uint64 { return c.size }

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) {
	for len(c.left) == 0 {
		if len(c.todo) == 0 {
			if c.read != c.size {
				return 0, malformed("the file has %d bytes and says %d", c.read, c.size)
			}
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *Content) next() error {
	if c.visits++; c.visits > maxVisits {
		return ErrTooLarge
	}
	id := c.todo[len(c.todo)-1]
	c.todo = c.todo[:len(c.todo)-1]
	block, err := c.get(id)
	if err != nil {
		return err
	}
	codec, err := Codec(id)
	if err != nil {
		return err
	}
	switch codec {
	case CodecRaw:
		c.left = block
	case CodecDagPB:
		n, err := Decode(block)
		if err != nil {
			return err
		}
		if n.Kind != File && n.Kind != RawBytes {
			return malformed("UnixFS type %d inside a file", n.Kind)
		}
		c.left = n.Data
		for _, l := range slices.Backward(n.Links) {
			c.todo = append(c.todo, l.CID)
		}
	default:
		return malformed("codec 0x%x inside a file", codec)
	}
	if c.read += uint64(len(c.left)); c.read > c.size {
		return malformed("the file has more than the %d bytes that it says", c.size)
	}
	return nil
}

// List gives the entries of a folder, sharded or not. A CID that is no folder is
// ErrMalformed, and so is one whose shards are not a tree: names have one place each.
func List(get Getter, id string, entry func(name, id string) error) error {
	l := listing{get, entry, map[string]bool{}}
	return l.add(id, 0)
}

type listing struct {
	get   Getter
	entry func(name, id string) error
	// blocks are those that the folder was found to consist of.
	blocks map[string]bool
}

func (f *listing) add(id string, depth int) error {
	switch {
	case depth > maxDepth:
		return ErrTooLarge
	case f.blocks[id]:
		return malformed("a shard comes twice")
	}
	f.blocks[id] = true
	block, err := f.get(id)
	if err != nil {
		return err
	}
	n, err := Decode(block)
	if err != nil {
		return err
	}
	width := 0
	switch n.Kind {
	case Directory:
	case Shard:
		if width, err = n.prefixLen(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: UnixFS type %d is no folder", ErrMalformed, n.Kind)
	}
	for _, l := range n.Links {
		switch {
		case len(l.Name) < width:
			err = malformed("entry of a shard")
		case n.Kind == Shard && len(l.Name) == width:
			err = f.add(l.CID, depth+1)
		default:
			err = f.entry(l.Name[width:], l.CID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

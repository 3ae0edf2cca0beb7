package unixfs

import (
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"math"
	"strconv"

	"github.com/multiformats/go-multihash"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// Bounds of one walk.
const (
	maxDepth    = 256
	maxVisits   = 1 << 20
	MaxSegments = 64
	// maxAgain is how many bytes are looked at once more without being shown.
	maxAgain = 64 << 20
	// maxHeld is how many links are held on the way down.
	maxHeld = 1 << 20
)

// Getter returns the block of a binary CID.
type Getter func(id string) ([]byte, error)

// Resolved is where a path leads.
type Resolved struct {
	// Blocks are the blocks that prove the path, without the last one.
	Blocks []string
	// Roots are the CIDs of what the path's segments name, the last one last.
	Roots []string
	// Inside says that the path ends inside the last block, at something without a CID.
	Inside bool
}

// Last is the CID of what the path leads to.
func (r Resolved) Last() string { return r.Roots[len(r.Roots)-1] }

// Resolve follows a path from a root. It fails with ErrNoPath when there is no such
// path.
func Resolve(get Getter, root string, segments []string) (Resolved, error) {
	if len(segments) > MaxSegments {
		return Resolved{}, ErrNoPath
	}
	r := Resolved{Roots: []string{root}}
	at := root
	for len(segments) > 0 {
		block, err := get(at)
		if err != nil {
			return Resolved{}, err
		}
		codec, err := Codec(at)
		if err != nil {
			return Resolved{}, err
		}
		switch codec {
		case CodecDagPB:
			r.Blocks = append(r.Blocks, at)
			if at, err = r.enter(get, block, segments[0]); err != nil {
				return Resolved{}, err
			}
			segments = segments[1:]
		case CodecDagCBOR, CodecDagJSON:
			n, err := decodeIPLD(codec, block)
			if err != nil {
				return Resolved{}, err
			}
			if n, segments, err = inside(n, segments); err != nil {
				return Resolved{}, err
			}
			if n.Kind != ipld.Link {
				r.Inside = true
				return r, nil
			}
			r.Blocks = append(r.Blocks, at)
			at = n.Str
		default:
			return Resolved{}, ErrNoPath
		}
		r.Roots = append(r.Roots, at)
	}
	_, err := get(at)
	return r, err
}

// enter finds an entry of a folder, through its shards.
func (r *Resolved) enter(get Getter, block []byte, name string) (string, error) {
	for depth := 0; ; depth++ {
		n, err := Decode(block)
		if err != nil {
			return "", err
		}
		switch n.Kind {
		case Directory:
			for _, l := range n.Links {
				if l.Name == name {
					return l.CID, nil
				}
			}
			return "", ErrNoPath
		case Shard:
		default:
			return "", ErrNoPath
		}
		id, below, err := n.find(name, depth)
		if err != nil || !below {
			return id, err
		}
		r.Blocks = append(r.Blocks, id)
		if block, err = get(id); err != nil {
			return "", err
		}
	}
}

// inside follows a path inside a node, as far as to a link.
func inside(n ipld.Node, segments []string) (ipld.Node, []string, error) {
	for len(segments) > 0 && n.Kind != ipld.Link {
		next, ok := ipld.Node{}, false
		switch n.Kind {
		case ipld.Map:
			next, ok = n.Get(segments[0])
		case ipld.List:
			if i, err := strconv.Atoi(segments[0]); err == nil && i >= 0 && i < len(n.List) {
				next, ok = n.List[i], true
			}
		}
		if !ok {
			return ipld.Node{}, nil, ErrNoPath
		}
		n, segments = next, segments[1:]
	}
	return n, segments, nil
}

// Scope says how much of what a path leads to is wanted.
type Scope string

// The scopes of the specification.
const (
	ScopeBlock  Scope = "block"
	ScopeEntity Scope = "entity"
	ScopeAll    Scope = "all"
)

// Range is a part of a file, both ends in it. Negative numbers count from its end.
type Range struct {
	From, To int64
	ToEnd    bool
}

// Whole is all of a file.
func Whole() Range { return Range{ToEnd: true} }

// of gives the range for a file of a size. It is empty when to is below from.
func (r Range) of(size int64) (from, to int64) {
	from, to = r.From, r.To
	if from < 0 {
		from = max(size+from, 0)
	}
	switch {
	case r.ToEnd:
		to = size - 1
	case to < 0:
		to = size + to
	}
	return from, min(to, size-1)
}

// Walk visits blocks of a graph.
type Walk struct {
	Get Getter
	// Twice visits a block each time that it is met.
	Twice bool
	// Visit gets the blocks in order, without those that a CID contains itself.
	Visit func(id string, block []byte) error

	seen map[string]bool
	// whole has what was walked through with all that is below it.
	whole  map[string]bool
	visits int
	again  int // bytes that were got and not shown
	held   int // links of the nodes above
}

// Run visits the blocks of a path, and then what it leads to.
func (w *Walk) Run(r Resolved, scope Scope, bytes Range) error {
	w.seen, w.whole = map[string]bool{}, map[string]bool{}
	for _, id := range r.Blocks {
		if _, err := w.visit(id); err != nil {
			return err
		}
	}
	last := r.Last()
	switch {
	case scope == ScopeAll && !r.Inside:
		return w.all(last, 0)
	case scope == ScopeEntity && !r.Inside:
		return w.entity(last, bytes)
	}
	_, err := w.visit(last)
	return err
}

// visit gets a block and shows it, unless it was shown before.
func (w *Walk) visit(id string) ([]byte, error) {
	if w.visits++; w.visits > maxVisits {
		return nil, ErrTooLarge
	}
	block, err := w.Get(id)
	if err != nil {
		return nil, err
	}
	if _, identity := Identity(id); identity {
		return block, nil
	}
	if w.seen[id] && !w.Twice {
		if w.again += len(block); w.again > maxAgain {
			return nil, ErrTooLarge
		}
		return block, nil
	}
	w.seen[id] = true
	return block, w.Visit(id, block)
}

// hold counts links that stay in memory while what they lead to is visited.
func (w *Walk) hold(links int) error {
	if w.held += links; w.held > maxHeld {
		return ErrTooLarge
	}
	return nil
}

// done reports whether nothing is left to be shown of what a link leads to.
func (w *Walk) done(id string) bool { return w.whole[id] && !w.Twice }

func (w *Walk) all(id string, depth int) error {
	if depth > maxDepth {
		return ErrTooLarge
	}
	if w.seen[id] && !w.Twice {
		return nil
	}
	block, err := w.visit(id)
	if err != nil {
		return err
	}
	links, err := Links(id, block)
	if err != nil {
		return err
	}
	if err := w.hold(len(links)); err != nil {
		return err
	}
	defer func() { w.held -= len(links) }()
	for _, l := range links {
		if err := w.all(l, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walk) entity(id string, bytes Range) error {
	block, err := w.visit(id)
	if err != nil {
		return err
	}
	codec, err := Codec(id)
	if err != nil || codec != CodecDagPB {
		return err
	}
	n, err := Decode(block)
	if err != nil {
		if errors.Is(err, ErrMalformed) {
			return nil // dag-pb of another kind is no entity: the block is all
		}
		return err
	}
	switch n.Kind {
	case Shard:
		return w.shards(n, 0)
	case File:
		if n.Size > math.MaxInt64 {
			return malformed("file of %d bytes", n.Size)
		}
		from, to := bytes.of(int64(n.Size))
		return w.file(n, from, to, 0)
	}
	return nil
}

func (w *Walk) shards(n Node, depth int) error {
	width, err := n.prefixLen()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return ErrTooLarge
	}
	for _, l := range n.Links {
		if len(l.Name) != width || w.done(l.CID) {
			continue
		}
		block, err := w.visit(l.CID)
		if err != nil {
			return err
		}
		below, err := Decode(block)
		if err != nil {
			return err
		}
		if err := w.shards(below, depth+1); err != nil {
			return err
		}
		w.whole[l.CID] = true
	}
	return nil
}

// file visits what is below a node of a file and has bytes from one offset to
// another, both counted from where the node begins.
func (w *Walk) file(n Node, from, to int64, depth int) error {
	if depth > maxDepth {
		return ErrTooLarge
	}
	if err := w.hold(len(n.Links)); err != nil {
		return err
	}
	defer func() { w.held -= len(n.Links) }()
	at := int64(len(n.Data))
	for i, l := range n.Links {
		if n.Sizes[i] > math.MaxInt64 || at > math.MaxInt64-int64(n.Sizes[i]) {
			return malformed("sizes of a file")
		}
		size := int64(n.Sizes[i])
		begin, end := at, at+size // end is not in it
		at = end
		if size == 0 || end <= from || begin > to || w.done(l.CID) {
			continue
		}
		block, err := w.visit(l.CID)
		if err != nil {
			return err
		}
		codec, err := Codec(l.CID)
		if err != nil {
			return err
		}
		if codec == CodecRaw {
			w.whole[l.CID] = true
			continue
		}
		below, err := Decode(block)
		if err != nil {
			return err
		}
		if below.Kind == File {
			if err := w.file(below, from-begin, to-begin, depth+1); err != nil {
				return err
			}
		}
		// What it consists of counts, not what the link says: it may be longer than that.
		if from <= begin && to-begin >= below.length()-1 {
			w.whole[l.CID] = true
		}
	}
	return nil
}

// length is how many bytes the parts of a file have together.
func (n Node) length() int64 {
	sum := int64(len(n.Data))
	for _, size := range n.Sizes {
		if size > math.MaxInt64 || sum > math.MaxInt64-int64(size) {
			return math.MaxInt64
		}
		sum += int64(size)
	}
	return sum
}

// Matches reports whether a block has a multihash. It is known for SHA-256 and SHA-512;
// blocks of other hashes are not taken.
func Matches(hash string, block []byte) bool {
	switch {
	case len(hash) == 2+sha256.Size && hash[:2] == "\x12\x20":
		sum := sha256.Sum256(block)
		return hash[2:] == string(sum[:])
	case len(hash) == 2+sha512.Size && hash[:2] == "\x13\x40":
		sum := sha512.Sum512(block)
		return hash[2:] == string(sum[:])
	}
	return false
}

// Identity returns the block that a CID contains itself.
func Identity(id string) ([]byte, bool) {
	hash, err := Multihash(id)
	if err != nil {
		return nil, false
	}
	d, err := multihash.Decode([]byte(hash))
	if err != nil || d.Code != multihash.IDENTITY {
		return nil, false
	}
	return d.Digest, true
}

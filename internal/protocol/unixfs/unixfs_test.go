package unixfs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// A block is known by its hash, however its CID is written.
func TestABlockHasOneName(t *testing.T) {
	t.Parallel()
	c := cid.New(cid.DagPB, sha256.Sum256([]byte("x")))
	v1 := string(c.Bytes())
	v0 := v1[2:]
	raw := string(cid.New(cid.Raw, c.Digest()).Bytes())
	for _, id := range []string{v1, v0, raw} {
		read, err := ipld.ParseCID(ipld.CIDText(id))
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := Multihash(read); err != nil || hash != v0 {
			t.Errorf("%x: %x, %v", id, hash, err)
		}
	}
	if _, err := Multihash("\x01\x70"); err == nil {
		t.Error("half a CID has a hash")
	}
}

// graph is a map of blocks.
type graph map[string][]byte

func (g graph) get(id string) ([]byte, error) {
	b, ok := g[id]
	if !ok {
		return nil, errors.New("no such block")
	}
	return b, nil
}

func (g graph) leaf(text string) cid.Link {
	c := cid.New(cid.Raw, sha256.Sum256([]byte(text)))
	g[string(c.Bytes())] = []byte(text)
	return cid.Link{CID: c, Bytes: uint64(len(text)), Cumulative: uint64(len(text))}
}

func (g graph) folder(names ...any) cid.Link {
	var entries []cid.Link
	for i := 0; i < len(names); i += 2 {
		l := names[i+1].(cid.Link)
		l.Name = names[i].(string)
		entries = append(entries, l)
	}
	return cid.Folder(entries, func(b cid.Block) { g[string(b.CID.Bytes())] = b.Data })
}

// A graph that doubles at each level ends: once where blocks are sent once, and with an
// error where each is sent as often as it is met.
func TestGraphsThatDouble(t *testing.T) {
	t.Parallel()
	g := graph{}
	at := g.leaf("x")
	for range 40 {
		at = g.folder("a", at, "b", at)
	}
	root := Resolved{Roots: []string{string(at.CID.Bytes())}}
	n := 0
	w := Walk{Get: g.get, Visit: func(string, []byte) error { n++; return nil }}
	if err := w.Run(root, ScopeAll, Whole()); err != nil || n != 41 {
		t.Errorf("%d blocks, %v", n, err)
	}
	w = Walk{Get: g.get, Twice: true, Visit: func(string, []byte) error { return nil }}
	if err := w.Run(root, ScopeAll, Whole()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("sent as often as it is met: %v", err)
	}
}

// What is met again is not looked at again: neither a leaf that a file repeats, nor
// nodes that double, nor shards; and where parts of a file say less than they have, the
// walk ends with an error.
func TestFilesThatDouble(t *testing.T) {
	t.Parallel()
	g := graph{}
	leaf := g.leaf(strings.Repeat("x", 1000))
	node := func(size uint64, links ...cid.Link) cid.Link {
		block := ""
		data := "\x08\x02\x18" + string(binary.AppendUvarint(nil, size))
		for _, l := range links {
			block += field(2, field(1, string(l.CID.Bytes()))+field(2, ""))
			data += "\x20" + string(binary.AppendUvarint(nil, l.Bytes))
		}
		block += field(1, data)
		c := cid.New(cid.DagPB, sha256.Sum256([]byte(block)))
		g[string(c.Bytes())] = []byte(block)
		return cid.Link{CID: c, Bytes: size}
	}
	at := leaf
	for range 40 {
		at = node(2*at.Bytes, at, at)
	}
	shard := func(links string) string {
		block := links + field(1, "\x08\x05\x28\x22\x30\x80\x02")
		c := string(cid.New(cid.DagPB, sha256.Sum256([]byte(block))).Bytes())
		g[c] = []byte(block)
		return c
	}
	shards := shard("")
	for range 40 {
		shards = shard(field(2, field(1, shards)+field(2, "00")) + field(2, field(1, shards)+field(2, "01")))
	}
	liar := node(1<<60, leaf, leaf)
	liar.Bytes = 1
	for range 4 {
		many := make([]cid.Link, 100)
		for i := range many {
			many[i] = liar
		}
		liar = node(1<<60, many...)
		liar.Bytes = 1
	}
	for name, test := range map[string]struct {
		root  string
		bytes Range
		most  int
	}{
		"whole":         {string(at.CID.Bytes()), Whole(), 41},
		"a part":        {string(at.CID.Bytes()), Range{From: 1500, To: int64(at.Bytes) - 1500}, 200},
		"shards":        {shards, Whole(), 41},
		"shorter links": {string(liar.CID.Bytes()), Range{From: 0, To: 1 << 50}, 200_000},
	} {
		got := 0
		get := func(id string) ([]byte, error) { got++; return g.get(id) }
		shown := map[string]bool{}
		w := Walk{Get: get, Visit: func(id string, _ []byte) error { shown[id] = true; return nil }}
		err := w.Run(Resolved{Roots: []string{test.root}}, ScopeEntity, test.bytes)
		if got > test.most || err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %d blocks were looked at, %v", name, got, err)
		}
		if want := 41; err == nil && name != "shorter links" && len(shown) != want {
			t.Errorf("%s: %d blocks were shown, want %d", name, len(shown), want)
		}
	}
}

func field(number byte, text string) string {
	return string(append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(text))), text...))
}

func TestPaths(t *testing.T) {
	t.Parallel()
	g := graph{}
	file := g.leaf("text")
	inner := g.folder("f.txt", file)
	root := string(g.folder("d", inner, "x", g.leaf("other")).CID.Bytes())
	r, err := Resolve(g.get, root, []string{"d", "f.txt"})
	if err != nil || r.Last() != string(file.CID.Bytes()) ||
		!slices.Equal(r.Blocks, []string{root, string(inner.CID.Bytes())}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, path := range []string{"none", "d/none", "d/f.txt/more", "x/y", strings.Repeat("d/", 100)} {
		if _, err := Resolve(g.get, root, strings.Split(path, "/")); !errors.Is(err, ErrNoPath) {
			t.Errorf("%.20s: %v", path, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	g := graph{}
	l := g.folder("a", g.leaf("x"))
	f.Add(g[string(l.CID.Bytes())])
	f.Add([]byte("\x0a\x04\x08\x05\x28\x22"))
	f.Fuzz(func(_ *testing.T, block []byte) {
		if n, err := Decode(block); err == nil {
			_, _, _ = n.find("name", 1)
		}
		for _, codec := range []string{"\x01\x70", "\x01\x71", "\x01\xa9\x02"} {
			_, _ = Links(codec+"\x12\x20"+strings.Repeat("x", 32), block)
		}
	})
}

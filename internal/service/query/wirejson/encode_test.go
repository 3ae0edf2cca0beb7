package wirejson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// TestScatteredFields writes what a legal but unusual encoder may send: fields
// out of order, lists in pieces, messages in parts, oneofs set twice.
func TestScatteredFields(t *testing.T) {
	t.Parallel()
	c := typesOf(t, wirejson.Cosmos, querytest.DialectFiles(t, vectorsDir))
	str := func(b []byte, n protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
	}
	var lists []byte
	lists = protowire.AppendVarint(protowire.AppendTag(lists, 1, protowire.VarintType), 1) // unpacked
	lists = str(lists, 2, "a")
	lists = protowire.AppendBytes(protowire.AppendTag(lists, 1, protowire.BytesType), []byte{2, 3}) // packed
	lists = str(lists, 2, "b")
	lists = str(lists, 99, "unknown")
	lists = protowire.AppendVarint(protowire.AppendTag(lists, 2, protowire.VarintType), 1) // wrong wire type
	lists = str(lists, 7, "\x08\x01\x12\x01x")
	lists = str(lists, 7, "\x08\x01\x12\x01y") // the last of equal keys wins
	var node []byte
	node = str(node, 3, "lost")
	node = str(node, 2, "\x0a\x01p")
	node = str(node, 5, "k") // replaces text
	node = str(node, 2, "\x1a\x01q")
	node = str(node, 1, "first")
	node = str(node, 1, "last")
	for _, tt := range []struct{ name, wire, want string }{
		{
			"Lists", string(lists),
			`{"numbers":["1","2","3"],"names":["a","b"],"blobs":[],"states":[],"nodes":[],"by_name":{},"by_number":{"1":"y"},"by_truth":{},"zigzag":[]}`,
		},
		{"Node", string(node), `{"name":"last","next":{"name":"p","next":null,"text":"q"},"blob":"aw=="}`},
		{"Node", "\x0a\x02\xff\x41", "{\"name\":\"\uFFFDA\",\"next\":null}"},
	} {
		got, err := c.Encode([]byte("kept"), "castalia.dialect."+tt.name, []byte(tt.wire), 1<<20)
		if err != nil || string(got) != "kept"+tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
}

// TestBothWays holds the short way of messages in order against the long one,
// and sees that a type which comes out of order is remembered as such.
func TestBothWays(t *testing.T) {
	t.Parallel()
	files := querytest.DialectFiles(t, vectorsDir)
	types := knownTypes(querytest.Link(t, files))
	r := rand.New(rand.NewPCG(7, 7))
	for _, dialect := range []wirejson.Dialect{wirejson.Cosmos, wirejson.Plain} {
		c := typesOf(t, dialect, files)
		for _, md := range types {
			for range 40 {
				m := querytest.RandomMessage(r, md, nil)
				wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				name := string(md.FullName())
				short, err1 := c.Encode(nil, name, wire, 1<<24)
				long, err2 := c.EncodeLong(name, wire, 1<<24)
				if err1 != nil || err2 != nil || !bytes.Equal(short, long) {
					t.Fatalf("%s %x: %v, %v\nshort %s\n long %s", name, wire, err1, err2, short, long)
				}
			}
		}
	}
	c := typesOf(t, wirejson.Cosmos, files)
	const node = "castalia.dialect.Node"
	for _, tt := range []struct {
		wire      string
		scattered bool
	}{{"\x0a\x01a\x1a\x01b", false}, {"\x1a\x01b\x0a\x01a", true}} {
		got, err := c.Encode(nil, node, []byte(tt.wire), 1<<20)
		if want := `{"name":"a","next":null,"text":"b"}`; err != nil || string(got) != want || c.Scattered(node) != tt.scattered {
			t.Errorf("%x: %s, %v, scattered %t", tt.wire, got, err, c.Scattered(node))
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	c := typesOf(t, wirejson.Cosmos, querytest.DialectFiles(t, vectorsDir))
	deep := []byte{}
	for range 200 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), deep)
	}
	for _, wire := range []string{"\x0a", "\x0a\x05a", "\x00", "\x08\xff", "\x07", "\x0c", "\x0b", string(deep), "\x12\x01\x0a"} {
		if _, err := c.Encode(nil, "castalia.dialect.Node", []byte(wire), 1<<20); !errors.Is(err, wirejson.ErrMalformed) {
			t.Errorf("%.10x: %v", wire, err)
		}
	}
	// Two bytes for each element become some thirty: the limit is on what is written.
	var many []byte
	for range 10000 {
		many = append(many, 0x2a, 0)
	}
	if _, err := c.Encode(nil, "castalia.dialect.Lists", many, 10000); !errors.Is(err, wirejson.ErrTooLarge) {
		t.Errorf("amplified reply: %v", err)
	}
}

func FuzzEncode(f *testing.F) {
	files := querytest.DialectFiles(f, vectorsDir)
	types := []string{"Scalars", "Lists", "Node", "Known", "Chain"}
	catalogs := []*wirejson.Types{typesOf(f, wirejson.Cosmos, files), typesOf(f, wirejson.Plain, files)}
	for i := range types {
		f.Add(i, []byte("\x0a\x03abc\x12\x02\x0a\x00\x1a\x19\n\x16/castalia.dialect.Node\x12\x01x"))
	}
	f.Add(1, []byte("\x32\x05\x0a\x01a\x12\x00\x3a\x04\x08\x01\x12\x00"))
	f.Fuzz(func(t *testing.T, which int, wire []byte) {
		name := "castalia.dialect." + types[uint(which)%uint(len(types))]
		for _, c := range catalogs {
			c.Forget()
			const limit = 1 << 20
			out, err := c.Encode(nil, name, wire, limit)
			if err != nil {
				continue
			}
			if !json.Valid(out) {
				t.Errorf("%s %x: not JSON: %s", name, wire, out)
			}
			if long, err := c.EncodeLong(name, wire, limit); err != nil || !bytes.Equal(out, long) {
				t.Errorf("%s %x: %v\nshort %s\n long %s", name, wire, err, out, long)
			}
		}
	})
}

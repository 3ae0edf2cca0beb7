package cid

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// vectorFile is spec/vectors/cid.json.
type vectorFile struct {
	Vectors []struct {
		Name, Family, SHA256, CID string
		Size                      int64
		Leaves                    int
		DagSize                   string `json:"dag_size"`
	}
	WrongSettings []struct {
		Family, Settings, CID string
		Size                  int64
	} `json:"wrong_settings"`
	Deep struct {
		Vectors []struct {
			Size int64
			CID  string
		}
	} `json:"deep_vectors"`
}

// quickLimit is the largest content of the ordinary suite.
const quickLimit = 300 << 20

func readVectors(t testing.TB) vectorFile {
	t.Helper()
	b, err := os.ReadFile("../../../spec/vectors/cid.json")
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Vectors) == 0 || len(f.Deep.Vectors) == 0 {
		t.Fatal("no vectors in the file")
	}
	return f
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Vectors {
		if v.Size > quickLimit {
			continue // TestLongVectors
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			checkVector(t, v.Family, v.Size, v.CID, v.SHA256, v.Leaves, v.DagSize)
		})
	}
}

func checkVector(t *testing.T, family string, size int64, want, sha string, leaves int, dagSize string) {
	t.Helper()
	s := NewState(false)
	if err := s.Scan(generate(family, size), Options{}); err != nil {
		t.Fatal(err)
	}
	r := s.Finish()
	if got := r.CID.String(); got != want {
		t.Errorf("CID = %s, want %s", got, want)
	}
	if got := hex.EncodeToString(r.Content[:]); got != sha {
		t.Errorf("content hash = %s, want %s", got, sha)
	}
	if len(r.Leaves) != leaves || r.Size != size {
		t.Errorf("leaves, size = %d, %d; want %d, %d", len(r.Leaves), r.Size, leaves, size)
	}
	root := FromLeaves(r.Leaves, size, nil)
	if got := strconv.FormatUint(root.Cumulative, 10); got != dagSize || root.CID != r.CID {
		t.Errorf("from leaves: dag size %s, CID %s; want %s, %s", got, root.CID, dagSize, r.CID)
	}
}

func TestDeepVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Deep.Vectors {
		for _, workers := range []int{1, 3} {
			s := NewState(false)
			s.leaf, s.fanout = 16, 4
			if err := s.Scan(generate("fmix32", v.Size), Options{Workers: workers}); err != nil {
				t.Fatal(err)
			}
			if got := s.Finish().CID.String(); got != v.CID {
				t.Errorf("size %d: CID = %s, want %s", v.Size, got, v.CID)
			}
		}
	}
}

func TestWrongSettingsAreNotOurs(t *testing.T) {
	t.Parallel()
	for _, w := range readVectors(t).WrongSettings {
		if w.Size > quickLimit || strings.Contains(w.Settings, "same CID") {
			continue
		}
		got, _, err := Sum(generate(w.Family, w.Size), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.String() == w.CID {
			t.Errorf("size %d gives the CID of wrong settings: %s", w.Size, w.CID)
		}
	}
}

// generate returns the vectors' content: size bytes of the family.
func generate(family string, size int64) io.Reader {
	return &generator{family: family, left: size}
}

type generator struct {
	family string
	pos    uint64
	left   int64
}

func (g *generator) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), g.left))
	p = p[:n]
	switch g.family {
	case "zero":
		clear(p)
	case "affine":
		for i := range p {
			p[i] = byte((g.pos+uint64(i))*31 + 7)
		}
	default:
		g.fmix(p)
	}
	g.pos += uint64(n)
	g.left -= int64(n)
	return n, nil
}

func (g *generator) fmix(p []byte) {
	pos := g.pos
	for len(p) > 0 {
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], fmix32(uint32(pos/4)))
		n := copy(p, word[pos%4:])
		p, pos = p[n:], pos+uint64(n)
	}
}

func fmix32(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

package cid

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	c := New(Raw, sha256.Sum256([]byte("x")))
	for _, text := range []string{c.String(), "f01551220" + strings.Repeat("00", 32)} {
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		again, err := Parse(got.String())
		if err != nil || again != got {
			t.Errorf("round trip of %q: %v, %v", text, again, err)
		}
	}
	for _, text := range []string{
		"", "b", "bafk", "not a cid", "QmPbpjoVLmQRjNRbepMaJy7uWVFtpYEAYaUFx1eYrhv5L9", c.String() + "a",
		"f01711220" + strings.Repeat("00", 32), // dag-cbor
		"f01551320" + strings.Repeat("00", 32), // another hash
		strings.Repeat("b", 10_000),
	} {
		if got, err := Parse(text); !errors.Is(err, ErrForeign) {
			t.Errorf("Parse(%.40q) = %v, %v; want ErrForeign", text, got, err)
		}
	}
}

func TestZeroCIDNamesNothing(t *testing.T) {
	t.Parallel()
	if c := (CID{}); c.Defined() || c.String() != "" {
		t.Errorf("zero CID: %v %q", c.Defined(), c.String())
	}
}

// A pass cut anywhere, saved, and continued elsewhere gives the same result.
func TestStateContinues(t *testing.T) {
	t.Parallel()
	content, err := io.ReadAll(generate("fmix32", 3<<20+77))
	if err != nil {
		t.Fatal(err)
	}
	whole := NewState(false)
	if err := whole.Scan(bytes.NewReader(content), Options{}); err != nil {
		t.Fatal(err)
	}
	want := whole.Finish()
	rapid.Check(t, func(t *rapid.T) {
		s := NewState(false)
		for at := 0; at < len(content); {
			n := min(rapid.SampledFrom([]int{1, 1000, LeafSize - 1, LeafSize, LeafSize + 1, 2 << 20}).Draw(t, "n"),
				len(content)-at)
			r := io.Reader(bytes.NewReader(content[at : at+n]))
			if rapid.Bool().Draw(t, "cut") {
				r = io.MultiReader(r, iotest.ErrReader(errors.New("line dropped")))
			}
			_ = s.Scan(r, Options{SizeHint: int64(rapid.IntRange(0, 4<<20).Draw(t, "hint"))})
			at += n
			if s.Offset() != int64(at) {
				t.Fatalf("offset %d after %d bytes", s.Offset(), at)
			}
			b, err := s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			s = NewState(false)
			if err := s.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, s.Finish(), cmp.AllowUnexported(CID{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFollowSeesEverythingInOrder(t *testing.T) {
	t.Parallel()
	want, _ := io.ReadAll(generate("fmix32", 5<<20+3))
	broken := errors.New("the line broke")
	for _, size := range []int{0, 1, pieceSize, LeafSize, LeafSize + 1, len(want)} {
		for _, cidOnly := range []bool{false, true} {
			for _, end := range []error{io.EOF, broken, io.ErrUnexpectedEOF} {
				var got bytes.Buffer
				s := NewState(cidOnly)
				r := io.MultiReader(iotest.HalfReader(bytes.NewReader(want[:size])), iotest.ErrReader(end))
				err := s.Scan(r, Options{Follow: func(next Next) error {
					for {
						p, err := next()
						if err != nil {
							if !errors.Is(err, end) {
								t.Errorf("%d bytes: the end is %v, want %v", size, err, end)
							}
							return nil
						}
						got.Write(p)
					}
				}})
				//nolint:errorlint // io.EOF itself is meant
				if want := end != io.EOF; want != (err != nil) || want && !errors.Is(err, end) {
					t.Errorf("%d bytes: scan: %v", size, err)
				}
				if !bytes.Equal(want[:size], got.Bytes()) || s.Offset() != int64(size) {
					t.Errorf("%d bytes: the follower saw %d, the state %d", size, got.Len(), s.Offset())
				}
			}
		}
	}
}

func TestFollowStopsThePass(t *testing.T) {
	t.Parallel()
	stop := errors.New("disk full")
	for _, after := range []int{0, 1, 5, 20} {
		s := NewState(false)
		err := s.Scan(generate("zero", 64<<20), Options{Follow: func(next Next) error {
			for range after {
				if _, err := next(); err != nil {
					return err
				}
			}
			return stop
		}})
		if !errors.Is(err, stop) {
			t.Errorf("after %d pieces: %v", after, err)
		}
		if s.Offset() > 32<<20 {
			t.Errorf("after %d pieces: went on to %d", after, s.Offset())
		}
	}
}

// A follower that has seen enough does not end the hashing.
func TestFollowMayLeaveEarly(t *testing.T) {
	t.Parallel()
	want, s := NewState(false), NewState(false)
	if err := want.Scan(generate("fmix32", 3<<20), Options{}); err != nil {
		t.Fatal(err)
	}
	err := s.Scan(generate("fmix32", 3<<20), Options{Follow: func(next Next) error { _, err := next(); return err }})
	if err != nil || s.Finish().CID != want.Finish().CID {
		t.Errorf("scan: %v", err)
	}
}

func TestInnerNodesAreEmittedChildrenFirst(t *testing.T) {
	t.Parallel()
	leaves := make([]Digest, 1025)
	var got []CID
	root := FromLeaves(leaves, 1025*LeafSize, func(b Block) {
		if New(DagPB, sha256.Sum256(b.Data)) != b.CID {
			t.Error("block does not hash to its CID")
		}
		got = append(got, b.CID)
	})
	if len(got) != 3 || got[2] != root.CID {
		t.Errorf("emitted %d nodes, root last: %v", len(got), len(got) == 3 && got[2] == root.CID)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
	f.Add("QmPbpjoVLmQRjNRbepMaJy7uWVFtpYEAYaUFx1eYrhv5L9")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(c.String()); err != nil || again != c {
			t.Fatalf("%q does not round trip: %v", s, err)
		}
	})
}

func FuzzState(f *testing.F) {
	s := NewState(false)
	_ = s.Scan(generate("fmix32", 2<<20+5), Options{})
	b, _ := s.MarshalBinary()
	f.Add(b)
	b, _ = NewState(false).MarshalBinary()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if s.UnmarshalBinary(b) != nil {
			return
		}
		again, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.UnmarshalBinary(again); err != nil {
			t.Fatalf("does not round trip: %v", err)
		}
		s.Finish()
	})
}

package shelf

import (
	"bytes"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// What is open has a bound in bytes: collections that nobody asked for lately are
// closed, and the one that is being asked for is not.
func TestOpenSegmentsHaveABoundInBytes(t *testing.T) {
	t.Parallel()
	segment := func(text string) *textindex.Segment {
		b := textindex.NewBuilder("ns")
		if err := b.Add(textindex.Passage{Document: "d", Text: text}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := b.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		s, err := textindex.OpenBytes(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if s.Memory() < int64(out.Len())/2 {
			t.Fatalf("%d bytes are said to be %d", out.Len(), s.Memory())
		}
		return s
	}
	one := segment("the harvest was good")
	o := NewOpened(Shelf{}, nil, 3*one.Memory(), nil)
	for _, ns := range []string{"a", "b", "c"} {
		if gone := o.add(ns, "1", one); len(gone) > 0 {
			t.Fatalf("%q are gone", gone)
		}
	}
	if o.find("a", "1") == nil {
		t.Fatal("it is not open")
	}
	if gone := o.add("a", "2", one); len(gone) != 1 || gone[0] != "b" || o.find("b", "1") != nil || o.find("c", "1") == nil {
		t.Errorf("%q are gone", gone)
	}
	for _, id := range []string{"2", "3", "4", "5"} {
		o.add("a", id, one)
	}
	if o.find("c", "1") != nil || o.find("a", "1") == nil || o.bytes != 5*one.Memory() {
		t.Errorf("%d bytes of %d spaces", o.bytes, len(o.spaces))
	}
	if o.Keep("a", []string{"4"}); o.bytes != one.Memory() || o.find("a", "4") == nil {
		t.Errorf("%d bytes", o.bytes)
	}
	if o.Drop("a", "4"); o.bytes != 0 || len(o.spaces) != 0 {
		t.Errorf("%d bytes of %d spaces", o.bytes, len(o.spaces))
	}
}

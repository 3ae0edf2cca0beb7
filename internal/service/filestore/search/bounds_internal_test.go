package search

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

func TestABudgetIsSpentInUnitsAndEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	b := budget{10}
	ctx := t.Context()
	if err := errors.Join(b.spend(ctx, 6), b.spend(ctx, 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.spend(ctx, 1); !errors.Is(err, errSpent) {
		t.Errorf("beyond the budget: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.spend(over, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the request: %v", err)
	}
}

func TestASearchSaysThatItsWorkWasSpent(t *testing.T) {
	t.Parallel()
	want := "at most 100 files are shown; too many longer words fit: not all of them were looked for"
	if got := strings.Join(leftOut(101, textindex.Result{Spent: true}), "; "); got != want {
		t.Errorf("%q", got)
	}
	if got := leftOut(100, textindex.Result{}); len(got) != 0 {
		t.Errorf("nothing was left out: %q", got)
	}
}

// What is open has a bound in bytes: namespaces that nobody asked for lately are
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
	o := newOpenedSegments(3 * one.Memory())
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
	if o.keep("a", []string{"4"}); o.bytes != one.Memory() || o.find("a", "4") == nil {
		t.Errorf("%d bytes", o.bytes)
	}
	if o.drop("a", "4"); o.bytes != 0 || len(o.spaces) != 0 {
		t.Errorf("%d bytes of %d spaces", o.bytes, len(o.spaces))
	}
}

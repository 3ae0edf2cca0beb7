package talksearch

import (
	"context"
	"errors"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// stands is a Store that counts what it is asked.
type stands struct {
	Store

	at    Stand
	asked int
}

func (s *stands) Stand(context.Context, string, Look) (Stand, error) {
	s.asked++
	return s.at, nil
}

func (*stands) SessionsByID(context.Context, string, []string) (map[string]oracle.Session, error) {
	return nil, nil
}

// What was said is indexed once for many searches, and again when it is not what it was.
func TestWhatWasSaidIsIndexedOnce(t *testing.T) {
	t.Parallel()
	said := func(title, text string, seq int64) Stand {
		turn := Turn{Session: "a", Turn: 1}
		return Stand{
			Talks:  []Talk{{ID: "a", Title: title, Next: seq + 1, Indexed: 1, Unread: true}},
			Unread: []Message{{Turn: turn, Seq: seq, Text: text}},
		}
	}
	s := &Service{}
	seen := map[*textindex.View]bool{}
	look := func(at Stand) *textindex.View {
		t.Helper()
		view, err := s.freshView("ada", at)
		if err != nil || view == nil {
			t.Fatal("nothing is searched: ", err)
		}
		return view
	}
	for _, at := range []Stand{
		said("Bees", "they fly", 1), said("Bees", "they fly far", 1), said("Wasps", "they fly far", 1), said("Wasps", "they fly far", 2),
	} {
		first := look(at)
		if seen[first] {
			t.Errorf("%+v is searched in what was before", at)
		}
		if seen[first] = true; look(at) != first {
			t.Errorf("%+v is indexed twice", at)
		}
	}
	if view, err := s.freshView("ada", Stand{}); view != nil || err != nil {
		t.Errorf("of nothing: %v, %v", view, err)
	}
	if len(s.fresh.kept) != 0 {
		t.Error("what is over is kept")
	}
}

// Segments of many owners have a bound together, and those that were searched last stay.
func TestFreshSegmentsAreBounded(t *testing.T) {
	t.Parallel()
	var f fresh
	for _, owner := range []string{"a", "b", "c", "a", "d"} {
		f.keep(freshSegment{owner: owner, size: maxFresh / 3})
	}
	f.take("c", [32]byte{})
	f.keep(freshSegment{owner: "e", size: maxFresh / 3})
	got := ""
	for _, s := range f.kept {
		got += s.owner
	}
	if got != "dce" {
		t.Errorf("kept: %q", got)
	}
	f.keep(freshSegment{owner: "f", size: maxFresh + 1})
	if len(f.kept) != 3 {
		t.Errorf("%d are kept beside what is too large", len(f.kept))
	}
}

// One search of an owner reads at a time.
func TestSearchesOfOneWaitForEachOther(t *testing.T) {
	t.Parallel()
	st := &stands{}
	s := New(Deps{Store: st})
	leave, err := s.searches.Take(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Search(gone, "ada", "bees", 1, 0); !errors.Is(err, context.Canceled) || st.asked != 0 {
		t.Errorf("beside another: %d looks, %v", st.asked, err)
	}
	if _, err := s.Search(t.Context(), "eve", "bees", 1, 0); err != nil || st.asked != 1 {
		t.Errorf("beside another's: %d looks, %v", st.asked, err)
	}
	leave()
	if _, err := s.Search(t.Context(), "ada", "bees", 1, 0); err != nil || st.asked != 2 {
		t.Errorf("behind another: %d looks, %v", st.asked, err)
	}
}

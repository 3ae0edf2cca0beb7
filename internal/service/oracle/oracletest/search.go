package oracletest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
)

// searches are two ways to search for something of Owner's: as things are, and with all
// of it in the index.
func searches(t *testing.T, st Store) []func(text string, limit, offset int) talksearch.Result {
	t.Helper()
	s := talksearch.New(talksearch.Deps{
		Store: st, Blobs: blobmem.New(), Sealer: sealing.Sealer{Key: bytes.Repeat([]byte{7}, 32), Purpose: "search"},
		Now: func() time.Time { return time.Now().Add(time.Hour) }, // nothing was said just now
	})
	find := func(text string, limit, offset int) talksearch.Result {
		t.Helper()
		r, err := s.Search(t.Context(), Owner, text, limit, offset)
		if err != nil || r.Behind != 0 {
			t.Fatalf("%q: %d behind, %v", text, r.Behind, err)
		}
		return r
	}
	return []func(text string, limit, offset int) talksearch.Result{
		find,
		func(text string, limit, offset int) talksearch.Result {
			t.Helper()
			for more := true; more; {
				var err error
				more, err = s.IndexOnce(t.Context())
				must(t, err)
			}
			must(t, s.TidyOnce(t.Context()))
			return find(text, limit, offset)
		},
	}
}

// testIndexGoes deletes all sessions, at last one that the index never read.
func testIndexGoes(t *testing.T, st Store) {
	ctx := t.Context()
	s, empty := NewSession(t, st), NewSession(t, st)
	Answer(t, st, Say(t, st, s.ID, "bees", oracle.Interrupt).Run, "fly")
	searches(t, st)[1]("bees", 5, 0)
	has := func() bool {
		t.Helper()
		at, err := st.Stand(ctx, Owner, talksearch.Look{Segments: true, Known: -1})
		must(t, err)
		return at.Index.WrappedKey != nil
	}
	if !has() {
		t.Fatal("there is no index")
	}
	for _, id := range []string{s.ID, empty.ID} {
		_, err := st.DeleteSession(ctx, Owner, id)
		must(t, err)
	}
	if has() {
		t.Error("the index of nothing is there")
	}
}

func testSearch(t *testing.T, st Store) {
	talk := func(title, said, answer string) string {
		s := NewSession(t, st)
		_, err := st.SetTitle(t.Context(), s.ID, title, time.Now())
		must(t, err)
		Answer(t, st, Say(t, st, s.ID, said, oracle.Interrupt).Run, answer)
		return s.ID
	}
	bees := talk("Bees in spring", "When do they fly?", "On warm days, above 10 °C.")
	apples := talk("Äpfel und Birnen", "What grows here?", "Plums, 100% of them; a_b \\ c. Bees help.")
	foreign := oracle.Session{
		ID: oracle.NewID(), Owner: Stranger, Title: "Bees elsewhere", CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}
	must(t, st.CreateSession(t.Context(), foreign))

	for i, find := range searches(t, st) {
		for _, c := range []struct {
			text string
			want []string
		}{
			{"bees", []string{apples, bees}}, // title of one, answer of the other, nobody else's
			{"BEES fly", []string{bees}},
			{"bee flying", []string{bees}},
			{"bees grows", []string{apples}},
			{"äpfel", []string{apples}},
			{"ÄPFEL", []string{apples}},
			{"birn", []string{apples}},
			{"100%", []string{apples}},
			{"elsewhere", nil},
			{"zebra", nil},
			{"bees zebra", nil},
			{`\`, nil},
			{"%", nil},
			{"untitled", nil},
		} {
			found := find(c.text, 10, 0)
			var got []string
			for _, h := range found.Hits {
				got = append(got, h.ID)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if d := cmp.Diff(c.want, got); d != "" || int(found.Total) != len(c.want) {
				t.Errorf("%d: %q: %d found, %s", i, c.text, found.Total, d)
			}
		}
		if found := find("bees", 1, 1); found.Total != 2 || len(found.Hits) != 1 {
			t.Fatalf("%d: second page: %+v", i, found)
		}
		if found := find("grows plums bees", 1, 0); len(found.Hits) != 1 || found.Hits[0].Title != "Äpfel und Birnen" ||
			found.Hits[0].Excerpt != "Plums, 100% of them; a_b \\ c. Bees help." {
			t.Fatalf("%d: the message with most of the words: %+v", i, found)
		}
		if found := find("spring", 1, 0); len(found.Hits) != 1 || found.Hits[0].Excerpt != "" {
			t.Fatalf("%d: only the title has it: %+v", i, found)
		}
	}
}

package oracletest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Branched is a session of two turns, of which the second was asked anew: it has six
// messages, of which two are not shown, and feedback on one of those.
func Branched(t testing.TB, st Store) oracle.Session {
	t.Helper()
	s := NewSession(t, st)
	Answer(t, st, Say(t, st, s.ID, "a", oracle.Interrupt).Run, "on a")
	hidden := Answer(t, st, Say(t, st, s.ID, "b", oracle.Interrupt).Run, "on b")
	asked, err := st.Asked(t.Context(), Owner, s.ID, hidden.ID)
	must(t, err)
	q := asked.Request
	q.Message, q.Version = "B", &oracle.VersionOf{Root: asked.Root, Kind: oracle.Edited}
	begun, err := ask(t, st, s.ID, q, oracle.Interrupt, oracle.NewID(), false)
	must(t, err)
	Answer(t, st, begun.Run, "on B")
	must(t, st.SetFeedback(t.Context(), Owner, s.ID, oracle.Feedback{
		MessageID: hidden.ID, Rating: oracle.RatingDown, Text: "no", At: time.Now(),
	}))
	return s
}

// WantBranched looks whether all of Branched is there, as many at a time.
func WantBranched(t testing.TB, st oracle.Store, s oracle.Session, limit int) {
	t.Helper()
	var said, rated []string
	for at, more := (oracle.Place{}), true; more; {
		var list []oracle.Message
		var err error
		list, more, err = st.Whole(t.Context(), Owner, s.ID, at, limit)
		must(t, err)
		for _, m := range list {
			said, at = append(said, m.Content), oracle.Place{Turn: m.Turn, Seq: m.Seq}
			if m.Feedback != nil {
				rated = append(rated, m.Content+": "+m.Feedback.Text)
			}
		}
	}
	if want := []string{"a", "on a", "b", "on b", "B", "on B"}; !slices.Equal(said, want) {
		t.Errorf("%d at a time there are %q, want %q", limit, said, want)
	}
	if want := []string{"on b: no"}; !slices.Equal(rated, want) {
		t.Errorf("what was thought of answers: %q, want %q", rated, want)
	}
	branches, err := st.Branches(t.Context(), Owner, s.ID)
	must(t, err)
	hidden := 0
	for _, b := range branches {
		if b.Hidden {
			hidden++
		}
	}
	if hidden != 1 {
		t.Errorf("branches are %+v, want one that is not shown", branches)
	}
}

// testEveryBranch reads conversations with what is not shown of them.
func testEveryBranch(t *testing.T, st Store) {
	s := Branched(t, st)
	for _, limit := range []int{1, 4, 6, 100} {
		WantBranched(t, st, s, limit)
	}
	ctx := t.Context()
	for owner, id := range map[string]string{Stranger: s.ID, Owner: "none"} {
		if list, _, err := st.Whole(ctx, owner, id, oracle.Place{}, 9); !errors.Is(err, oracle.ErrSessionNotFound) {
			t.Errorf("%s read %s: %+v %v", owner, id, list, err)
		}
		if list, err := st.Branches(ctx, owner, id); err != nil || len(list) != 0 {
			t.Errorf("%s saw branches of %s: %+v %v", owner, id, list, err)
		}
	}
	all := []string{s.ID, NewSession(t, st).ID, NewSession(t, st).ID}
	slices.Sort(all)
	var got []string
	for after := ""; ; {
		some, err := st.SessionsAfter(ctx, Owner, after, 1)
		must(t, err)
		if len(some) == 0 {
			break
		}
		after = some[0].ID
		got = append(got, after)
	}
	if !slices.Equal(got, all) {
		t.Errorf("one by one there are %q, want %q", got, all)
	}
	if list, err := st.SessionsAfter(ctx, Stranger, "", 9); err != nil || len(list) != 0 {
		t.Errorf("a stranger saw %+v, %v", list, err)
	}
}

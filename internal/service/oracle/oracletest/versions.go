package oracletest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// testVersions asks turns anew, in all places, and goes back.
func testVersions(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	turn := func(text string) (human, answer string) {
		r := Say(t, st, s.ID, text, oracle.Interrupt).Run
		return r.MessageID, Answer(t, st, r, "on "+text).ID
	}
	expect := func(what string, want ...string) { t.Helper(); expectShown(t, st, s.ID, what, want...) }
	choose := func(message string) { t.Helper(); must(t, st.Choose(ctx, Owner, s.ID, message)) }
	a, _ := turn("a")
	b, answerB := turn("b")
	c, answerC := turn("c")
	must(t, st.SetSummary(ctx, s.ID, "about a and b", 3))
	_, session := askAnew(t, st, s.ID, oracle.LastTurn, "", oracle.Regenerated)
	expect("the last again", "a", "on a", "b", "on b", "c", "again on c")
	if session.Branch != 1 || session.SummaryThrough != 3 {
		t.Errorf("a summary of what is still shown was forgotten: %+v", session)
	}
	edited, session := askAnew(t, st, s.ID, answerB, "B", oracle.Edited)
	expect("another question in the middle", "a", "on a", "B", "again on B")
	if session.Branch != 2 || session.Summary != "" || session.SummaryThrough != 0 {
		t.Errorf("a summary of what is not shown any more was kept: %+v", session)
	}
	must(t, st.SetSummary(ctx, s.ID, "about b", 3))
	if got, err := st.Session(ctx, Owner, s.ID); err != nil || got.Summary != "" {
		t.Errorf("a summary of a hidden turn was taken: %+v %v", got, err)
	}
	turn("d")
	expect("a conversation goes on behind a version", "a", "on a", "B", "again on B", "d", "on d")
	for _, find := range searches(t, st) {
		if got := find("c", 5, 0); len(got.Hits) != 0 {
			t.Errorf("a search found what is not shown: %+v", got)
		}
		if got := find("d", 5, 0); len(got.Hits) != 1 || got.Hits[0].Excerpt != "d" {
			t.Errorf("a search did not find what is shown: %+v", got)
		}
	}
	choose(b)
	expect("back to the first", "a", "on a", "b", "on b", "c", "again on c")
	for _, find := range searches(t, st) {
		if got := find("c", 5, 0); len(got.Hits) != 1 {
			t.Errorf("a search did not find what is shown again: %+v", got)
		}
	}
	choose(answerC)
	expect("an answer names its version, too", "a", "on a", "b", "on b", "c", "on c")
	page, err := st.Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 2})
	if err != nil || len(page.Messages) != 4 || page.Messages[3].Content != "on c" || !page.HasOlder || page.HasNewer {
		t.Errorf("the newest turns: %+v %v", page, err)
	}
	if page, err = st.Page(ctx, Owner, s.ID, oracle.PageQuery{Limit: 9, Before: edited}); err != nil ||
		len(page.Messages) != 6 {
		t.Errorf("before a message that is not shown: %d %v", len(page.Messages), err)
	}
	choose(edited)
	expect("and forth", "a", "on a", "B", "again on B", "d", "on d")
	testVersionLists(t, st, s.ID, a, b, c, edited)
	testVersionsRefused(t, st, s, b)
	_, err = st.DeleteSession(ctx, Owner, s.ID)
	must(t, err)
}

// askAnew asks a turn again and answers it.
func askAnew(t *testing.T, st Store, session, message, text string, kind oracle.VersionKind,
) (human string, now oracle.Session) {
	t.Helper()
	asked, err := st.Asked(t.Context(), Owner, session, message)
	must(t, err)
	q := asked.Request
	if q.Version = (&oracle.VersionOf{Root: asked.Root, Kind: kind}); text != "" {
		q.Message = text
	}
	begun, err := ask(t, st, session, q, oracle.Interrupt, oracle.NewID(), false)
	must(t, err)
	Answer(t, st, begun.Run, "again on "+q.Message)
	return begun.Run.MessageID, begun.Session
}

func expectShown(t *testing.T, st Store, session, what string, want ...string) {
	t.Helper()
	list, err := st.Messages(t.Context(), Owner, session, 0)
	must(t, err)
	var got []string
	for _, m := range list {
		got = append(got, m.Content)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// testVersionLists looks at the versions of turns a, b and c, of which b was edited.
func testVersionLists(t *testing.T, st Store, session, a, b, c, edited string) {
	t.Helper()
	ctx := t.Context()
	versions, err := st.Versions(ctx, Owner, session, 3)
	if err != nil || len(versions) != 2 || versions[0].MessageID != b || versions[1].MessageID != edited ||
		versions[0].Chosen || !versions[1].Chosen ||
		versions[1].Kind != oracle.Edited || versions[0].Kind != oracle.Original || versions[1].Content != "B" {
		t.Errorf("versions: %+v %v", versions, err)
	}
	if versions, err = st.Versions(ctx, Owner, session, 0); err != nil || len(versions) != 4 {
		t.Errorf("all that have several: %+v %v", versions, err)
	}
	versions, err = st.Versions(ctx, Owner, session, 1)
	if err != nil || len(versions) != 1 || versions[0].MessageID != a {
		t.Errorf("the only one: %+v %v", versions, err)
	}
	if list, err := st.Turn(ctx, Owner, session, 5); err != nil || len(list) != 2 || list[0].ID != c {
		t.Errorf("a turn that is not shown: %+v %v", list, err)
	}
}

// testLongVersions: a list has the beginning of each version, whoever asks that often.
func testLongVersions(t *testing.T, st Store) {
	s := NewSession(t, st)
	long := strings.Repeat("\u2028", 300_000)
	for i, c := range []struct {
		text, want string
	}{
		{long, long[:3*oracle.VersionText] + "…"},
		{long[:3*oracle.VersionText], long[:3*oracle.VersionText]},
		{long[:3*oracle.VersionText] + "x", long[:3*oracle.VersionText] + "…"},
	} {
		if i == 0 {
			Answer(t, st, Say(t, st, s.ID, c.text, oracle.Interrupt).Run, "ho")
		} else {
			askAnew(t, st, s.ID, oracle.LastTurn, c.text, oracle.Edited)
		}
		list, err := st.Versions(t.Context(), Owner, s.ID, 1)
		if err != nil || len(list) != i+1 {
			t.Fatalf("%d versions: %v", len(list), err)
		}
		if got := list[i]; got.Content != c.want || got.Shortened != (c.want != c.text) {
			t.Errorf("%d of %d bytes are shown, shortened: %v", len(got.Content), len(c.text), got.Shortened)
		}
	}
}

func testVersionsRefused(t *testing.T, st Store, s oracle.Session, message string) {
	t.Helper()
	ctx := t.Context()
	if err := st.Choose(ctx, Stranger, s.ID, message); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("a stranger chose: %v", err)
	}
	if err := st.Choose(ctx, Owner, s.ID, "none"); !errors.Is(err, oracle.ErrMessageNotFound) {
		t.Errorf("nothing was chosen: %v", err)
	}
	for owner, want := range map[string]error{Stranger: oracle.ErrSessionNotFound, Owner: oracle.ErrMessageNotFound} {
		if _, err := st.Asked(ctx, owner, s.ID, "none"); !errors.Is(err, want) {
			t.Errorf("%s asked: %v", owner, err)
		}
	}
	if list, err := st.Versions(ctx, Stranger, s.ID, 3); err != nil || len(list) != 0 {
		t.Errorf("a stranger saw versions: %+v %v", list, err)
	}
	once := func(text string) (bool, error) {
		b, err := ask(t, st, s.ID,
			oracle.TurnRequest{
				Message: text, Version: &oracle.VersionOf{Root: 1, Kind: oracle.Edited},
			}, oracle.Interrupt, "once-1", true)
		return b.Repeat, err
	}
	if repeat, err := once("A"); err != nil || repeat {
		t.Fatalf("once: %v %v", repeat, err)
	}
	if repeat, err := once("A"); err != nil || !repeat {
		t.Errorf("twice: %v %v", repeat, err)
	}
	if _, err := once("AA"); !fault.Is(err, fault.Conflict) {
		t.Errorf("another under the same id: %v", err)
	}
	if err := st.Choose(ctx, Owner, s.ID, message); !errors.Is(err, oracle.ErrChoosing) {
		t.Errorf("chosen while a run is live: %v", err)
	}
	if _, err := ask(t, st, s.ID, oracle.TurnRequest{Message: "x", Version: &oracle.VersionOf{Root: 99}}, oracle.Interrupt,
		oracle.NewID(), false); !errors.Is(err, oracle.ErrMessageNotFound) {
		t.Errorf("a version of nothing: %v", err)
	}
}

func testFeedback(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	r := Say(t, st, s.ID, "a", oracle.Interrupt).Run
	m := Answer(t, st, r, "on a")
	now := time.Now().Truncate(time.Millisecond)
	today := oracle.DayOf(now)
	give := func(owner, message string, rating oracle.Rating, text string) error {
		return st.SetFeedback(ctx, owner, s.ID, oracle.Feedback{MessageID: message, Rating: rating, Text: text, At: now})
	}
	must(t, give(Owner, m.ID, oracle.RatingUp, "thanks"))
	must(t, give(Owner, m.ID, oracle.RatingDown, "no, wrong"))
	got, err := st.Feedback(ctx, Owner, s.ID)
	if err != nil || len(got) != 1 || got[m.ID].Rating != oracle.RatingDown || got[m.ID].Text != "no, wrong" ||
		!got[m.ID].At.Equal(now) {
		t.Errorf("feedback: %+v %v", got, err)
	}
	if got, err = st.Feedback(ctx, Stranger, s.ID); err != nil || len(got) != 0 {
		t.Errorf("a stranger read: %+v %v", got, err)
	}
	counts, err := st.FeedbackCounts(ctx, today, today)
	if err != nil || len(counts) != 1 || counts[0].Up != 0 || counts[0].Down != 1 || counts[0].Day != today {
		t.Errorf("counts: %+v %v", counts, err)
	}
	if counts, err = st.FeedbackCounts(ctx, today+1, today+1); err != nil || len(counts) != 0 {
		t.Errorf("tomorrow: %+v %v", counts, err)
	}
	if err := give(Stranger, m.ID, oracle.RatingUp, ""); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("a stranger's feedback: %v", err)
	}
	if err := give(Owner, "none", oracle.RatingUp, ""); !errors.Is(err, oracle.ErrMessageNotFound) {
		t.Errorf("on nothing: %v", err)
	}
	if err := give(Owner, r.MessageID, oracle.RatingUp, ""); !fault.Is(err, fault.Invalid) {
		t.Errorf("on a question: %v", err)
	}
	must(t, give(Owner, m.ID, "", ""))
	if got, err = st.Feedback(ctx, Owner, s.ID); err != nil || len(got) != 0 {
		t.Errorf("taken back: %+v %v", got, err)
	}
}

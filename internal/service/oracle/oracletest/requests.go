package oracletest

import (
	"errors"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

func testRequestIDs(t *testing.T, st Store) {
	s := NewSession(t, st)
	a, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", true)
	must(t, err)
	b, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", true)
	must(t, err)
	if !b.Repeat || b.Run.ID != a.Run.ID {
		t.Errorf("a repeated request started another run: %+v", b)
	}
	if _, err := say(t, st, s.ID, "something else", oracle.Enqueue, "same", true); !errors.Is(err, run.ErrReused) {
		t.Errorf("another message under the same request id: %v", err)
	}
	c, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", false)
	must(t, err)
	if c.Run.RequestID == "same" {
		t.Error("two live runs share a request id")
	}
	found, err := st.ByRequest(t.Context(), Owner, s.ID, "same")
	if err != nil || found.ID != a.Run.ID || found.BeganBy != "token of hi" {
		t.Errorf("by request: %v %v", found.ID, err)
	}
	if _, err := st.Run(t.Context(), Stranger, a.Run.ID); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("a stranger read a run: %v", err)
	}
	if one, err := st.Abort(t.Context(), Owner, s.ID, a.Run.ID); err != nil || len(one) != 1 || one[0].ID != a.Run.ID {
		t.Errorf("aborted by name: %v %v", one, err)
	}
	latest, ok, err := st.Latest(t.Context(), Owner, s.ID)
	if err != nil || !ok || latest.ID != c.Run.ID {
		t.Errorf("latest: %v %v %v", latest.ID, ok, err)
	}
	live, err := st.DeleteSession(t.Context(), Owner, s.ID)
	if err != nil || len(live) != 2 {
		t.Errorf("live runs of a deleted session: %v %v", live, err)
	}
	if _, _, err := st.Frames(t.Context(), a.Run.ID, 0, 1); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("frames of a deleted session: %v", err)
	}
}

// testManyOfOneRequest: whoever says the same again and again gets the id each time,
// unless it is being answered.
func testManyOfOneRequest(t *testing.T, st Store) {
	s := NewSession(t, st)
	for i := range 20 {
		begun, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", false)
		must(t, err)
		if begun.Run.RequestID != "same" {
			t.Fatalf("number %d has another id", i)
		}
		other, err := say(t, st, NewSession(t, st).ID, "hi", oracle.Enqueue, "same", false)
		must(t, err)
		if other.Run.RequestID == "same" {
			t.Fatalf("number %d shares its id", i)
		}
		Answer(t, st, begun.Run, "hello")
	}
}

// testMarks: what is remembered of a run is stored with it, or not at all.
func testMarks(t *testing.T, st Store) {
	ctx, now := t.Context(), time.Now()
	begin := func(session, key string) error {
		r := oracle.Run{
			ID: oracle.NewID(), SessionID: session, Owner: Owner, RequestID: key, MessageID: oracle.NewID(), CreatedAt: now,
		}
		_, err := st.Begin(ctx, run.Begin{
			Run: r, TTL: time.Minute, Minted: true,
			Message: oracle.Message{
				ID: r.MessageID, SessionID: session, RunID: r.ID, Role: oracle.Human, Content: "hi", CreatedAt: now,
			},
			Marks:  []run.Mark{{Store: "marks", Key: key, Value: []byte("is there"), For: time.Hour}},
			Frames: func(oracle.Run) ([]oracle.Frame, error) { return nil, nil },
		})
		return err
	}
	must(t, begin(NewSession(t, st).ID, "kept"))
	if err := begin("nowhere", "lost"); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("a run of no session: %v", err)
	}
	marks := st.PluginStore("marks")
	if value, ok, err := marks.Get(ctx, "kept"); err != nil || !ok || string(value) != "is there" {
		t.Errorf("%q %v %v", value, ok, err)
	}
	if _, ok, err := marks.Get(ctx, "lost"); err != nil || ok {
		t.Errorf("a mark without its run: %v %v", ok, err)
	}
	if _, ok, err := st.PluginStore("others").Get(ctx, "kept"); err != nil || ok {
		t.Errorf("in the store of another: %v %v", ok, err)
	}
}

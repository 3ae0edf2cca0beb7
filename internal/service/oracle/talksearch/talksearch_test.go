package talksearch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
)

// world is a database with conversations, and nodes that search in it.
type world struct {
	db    *sqldb.DB
	st    *oraclesql.Store
	blobs blob.Store
	now   time.Time
}

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		body(t, &world{db: db, st: oraclesql.New(db), blobs: blobmem.New(), now: time.Now().Add(time.Hour)})
	})
}

func (w *world) node(st talksearch.Store, key byte) *talksearch.Service {
	return talksearch.New(talksearch.Deps{
		Store: st, Blobs: w.blobs, Sealer: sealing.Sealer{Key: bytes.Repeat([]byte{key}, 32), Purpose: "search"},
		Now: func() time.Time { return w.now },
	})
}

func (w *world) talk(t *testing.T, said, answer string) string {
	t.Helper()
	s := oracletest.NewSession(t, w.st)
	oracletest.Answer(t, w.st, oracletest.Say(t, w.st, s.ID, said, oracle.Interrupt).Run, answer)
	return s.ID
}

func index(t *testing.T, s *talksearch.Service) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.IndexOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func total(t *testing.T, s *talksearch.Service, text string) int64 {
	t.Helper()
	r, err := s.Search(t.Context(), oracletest.Owner, text, 10, 0)
	if err != nil || len(r.Hits) != min(10, int(r.Total)) {
		t.Fatalf("%q: %+v, %v", text, r, err)
	}
	return r.Total
}

// unread is what the index does not have, and how many segments there are.
func (w *world) unread(t *testing.T) (messages, segments int) {
	t.Helper()
	at, err := w.st.Stand(t.Context(), oracletest.Owner, talksearch.Look{Messages: 10, Bytes: 1 << 20, Segments: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(at.Unread), len(at.Segments)
}

func TestTheIndexIsSealedAndReadOnEveryNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.talk(t, "How was the harvest?", "It was good: "+strings.Repeat("maize and beans, ", 20000))
		w.talk(t, "How is the pump?", "It was repaired.")
		one, other := w.node(w.st, 1), w.node(w.st, 1)
		index(t, one)
		if waiting, segments := w.unread(t); waiting != 0 || segments != 1 {
			t.Fatalf("%d messages wait, %d segments", waiting, segments)
		}
		w.talk(t, "What about the harvest of pears?", "None.")
		for range 2 { // the second time it is open
			if n := total(t, other, "harvests"); n != 2 {
				t.Errorf("found %d", n)
			}
		}
		index(t, other)
		at, err := w.st.Stand(t.Context(), oracletest.Owner, talksearch.Look{Segments: true})
		if err != nil || len(at.Segments) != 2 {
			t.Fatalf("%d segments, %v", len(at.Segments), err)
		}
		for _, g := range at.Segments {
			stored := g.Inline
			if stored == nil {
				for info, err := range w.blobs.List(t.Context(), "talks-index/") {
					if err != nil {
						t.Fatal(err)
					}
					object, err := w.blobs.Get(t.Context(), info.Key, 0, -1)
					if err != nil {
						t.Fatal(err)
					}
					all, err := io.ReadAll(object)
					if err != nil {
						t.Fatal(err)
					}
					stored = append(stored, all...)
				}
			}
			if len(stored) == 0 || bytes.Contains(stored, []byte("harvest")) || bytes.Contains(stored, []byte("pears")) {
				t.Errorf("%d bytes are stored in clear", len(stored))
			}
		}
		if n := total(t, one, "harvest"); n != 2 {
			t.Errorf("found %d", n)
		}
		stranger, err := one.Search(t.Context(), oracletest.Stranger, "harvest", 10, 0)
		if err != nil || stranger.Total != 0 || len(stranger.Hits) != 0 {
			t.Errorf("a stranger found %+v, %v", stranger, err)
		}
	})
}

// What was deleted is not found from that moment on, leaves the index later, and takes it
// along if it was the last.
func TestDeletedConversationsLeaveTheIndex(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.node(w.st, 1)
		first, second := w.talk(t, "the harvest", "was good"), w.talk(t, "the pump", "was repaired")
		index(t, s)
		if total(t, s, "harvest") != 1 || total(t, s, "pump") != 1 {
			t.Fatal("not found")
		}
		if _, err := w.st.DeleteSession(t.Context(), oracletest.Owner, first); err != nil {
			t.Fatal(err)
		}
		if total(t, s, "harvest") != 0 || total(t, s, "pump") != 1 {
			t.Error("a deleted conversation was found, or another was not")
		}
		before, err := w.st.Stand(t.Context(), oracletest.Owner, talksearch.Look{Segments: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.TidyOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := w.st.Stand(t.Context(), oracletest.Owner, talksearch.Look{Segments: true})
		if err != nil || len(after.Segments) != 1 || after.Segments[0].ID == before.Segments[0].ID ||
			after.Segments[0].Passages != 2 {
			t.Errorf("its segment stayed: %+v, %v", after.Segments, err)
		}
		if total(t, s, "pump") != 1 {
			t.Error("what is left is not found")
		}
		if _, err := w.st.DeleteSession(t.Context(), oracletest.Owner, second); err != nil {
			t.Fatal(err)
		}
		after, err = w.st.Stand(t.Context(), oracletest.Owner, talksearch.Look{Segments: true})
		if err != nil || after.Index.WrappedKey != nil || after.Segments != nil {
			t.Errorf("the index outlived its conversations: %+v, %v", after, err)
		}
		dead, err := w.st.IndexShelf().DeadSegments(t.Context(), w.now.Add(time.Hour), 10)
		if err != nil || len(dead) != 2 {
			t.Fatalf("%d dead segments, %v", len(dead), err)
		}
		for _, g := range dead {
			if len(g.WrappedKey) != 0 || g.Inline != nil {
				t.Error("a dead segment can be opened")
			}
		}
		w.talk(t, "another harvest", "")
		index(t, s)
		if total(t, s, "harvest") != 1 {
			t.Error("an index does not begin anew")
		}
	})
}

// What nobody heard of an answer is not found, though the index had read it.
func TestAnAnswerThatIsCutLeavesTheIndex(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.node(w.st, 1)
		w.talk(t, "the pump", "was repaired")
		session := oracletest.NewSession(t, w.st)
		asked := oracletest.Say(t, w.st, session.ID, "the harvest", oracle.Interrupt).Run
		oracletest.Answer(t, w.st, asked, "Maize was good, beans were not.")
		index(t, s)
		if total(t, s, "beans") != 1 {
			t.Fatal("not found")
		}
		if _, err := w.st.CutReply(t.Context(), oracletest.Owner, session.ID, asked.ID, "Maize was good"); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
		for _, when := range []string{"at once", "with a new index"} {
			for text, want := range map[string]int64{"beans": 0, "maize": 1, "pump": 1} {
				if got := total(t, s, text); got != want {
					t.Errorf("%s: %s is found %d times, want %d", when, text, got, want)
				}
			}
			index(t, s)
		}
	})
}

// meddler does something before an index is saved.
type meddler struct {
	talksearch.Store
	before func() error
}

func (m *meddler) SaveIndex(ctx context.Context, owner string, key []byte, read []talksearch.Advance,
	segment *shelf.Record, now time.Time,
) error {
	if before := m.before; before != nil {
		m.before = nil
		if err := before(); err != nil {
			return err
		}
	}
	return m.Store.SaveIndex(ctx, owner, key, read, segment, now)
}

func TestAnIndexerThatDiesOrIsLateHarmsNothing(t *testing.T) {
	t.Parallel()
	died := errors.New("killed")
	for name, before := range map[string]func(t *testing.T, w *world, id string) error{
		"killed":            func(*testing.T, *world, string) error { return died },
		"another was first": func(t *testing.T, w *world, _ string) error { index(t, w.node(w.st, 1)); return nil },
		"deleted meanwhile": func(t *testing.T, w *world, id string) error {
			_, err := w.st.DeleteSession(t.Context(), oracletest.Owner, id)
			w.talk(t, "the harvest", "again")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				id := w.talk(t, "the harvest", strings.Repeat("was good ", 30000))
				m := &meddler{Store: w.st, before: func() error { return before(t, w, id) }}
				s := w.node(m, 1)
				if more, err := s.IndexOnce(t.Context()); err != nil && !errors.Is(err, died) || err == nil && more {
					t.Fatal(more, err)
				}
				if total(t, s, "harvest") != 1 {
					t.Error("not found")
				}
				index(t, s)
				if waiting, segments := w.unread(t); waiting != 0 || segments != 1 {
					t.Errorf("%d messages wait, %d segments", waiting, segments)
				}
				if n := total(t, s, "harvest"); n != 1 {
					t.Errorf("found %d", n)
				}
			})
		})
	}
}

func TestAnIndexThatCannotBeOpenedIsMadeAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.talk(t, "the harvest", "was good")
		index(t, w.node(w.st, 1))
		s := w.node(w.st, 2) // with another key
		if total(t, s, "harvest") != 1 {
			t.Error("not found")
		}
		index(t, s)
		if waiting, segments := w.unread(t); waiting != 0 || segments != 1 {
			t.Errorf("%d messages wait, %d segments", waiting, segments)
		}
		if total(t, s, "harvest") != 1 {
			t.Error("not found in the new index")
		}
	})
}

// A session that goes on is read when it is quiet, or when much waits; segments are joined.
func TestSessionsWaitUntilTheyAreQuiet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.now = time.Now()
		s := w.node(w.st, 1)
		id := w.talk(t, "the harvest", "was good")
		index(t, s)
		if waiting, _ := w.unread(t); waiting != 2 {
			t.Errorf("%d messages wait", waiting)
		}
		for i := range 31 {
			oracletest.Answer(t, w.st, oracletest.Say(t, w.st, id, fmt.Sprint("question ", i), oracle.Interrupt).Run, "yes")
		}
		index(t, s)
		if waiting, _ := w.unread(t); waiting != 0 {
			t.Errorf("%d messages wait", waiting)
		}
		w.now = w.now.Add(time.Hour)
		for i := range 4 {
			oracletest.Answer(t, w.st, oracletest.Say(t, w.st, id, fmt.Sprint("later ", i), oracle.Interrupt).Run, "yes")
			index(t, s)
		}
		if _, err := w.st.SetTitle(t.Context(), id, "Pears", w.now); err != nil {
			t.Fatal(err)
		}
		if total(t, s, "pears harvest") != 1 {
			t.Error("a title is not found at once")
		}
		w.now = w.now.Add(time.Hour)
		index(t, s)
		if err := s.TidyOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waiting, segments := w.unread(t); waiting != 0 || segments != 1 {
			t.Errorf("%d messages wait, %d segments", waiting, segments)
		}
		if total(t, w.node(w.st, 1), "pears harvest later") != 1 {
			t.Error("not found after a join")
		}
	})
}

// A search says when there is more than it may read beside the index.
func TestASearchSaysHowFarTheIndexIsBehind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.node(w.st, 1)
		w.fill(t, 1, 2001)
		r, err := s.Search(t.Context(), oracletest.Owner, "heron", 10, 0)
		if err != nil || r.Behind != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		index(t, s)
		r, err = s.Search(t.Context(), oracletest.Owner, "heron", 10, 0)
		if err != nil || r.Behind != 0 || r.Total != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// fill stores conversations of so many messages; the last message of each has a heron.
func (w *world) fill(t testing.TB, talks, messages int) {
	t.Helper()
	for range talks {
		s := oracletest.NewSession(t, w.st)
		if err := w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			for i := range messages {
				said := speech(i)
				if i == messages-1 {
					said += " heron"
				}
				if _, err := tx.ExecContext(ctx, `INSERT INTO oracle_messages (session_id, turn, seq, id, run_id, role, content, created_ms)
					VALUES ($1, $2, $2, $3, '', 'ai', $4, 0)`, s.ID, i+1, oracle.NewID(), said); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, `UPDATE oracle_sessions SET next_seq = $1 WHERE id = $2`, messages+1, s.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// speech is a few words that are not quite those of others.
func speech(n int) string {
	var out strings.Builder
	for i := range 20 {
		fmt.Fprintf(&out, "word%d water ", (n*31+i*i*17)%4000)
	}
	return out.String()
}

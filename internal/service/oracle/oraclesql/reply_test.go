package oraclesql_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// A reply of people stands at the end of its session, once, whatever runs there.
func TestRepliesOfPeople(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		st := oraclesql.New(oracletest.Migrated(t, open(t)))
		empty, s := oracletest.NewSession(t, st), oracletest.NewSession(t, st)
		begun := oracletest.Say(t, st, s.ID, "who?", oracle.Interrupt)
		reply := oracle.Message{ID: oracle.NewID(), SessionID: s.ID, Role: oracle.AI, Content: "Grace.", CreatedAt: time.Now()}
		for range 2 {
			if err := st.AddReply(t.Context(), oracletest.Owner, reply); err != nil {
				t.Fatal(err)
			}
		}
		oracletest.Answer(t, st, begun.Run, "I do not know.")
		page, err := st.Page(t.Context(), oracletest.Owner, s.ID, oracle.PageQuery{Limit: 10})
		if err != nil || len(page.Messages) != 3 || page.Messages[1].Content != "I do not know." || page.Messages[2].Content != "Grace." {
			t.Errorf("%+v, %v", page, err)
		}
		if got, err := st.Session(t.Context(), oracletest.Owner, s.ID); err != nil || got.Messages != 3 {
			t.Errorf("%d messages, %v", got.Messages, err)
		}
		reply.SessionID = empty.ID
		if err := st.AddReply(t.Context(), oracletest.Owner, reply); err != nil {
			t.Error(err)
		}
		reply.ID = oracle.NewID()
		if err := st.AddReply(t.Context(), oracletest.Stranger, reply); !errors.Is(err, oracle.ErrSessionNotFound) {
			t.Errorf("into somebody else's session: %v", err)
		}
	})
}

// What was heard of an answer stays of it, and the session is another one for who remembers it.
func TestAnAnswerIsCutToWhatWasHeard(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		st := oraclesql.New(oracletest.Migrated(t, open(t)))
		s := oracletest.NewSession(t, st)
		contents := func() (out []string) {
			t.Helper()
			list, err := st.Messages(t.Context(), oracletest.Owner, s.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				out = append(out, m.Content)
			}
			if got, err := st.Session(t.Context(), oracletest.Owner, s.ID); err != nil || got.Messages != int64(len(list)) {
				t.Errorf("%d messages are counted, %d are there, %v", got.Messages, len(list), err)
			}
			return out
		}
		begun := oracletest.Say(t, st, s.ID, "tell me", oracle.Interrupt)
		oracletest.Answer(t, st, begun.Run, "Once upon a time.")
		cut := func(owner, heard string) bool {
			t.Helper()
			changed, err := st.CutReply(t.Context(), owner, s.ID, begun.Run.ID, heard)
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
		if cut(oracletest.Stranger, "") {
			t.Error("somebody else cut the answer")
		}
		if cut(oracletest.Owner, "Once upon a time.") {
			t.Error("an answer that was heard whole was changed")
		}
		if !cut(oracletest.Owner, "Once upon") || cut(oracletest.Owner, "Once upon a time") {
			t.Error("an answer is cut once, and never grows")
		}
		if diff := cmp.Diff([]string{"tell me", "Once upon"}, contents()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		next := oracletest.Say(t, st, s.ID, "and then?", oracle.Interrupt)
		if next.Run.Turn != 4 {
			t.Errorf("the next message is number %d: a node that remembers the session would not notice", next.Run.Turn)
		}
		if !cut(oracletest.Owner, "") {
			t.Error("an answer that nobody heard stayed")
		}
		if diff := cmp.Diff([]string{"tell me", "and then?"}, contents()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

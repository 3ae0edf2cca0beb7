package oraclesql_test

import (
	"errors"
	"testing"
	"time"

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

package main

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// TestWhatIndexersHaveToDoIsSeen: files that changed, and conversations that nobody has
// read since, however short ago that was.
func TestWhatIndexersHaveToDoIsSeen(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), queue.Migrations(), filestoresql.Migrations(), oraclesql.Migrations(),
			knowledgesql.Migrations())
		want := func(text string) {
			t.Helper()
			if got, err := left(t.Context(), db); err != nil || got != text {
				t.Errorf("%q, %v, want %q", got, err, text)
			}
		}
		do := func(query string) {
			t.Helper()
			if n, err := db.WriteOne(t.Context(), query); err != nil || n == 0 {
				t.Fatalf("%s: %d rows, %v", query, n, err)
			}
		}
		want("")
		do(`INSERT INTO filestore_unread (ns, last) VALUES ('did:key:zA', 1)`)
		want("files to index")
		do(`DELETE FROM filestore_unread`)
		want("")
		talks := oraclesql.New(db)
		s := oracletest.NewSession(t, talks)
		oracletest.Say(t, talks, s.ID, "hello", oracle.Interrupt)
		want("conversations to index")
		do(`UPDATE oracle_sessions SET unread = 0`)
		want("")
	})
}

package oraclesql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// told keeps what was reported.
type told []string

func (o *told) Emit(_ context.Context, _ sqldb.Querier, owner, kind string, _ time.Time, data any) error {
	text, err := json.Marshal(data)
	*o = append(*o, fmt.Sprintf("%s %s %s", owner, kind, text))
	return err
}

// A session is reported when it is made, gets its title and is deleted: each
// once, and to its owner.
func TestSessionsAreReported(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		var got told
		st := oraclesql.New(oracletest.Migrated(t, open(t))).WithOutbox(&got)
		ctx, at := t.Context(), time.Now()
		s := oracle.Session{ID: "s1", Owner: "did:x:a", Title: oracle.Untitled, Key: "thread", CreatedAt: at, UpdatedAt: at}
		for range 2 {
			if _, err := st.OpenSession(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []bool{true, false} {
			if did, err := st.SetTitle(ctx, "s1", "A secret", at); did != want || err != nil {
				t.Fatal(did, err)
			}
		}
		if _, err := st.DeleteSession(ctx, "did:x:b", "s1"); err == nil {
			t.Fatal("deleted by somebody else")
		}
		if _, err := st.DeleteSession(ctx, "did:x:a", "s1"); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(told{
			`did:x:a session.created {"sessionId":"s1"}`, `did:x:a session.titled {"sessionId":"s1"}`, `did:x:a session.ended {"sessionId":"s1"}`,
		}, got); d != "" {
			t.Error(d)
		}
	})
}

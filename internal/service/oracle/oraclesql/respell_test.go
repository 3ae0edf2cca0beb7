package oraclesql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// Sessions, runs, requests and approvals have one spelling each, and owners too: any other
// text names nothing, on either engine.
func TestIDsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := open(t)
		if err := db.Migrate(t.Context(), oraclesql.Migrations()); err != nil {
			t.Fatal(err)
		}
		st := oraclesql.New(db)
		s := oracletest.NewSession(t, st)
		begun := oracletest.Say(t, st, s.ID, "hi", oracle.Enqueue)
		for _, other := range misspelt(s.ID) {
			if _, err := st.Session(t.Context(), oracletest.Owner, other); !errors.Is(err, oracle.ErrSessionNotFound) {
				t.Errorf("session %q: %v", other, err)
			}
		}
		for _, other := range misspelt(begun.Run.ID) {
			if _, err := st.Run(t.Context(), oracletest.Owner, other); !errors.Is(err, oracle.ErrRunNotFound) {
				t.Errorf("run %q: %v", other, err)
			}
		}
		for _, other := range misspelt(begun.Run.RequestID) {
			if _, err := st.ByRequest(t.Context(), oracletest.Owner, s.ID, other); !errors.Is(err, oracle.ErrRunNotFound) {
				t.Errorf("request %q: %v", other, err)
			}
		}
		waits := oracletest.Rest(t, st, begun.Run, time.Hour, "c1").Approvals[0]
		for _, other := range misspelt(waits.ID) {
			a := oracle.Answer{ApprovalID: other, Owner: oracletest.Owner, Decision: oracle.Approve}
			if _, _, err := st.Answer(t.Context(), a); !errors.Is(err, oracle.ErrApprovalNotFound) {
				t.Errorf("approval %q: %v", other, err)
			}
		}
		for _, other := range misspelt(oracletest.Owner) {
			if _, err := st.Session(t.Context(), other, s.ID); !errors.Is(err, oracle.ErrSessionNotFound) {
				t.Errorf("owner %q: %v", other, err)
			}
		}
	})
}

func misspelt(id string) []string {
	return []string{
		strings.ToUpper(id), strings.ToUpper(id[:1]) + id[1:] + " ", " " + id, id + " ", id + "\n",
		"{" + id + "}", id[:len(id)-1], "",
	}
}

package ussdsql_test

import (
	"errors"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// An answer of people waits for its account like one of the oracle, and is left once.
func TestAnswersOfPeople(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		st := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		now := time.Now().Truncate(time.Millisecond)
		q := ussdquestion.Question{
			ID: "people:1", Account: "C1", Language: "sw", Text: "Nani?", Answer: "Grace.",
			State: ussdquestion.Answered, Created: now,
		}
		if err := st.LeaveAnswer(t.Context(), q); !errors.Is(err, ussd.ErrNoAccount) {
			t.Errorf("for nobody: %v", err)
		}
		err := st.Commit(t.Context(), ussd.Change{
			Session: ussdtest.NewSession("s1"), Now: now,
			Effects: []ussd.Effect{ussd.CreateAccount{Account: ussd.Account{
				ID: "C1", Phone: "+1", PIN: []byte("sealed"), Created: now,
			}, Limit: 5}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.LeaveAnswer(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if got, err := st.Waiting(t.Context(), "C1"); err != nil || got.Answer != "Grace." ||
			got.State != ussdquestion.Answered {
			t.Errorf("%+v, %v", got, err)
		}
		err = st.Commit(t.Context(),
			ussd.Change{Session: ussdtest.NewSession("s2"), Now: now, Effects: []ussd.Effect{ussd.MarkRead{Question: q.ID}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.LeaveAnswer(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if got, err := st.Waiting(t.Context(), "C1"); !errors.Is(err, ussd.ErrNoSession) {
			t.Errorf("it waits again: %+v, %v", got, err)
		}
	})
}

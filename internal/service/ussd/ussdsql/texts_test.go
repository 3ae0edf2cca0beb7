package ussdsql_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// texts remembers what it should say.
type texts struct {
	said    []string
	code    string
	refused string
}

func (x *texts) CodeIn(_ context.Context, _ sqldb.Querier, id, phone, code, language string,
	_ time.Time,
) (string, error) {
	if id == "" {
		return "", errors.New("a code needs a name")
	}
	x.said, x.code = append(x.said, "code "+phone+" "+language), code
	return x.refused, nil
}

func (x *texts) AnswerIn(_ context.Context, _ sqldb.Querier, _, phone, language string, _ time.Time) error {
	x.said = append(x.said, "answer "+phone+" "+language)
	return nil
}

func (x *texts) ReceiptIn(_ context.Context, _ sqldb.Querier, _, form, phone, language string, _ time.Time) error {
	x.said = append(x.said, "receipt "+form+" "+phone+" "+language)
	return nil
}

// What telephones are told by messages belongs to the transaction of what happened.
func TestMessagesBelongToWhatHappened(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		x := &texts{}
		plain := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		store := plain.WithTexts(x)
		oracle := &slowOracle{release: make(chan string)}
		svc := ussdtest.Service(t, store, func(c *ussd.Config) { c.Oracle, c.OracleWait = oracle, 20*time.Millisecond })
		p := ussdtest.NewPhone(svc, alice, "s0")
		id := register(t, p, pin)
		p.Expect(t, "1", "Ask the oracle", "5", "Type your question", "When will it rain?", "still thinking")
		q, err := store.Waiting(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := store.SettleQuestion(t.Context(), q.ID, "Soon.", ussdquestion.Answered, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		people := func(s *ussdsql.Store) *ussdpeople.Service {
			return ussdpeople.New(s, ussdpeople.Config{Keys: ussdtest.Keys(t, ussdtest.Key)})
		}
		told, err := people(store).SendResetCode(t.Context(), id, "operator")
		if err != nil || len(told.Code) != 5 || told.Sent != 3 || len(x.code) != 3 || told.Account != id {
			t.Errorf("%+v %v", told, err)
		}
		codes := func() int {
			t.Helper()
			list, err := store.Codes(t.Context(), id, ussdpin.PurposeReset, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		first := x.code + told.Code
		x.refused = "the number wants no messages"
		if _, err := people(store).SendResetCode(t.Context(), id, "operator"); !fault.Is(err, fault.Conflict) ||
			!strings.Contains(fault.From(err).Message, x.refused) {
			t.Errorf("a refused message: %v", err)
		}
		if _, err := people(plain).SendResetCode(t.Context(), id, "operator"); !fault.Is(err, fault.Conflict) {
			t.Errorf("without a gateway: %v", err)
		}
		if n := codes(); n != 1 {
			t.Errorf("%d codes", n)
		}
		p.Dial(t, "s1") // the first one is still the good one
		guess := first[:3] + strings.Map(func(r rune) rune { return '9' - r + '0' }, first[3:])
		p.Expect(t, "2", "", "1", "", "01", "8 digits", guess, "Wrong", first, "Choose a new PIN")
		if d := cmp.Diff([]string{"answer " + alice + " en", "code " + alice + " en", "code " + alice + " en"}, x.said); d != "" {
			t.Error(d)
		}
		if acts, err := people(store).Acts(t.Context(), id, 10); err != nil || len(acts) != 1 || acts[0].Detail != "in part by text message" {
			t.Errorf("%+v %v", acts, err)
		}
	})
}

// A form with a receipt is confirmed once, to whoever sent it.
func TestFormsHaveReceipts(t *testing.T) {
	t.Parallel()
	menu, err := ussd.ParseMenu("forms.yaml", []byte(strings.Replace(ussdtest.FormMenu, "    consent: agreed\n", "    consent: agreed\n    receipt: true\n", 1)), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		x := &texts{}
		store := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations())).WithTexts(x)
		svc := ussdtest.Service(t, store, func(c *ussd.Config) { c.Menus = ussdbook.Of(menu) })
		for i, last := range []string{"1", "2"} { // the second one does not agree
			p := ussdtest.NewPhone(svc, alice, "")
			p.Dial(t, []string{"a", "b"}[i])
			p.Expect(t, "Ann", "", "12", "", "03021990", "", "1", "", last, "")
			p.Again(t)
		}
		if d := cmp.Diff([]string{"receipt farm " + alice + " en"}, x.said); d != "" {
			t.Error(d)
		}
	})
}

// An answer that somebody else left is announced once, to the telephone that the account has
// by then; one that was read, or whose account is gone, to nobody.
func TestAnAnswerThatWasLeftIsAnnounced(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		x, now := &texts{}, time.Now()
		plain := ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		store := plain.WithTexts(x)
		svc := ussdtest.Service(t, store)
		p := ussdtest.NewPhone(svc, alice, "s0")
		id := register(t, p, pin)
		leave := func(name string, at time.Time) {
			t.Helper()
			if err := plain.LeaveAnswer(t.Context(), ussdquestion.Question{
				ID: name, Account: id, Language: "sw", Text: "When?", Answer: "Soon.", Created: at,
			}); err != nil {
				t.Fatal(err)
			}
		}
		tell := func(want int) {
			t.Helper()
			if n, err := store.TellLeft(t.Context(), 10, now); n != want || err != nil {
				t.Errorf("%d were told of, want %d: %v", n, want, err)
			}
		}
		tell(0)
		leave("old", now.AddDate(0, 0, -8))
		leave("one", now)
		tell(1)
		tell(0)
		leave("one", now) // delivered again
		tell(0)
		leave("two", now)
		people := ussdpeople.New(plain, ussdpeople.Config{Keys: ussdtest.Keys(t, ussdtest.Key)})
		if err := people.Move(t.Context(), id, bob, "operator"); err != nil {
			t.Fatal(err)
		}
		tell(1)
		if d := cmp.Diff([]string{"answer " + alice + " sw", "answer " + bob + " sw"}, x.said); d != "" {
			t.Error(d)
		}
	})
}

package membership_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestWhatOnePersonMayHaveIsKnownOnEveryNode(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), membershipsql.Migrations())
		book, err := membership.NewBook(membershipsql.New(db), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		there := membership.NewQuotas(book, nil, nil, nil)
		known := func() membership.Allowance {
			t.Helper()
			if err := there.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			return there.Of(alice.DID)
		}
		if a := known(); a.Own() {
			t.Errorf("at first: %+v", a)
		}
		set := func(a membership.Allowance) {
			t.Helper()
			if _, err := book.SetQuota(t.Context(), alice.DID, a, "o"); err != nil {
				t.Fatal(err)
			}
		}
		set(membership.Allowance{Bytes: new(int64(5)), Messages: new(int64(0))})
		if a := known(); a.Bytes == nil || *a.Bytes != 5 || a.Messages == nil || *a.Messages != 0 || a.CostMicros != nil {
			t.Errorf("chosen: %+v", a)
		}
		if a := there.Of(bob.DID); a.Own() {
			t.Errorf("another has it too: %+v", a)
		}
		if q, err := book.QuotaOf(t.Context(), alice.DID); err != nil || q == nil || q.By != "o" || *q.Bytes != 5 {
			t.Errorf("%+v, %v", q, err)
		}
		set(membership.Allowance{CostMicros: new(int64(7))})
		if a := known(); a.Bytes != nil || a.CostMicros == nil || *a.CostMicros != 7 {
			t.Errorf("chosen again: %+v", a)
		}
		late := membership.NewQuotas(book, nil, nil, nil) // of a node that was started later
		if err := late.Load(t.Context()); err != nil || !late.Of(alice.DID).Own() {
			t.Errorf("on a new node: %+v, %v", late.Of(alice.DID), err)
		}
		set(membership.Allowance{})
		if a := known(); a.Own() {
			t.Errorf("taken back: %+v", a)
		}
		if q, err := book.QuotaOf(t.Context(), alice.DID); err != nil || q != nil {
			t.Errorf("%+v, %v", q, err)
		}
	})
}

func TestQuotasAreChecked(t *testing.T) {
	t.Parallel()
	book, err := membership.NewBook(membershipsql.New(openDB(t)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []membership.Allowance{
		{Bytes: new(int64(-1))}, {Messages: new(int64(-2))}, {CostMicros: new(int64(membership.MaxQuota + 1))},
	} {
		if _, err := book.SetQuota(t.Context(), alice.DID, a, ""); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if _, err := book.SetQuota(t.Context(), "alice", membership.Allowance{}, ""); !fault.Is(err, fault.Invalid) {
		t.Errorf("no DID: %v", err)
	}
}

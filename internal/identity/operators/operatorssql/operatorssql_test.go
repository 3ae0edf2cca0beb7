package operatorssql_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorssql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

var at = time.UnixMilli(1_800_000_000_123).UTC()

// each runs a test on both engines, with two stores for two nodes.
func each(t *testing.T, test func(t *testing.T, here, there *operatorssql.Store, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		test(t, operatorssql.New(db), operatorssql.New(db), db)
	})
}

func TestRolesAreGivenAndTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *operatorssql.Store, _ *sqldb.DB) {
		for i, role := range []operators.Role{operators.Viewer, operators.Operator} {
			if err := here.PutOperator(t.Context(), operators.Record{
				DID: fmt.Sprint("did:x:", i), Role: role, Note: "n",
				By: "the command line", Added: at,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if has, err := there.HasOwner(t.Context()); err != nil || has {
			t.Errorf("an owner before there is one: %v, %v", has, err)
		}
		if err := here.PutOperator(t.Context(), operators.Record{DID: "did:x:0", Role: operators.Owner, Added: at}); err != nil {
			t.Fatal(err)
		}
		if role, err := there.RoleOf(t.Context(), "did:x:0"); err != nil || role != operators.Owner {
			t.Errorf("promoted: %q, %v", role, err)
		}
		if has, err := there.HasOwner(t.Context()); err != nil || !has {
			t.Errorf("no owner: %v, %v", has, err)
		}
		list, err := there.Operators(t.Context(), "did:x:0", 10)
		if err != nil || len(list) != 1 ||
			list[0] != (operators.Record{DID: "did:x:1", Role: operators.Operator, Note: "n", By: "the command line", Added: at}) {
			t.Errorf("%+v, %v", list, err)
		}
		for _, want := range []bool{true, false} {
			if removed, err := here.RemoveOperator(t.Context(), "did:x:1", "did:x:0"); err != nil || removed != want {
				t.Errorf("removed %v, %v, want %v", removed, err, want)
			}
		}
		if role, err := there.RoleOf(t.Context(), "did:x:1"); err != nil || role != operators.None {
			t.Errorf("removed: %q, %v", role, err)
		}
	})
}

// TestOwnersRemoveEachOther on two nodes at once: one of them is left, and who was
// removed gives no role any more.
func TestOwnersRemoveEachOther(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *operatorssql.Store, _ *sqldb.DB) {
		for range 20 {
			for _, did := range []string{"did:x:a", "did:x:b"} {
				if err := here.PutOperator(t.Context(), operators.Record{DID: did, Role: operators.Owner, Added: at}); err != nil {
					t.Fatal(err)
				}
			}
			var both sync.WaitGroup
			both.Go(func() { _, _ = here.RemoveOperator(t.Context(), "did:x:a", "did:x:b") })
			both.Go(func() { _, _ = there.RemoveOperator(t.Context(), "did:x:b", "did:x:a") })
			both.Wait()
			left, err := here.Operators(t.Context(), "", 10)
			if err != nil || len(left) != 1 {
				t.Fatalf("left are %+v, %v", left, err)
			}
			gone := map[string]string{"did:x:a": "did:x:b", "did:x:b": "did:x:a"}[left[0].DID]
			err = there.PutOperator(t.Context(), operators.Record{DID: "did:x:c", Role: operators.Owner, By: gone, Added: at})
			if !errors.Is(err, operators.ErrNoOwner) {
				t.Errorf("somebody who was removed gives a role: %v", err)
			}
		}
	})
}

// TestALinkIsOpenedOnce lets many open two links at once, on two nodes: one wins.
func TestALinkIsOpenedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *operatorssql.Store, _ *sqldb.DB) {
		for _, digest := range []string{"one", "two"} {
			if err := here.AddLink(t.Context(),
				operators.Link{Digest: digest, Created: at, Expires: at.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		var (
			running sync.WaitGroup
			won     atomic.Int64
		)
		for i := range 12 {
			running.Go(func() {
				s := []*operatorssql.Store{here, there}[i%2]
				_, err := s.OpenLink(t.Context(), []string{"one", "two"}[i/2%2], fmt.Sprint("did:x:", i), at.Add(time.Minute))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, operators.ErrLinkOver):
					t.Errorf("opener %d: %v", i, err)
				}
			})
		}
		running.Wait()
		list, err := there.Operators(t.Context(), "", 20)
		if err != nil || won.Load() != 1 || len(list) != 1 || list[0].Role != operators.Owner ||
			list[0].By != operators.BySetupLink {
			t.Errorf("%d won, %+v, %v", won.Load(), list, err)
		}
	})
}

func TestLinksThatDoNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *operatorssql.Store, db *sqldb.DB) {
		for _, digest := range []string{"late", "good"} {
			if err := here.AddLink(t.Context(),
				operators.Link{Digest: digest, Created: at, Expires: at.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := here.OpenLink(t.Context(), "late", "did:x:a", at.Add(time.Hour)); !fault.Is(err, fault.Gone) {
			t.Errorf("expired: %v", err)
		}
		if _, err := here.OpenLink(t.Context(), "none", "did:x:a", at); !errors.Is(err, operators.ErrNoLink) {
			t.Errorf("unknown: %v", err)
		}
		first, err := here.OpenLink(t.Context(), "good", "did:x:a", at)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := there.OpenLink(t.Context(), "good", "did:x:a", at.Add(2*time.Hour)); err != nil || again != first {
			t.Errorf("the answer again: %+v, %v, want %+v", again, err, first)
		}
		if _, err := there.OpenLink(t.Context(), "late", "did:x:b", at); !fault.Is(err, fault.Gone) {
			t.Errorf("a link beside one that was opened: %v", err)
		}
		if _, err := here.RemoveOperator(t.Context(), "did:x:a", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := there.OpenLink(t.Context(), "good", "did:x:a", at); !fault.Is(err, fault.Gone) {
			t.Errorf("a role came back: %v", err)
		}
		if n, err := identitysql.New(db).Sweep(t.Context(), at.Add(2*time.Hour), 10); err != nil || n != 2 {
			t.Errorf("swept %d, %v", n, err)
		}
	})
}

package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestTheTrailIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		trail := audit.New(sqldbtest.Migrate(t, open(t), audit.Migrations()))
		ctx := t.Context()
		begin := func(actor, act string) string {
			id, err := trail.Begin(ctx, audit.Act{Actor: actor, Role: "owner", Act: act, Target: "/operator/x"})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		begun := begin("ada", "PUT /a")
		for range 4 {
			if err := trail.End(ctx, begin("ada", "PUT /b"), 200); err != nil {
				t.Fatal(err)
			}
		}
		begin("bob", "PUT /b")
		list := func(f audit.Filter) []audit.Act {
			t.Helper()
			got, err := trail.List(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := list(audit.Filter{Act: "PUT /a", Limit: 10}); len(got) != 1 || got[0].ID != begun || got[0].Status != 0 ||
			time.Since(got[0].At) > time.Hour {
			t.Errorf("what was begun and not ended: %+v", got)
		}
		seen := map[string]bool{}
		for before := ""; ; {
			page := list(audit.Filter{Actor: "ada", Before: before, Limit: 2})
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				before, seen[a.ID] = a.ID, true
			}
		}
		if len(seen) != 5 {
			t.Errorf("pages showed %d of Ada's acts", len(seen))
		}
		if got := list(audit.Filter{Since: time.Now().Add(time.Hour), Limit: 9}); len(got) != 0 {
			t.Errorf("in the future: %+v", got)
		}
		if got := list(audit.Filter{Until: time.Now().Add(time.Hour), Limit: 9}); len(got) != 6 {
			t.Errorf("until later: %d", len(got))
		}
		var quick []string
		for range 50 { // several in a millisecond
			quick = append(quick, begin("zoe", "PUT /b"))
		}
		slices.Reverse(quick)
		for i, a := range list(audit.Filter{Actor: "zoe", Limit: 50}) {
			if a.ID != quick[i] {
				t.Fatalf("the act that is listed as number %d is %s, want %s", i, a.ID, quick[i])
			}
		}
		if _, err := trail.Begin(ctx, audit.Act{Actor: "eve", Target: "/" + strings.Repeat("ü", 400)}); err != nil {
			t.Errorf("a long path: %v", err)
		}
		if got := list(audit.Filter{Actor: "eve", Limit: 9}); len(got) != 1 || len(got[0].Target) != 499 {
			t.Errorf("a long path is kept as %+v", got)
		}
		if _, err := trail.List(ctx, audit.Filter{Actor: "ada", Act: "PUT /b"}); err == nil {
			t.Error("two filters at once")
		}
	})
}

package people_test

import (
	"context"
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// opened is a deployment in which some have files, some are members and one is blocked.
func opened(t *testing.T, db *sqldb.DB, files ...string) people.Deps {
	t.Helper()
	sqldbtest.Migrate(t, db, membershipsql.Migrations())
	book, err := membership.NewBook(membershipsql.New(db), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return people.Deps{
		Book: book, Service: identitytest.Oracle.DID, Announce: func(context.Context) {},
		Lists: []people.List{func(_ context.Context, after string, limit int) ([]string, error) {
			i, found := slices.BinarySearch(files, after)
			if found {
				i++
			}
			return files[i:min(len(files), i+limit)], nil
		}},
		RoleOf:   func(context.Context, string) (operators.Role, error) { return operators.None, nil },
		PersonOf: func(did string) string { return did },
	}
}

func names(page people.Page) (out []string) {
	for _, p := range page.People {
		out = append(out, p.DID)
	}
	return out
}

func TestPeopleAreListedOnceFromAllThatHasThem(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		alice, bob, carol := identitytest.Alice.DID, identitytest.Bob.DID, identitytest.Carol.DID
		d := opened(t, open(t), alice, bob, telephonekit.User+"1", identitytest.Oracle.DID)
		for did, note := range map[string]string{alice: "Alice of the pump", carol: "carol"} {
			if _, _, err := d.Book.AddMember(t.Context(), did, note); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Book.Block(t.Context(), bob, "spam", "o"); err != nil {
			t.Fatal(err)
		}
		if page, err := d.Page(t.Context(), "did:key:é", "", 2); err != nil || len(page.People) > 0 {
			t.Errorf("a sign that no DID has: %+v %v", page, err)
		}
		all := []string{alice, bob, carol}
		slices.Sort(all)
		page, err := d.Page(t.Context(), "", "", 10)
		if err != nil || !slices.Equal(names(page), all) || page.Next != "" {
			t.Fatalf("%v, next %q: %v", names(page), page.Next, err)
		}
		for _, p := range page.People {
			if p.Member != (p.DID != bob) || (p.Blocked != nil) != (p.DID == bob) {
				t.Errorf("%+v", p)
			}
		}
		var walked []string
		for after, more := "", true; more; {
			page, err := d.Page(t.Context(), "", after, 1)
			if err != nil {
				t.Fatal(err)
			}
			walked = append(walked, names(page)...)
			after, more = page.Next, page.Next != ""
		}
		if !slices.Equal(walked, all) {
			t.Errorf("page by page there are %v", walked)
		}
		for search, want := range map[string][]string{
			bob: {bob}, "did:key:z6Mk": all, "did:web:": nil, bob[:len(bob)-1]: {bob},
			"alice": {alice}, "ALICE OF": {alice}, "pump": nil, "car": {carol},
		} {
			page, err := d.Page(t.Context(), search, "", 10)
			if err != nil || !slices.Equal(names(page), want) {
				t.Errorf("%q finds %v, want %v: %v", search, names(page), want, err)
			}
		}
		if page, err := d.Page(t.Context(), "c", "", 1); err != nil || page.More || len(page.People) != 1 {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

package operatordocsql_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

var at = time.UnixMilli(1_800_000_000_123).UTC()

func each(t *testing.T, body func(t *testing.T, s *operatordocsql.Store)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, operatordocsql.New(sqldbtest.Migrate(t, open(t), operatordocsql.Migrations())))
	})
}

func add(t *testing.T, s *operatordocsql.Store, document, text string, after int64) operatordoc.Version {
	t.Helper()
	v, err := s.AddVersion(t.Context(), operatordoc.Version{
		Document: document, Text: []byte(text), Size: len(text), Author: "Ada", Note: "because", Written: at,
	}, after)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersionsAreKeptInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *operatordocsql.Store) {
		ctx := t.Context()
		if v, err := s.NewestVersion(ctx, "one"); err != nil || v.Number != 0 {
			t.Fatalf("before the first: %+v, %v", v, err)
		}
		first := add(t, s, "one", "a", 0)
		other := add(t, s, "two", "x", 0)
		second := add(t, s, "one", "b", 1)
		if first.Number != 1 || second.Number != 2 || other.Number != 1 || first.Feed >= other.Feed ||
			other.Feed >= second.Feed {
			t.Errorf("numbers: %+v %+v %+v", first, other, second)
		}
		newest, err := s.NewestVersion(ctx, "one")
		if diff := cmp.Diff(second, newest); err != nil || diff != "" {
			t.Errorf("newest: %v (-want +got):\n%s", err, diff)
		}
		old, err := s.Version(ctx, "one", 1)
		if err != nil || string(old.Text) != "a" {
			t.Errorf("first: %+v, %v", old, err)
		}
		if none, err := s.Version(ctx, "one", 7); err != nil || none.Number != 0 {
			t.Errorf("a version that is not there: %+v, %v", none, err)
		}
		list, err := s.Versions(ctx, "one", 0, 10)
		if err != nil || len(list) != 2 || list[0].Number != 2 || list[0].Text != nil || list[1].Author != "Ada" ||
			list[1].Note != "because" {
			t.Errorf("history: %+v, %v", list, err)
		}
		if list, err = s.Versions(ctx, "one", 2, 10); err != nil || len(list) != 1 || list[0].Number != 1 {
			t.Errorf("the rest of it: %+v, %v", list, err)
		}
		since, err := s.VersionsSince(ctx, first.Feed, 10)
		if err != nil || len(since) != 2 || since[0].Document != "two" || since[1].Number != 2 {
			t.Errorf("since: %+v, %v", since, err)
		}
	})
}

func TestOnlyTheNewestIsFollowed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *operatordocsql.Store) {
		add(t, s, "one", "a", 0)
		add(t, s, "one", "b", 1)
		for _, after := range []int64{0, 1, 3} {
			_, err := s.AddVersion(t.Context(), operatordoc.Version{Document: "one", Text: []byte("c")}, after)
			conflict, ok := errors.AsType[*operatordoc.ConflictError](err)
			if !ok || conflict.Newest.Number != 2 || string(conflict.Newest.Text) != "b" {
				t.Errorf("after %d: %v", after, err)
			}
		}
	})
}

func TestOldVersionsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *operatordocsql.Store) {
		add(t, s, "other", "kept", 0)
		for i := range int64(operatordoc.KeptVersions + 3) {
			add(t, s, "one", fmt.Sprint(i), i)
		}
		list, err := s.Versions(t.Context(), "one", 0, 1000)
		if err != nil || len(list) != operatordoc.KeptVersions || list[len(list)-1].Number != 4 {
			t.Errorf("%d versions, %v", len(list), err)
		}
		if v, err := s.NewestVersion(t.Context(), "other"); err != nil || string(v.Text) != "kept" {
			t.Errorf("another document: %+v, %v", v, err)
		}
	})
}

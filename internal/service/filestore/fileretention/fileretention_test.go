package fileretention_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/fileretention"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

const ada = "did:key:zAda"

// reader has read so many changes.
type reader int64

func (r reader) ReadThrough(context.Context, string) (int64, bool, error) { return int64(r), true, nil }

func erase(t *testing.T, db *sqldb.DB, s retention.Source, before time.Time) (total int64) {
	t.Helper()
	err := s.Walk(t.Context(), before, func(ids []string) error {
		return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			for _, id := range ids {
				n, err := s.Erase(ctx, tx, before, id)
				if err != nil {
					return err
				}
				total += n
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

func TestChangesGoFromTheOldestOn(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		ctx, owner := t.Context(), filestore.Owner(ada)
		for i := range 6 {
			w.MustPut(t, ada, fmt.Sprintf("/%d.txt", i), "text")
		}
		w.Clock.Add(48 * time.Hour)
		before := w.Clock.Now().Add(-time.Hour)
		w.MustPut(t, ada, "/new.txt", "text")
		if n := erase(t, w.DB, fileretention.Sources(w.DB)[retention.Events][0], before); n != 0 {
			t.Fatalf("%d changes went that the index has not read", n)
		}
		w.Index(ctx, t)
		if n := erase(t, w.DB, fileretention.Sources(w.DB, reader(2))[retention.Events][0], before); n != 2 {
			t.Fatalf("%d changes went, want those that everybody has read", n)
		}
		source := fileretention.Sources(w.DB)[retention.Events][0]
		if n, all, err := source.Count(ctx, before, 100); err != nil || n != 4 || !all {
			t.Errorf("%d are due, %t: %v", n, all, err)
		}
		if n := erase(t, w.DB, source, before); n != 4 {
			t.Fatalf("%d changes went", n)
		}
		if _, _, err := w.Changes(ctx, owner, 3, 10); !fault.Is(err, fault.Gone) {
			t.Errorf("a reader who missed some was told %v", err)
		}
		if events, next, err := w.Changes(ctx, owner, 6, 10); err != nil || len(events) != 1 || next != 7 {
			t.Errorf("%d changes, next %d: %v", len(events), next, err)
		}
		if events, _, err := w.Audit(ctx, owner, 0, 10); err != nil || len(events) != 1 {
			t.Errorf("the audit has %d entries: %v", len(events), err)
		}
		w.Clock.Add(480 * time.Hour)
		if n := erase(t, w.DB, source, w.Clock.Now()); n != 0 {
			t.Errorf("%d changes went, the newest among them", n)
		}
		if events, next, err := w.Changes(ctx, owner, 7, 10); err != nil || len(events) != 0 || next != 7 {
			t.Errorf("%d changes, next %d: %v", len(events), next, err)
		}
	})
}

func TestLinksGoAfterTheirEnd(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		now := w.Clock.Now()
		for id, expires := range map[string]time.Time{"over": now.Add(-time.Hour), "open": now.Add(time.Hour), "endless": {}} {
			err := w.Store.CreateShare(t.Context(), filestore.Share{
				ID: id, Namespace: ada, Path: "/", TokenCID: id, Created: now, Expires: expires, MaxBytes: 10,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := erase(t, w.DB, fileretention.Sources(w.DB)[retention.Shares][0], now); n != 1 {
			t.Errorf("%d links went, want the one that is over", n)
		}
		left, err := w.Store.SharesOf(t.Context(), []string{"over", "open", "endless"})
		if err != nil || len(left) != 2 {
			t.Errorf("%d links are left: %v", len(left), err)
		}
	})
}

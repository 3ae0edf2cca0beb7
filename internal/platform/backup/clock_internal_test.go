package backup

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// A clock that was once ahead must not stop backups until then, hide how the later ones
// went, or have the one just made deleted.
func TestWhatIsDatedInTheFutureDoesNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		w.plan = Schedule{Every: time.Hour, Keep: 1}
		var ahead []string
		for epoch := range int64(2) {
			at := time.Now().AddDate(1, 0, 0)
			b := Backup{Name: w.Place.nameOf(at, epoch), Made: at, Ended: at, Size: 1}
			_, err := w.store.Put(t.Context(), b.Name+archiveEnd, strings.NewReader("x"), blob.PutOptions{})
			if err := errors.Join(err, w.Place.putRecord(t.Context(), w.store, b.Name+recordEnd, b)); err != nil {
				t.Fatal(err)
			}
			ahead = append(ahead, b.Name)
		}
		later := time.Now().AddDate(1, 0, 0)
		if _, err := db.WriteOne(t.Context(), `INSERT INTO platform_backups (`+jobColumns+`) VALUES ($1, 'backup', '', 'o', $2, 3, 1, $2, $2, 1, 'full')`,
			jobID(later), sqldb.MS(later)); err != nil {
			t.Fatal(err)
		}
		var last string
		for range 2 {
			if err := errors.Join(w.Plan(t.Context()), w.Work(t.Context())); err != nil {
				t.Fatal(err)
			}
			list := w.listed(t, 3) // the second time none is due
			if got := list.Backups[2].Name; last != "" && got != last || slices.Contains(ahead, got) {
				t.Errorf("the one that is kept is %s after %s", got, last)
			}
			last = list.Backups[2].Name
		}
		trouble := w.Trouble()
		if len(trouble) != 1 {
			t.Fatalf("health says %q", trouble)
		}
		if said := trouble[0].Error(); !strings.Contains(said, ahead[0]) || !strings.Contains(said, ahead[1]) {
			t.Errorf("health says %q", said)
		}
		if good := w.lastGood.Load(); good == 0 || good > time.Now().Unix()+60 {
			t.Errorf("the last good one was at %d", good)
		}
		w.write = func(context.Context, io.Writer) error { return errors.New("the disk is on fire") }
		if _, err := w.Ask(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		if err := w.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if trouble := w.Trouble(); len(trouble) != 2 || !strings.Contains(trouble[0].Error(), "on fire") {
			t.Errorf("health says %q", trouble)
		}
		for _, name := range ahead {
			if err := w.store.Delete(t.Context(), name+archiveEnd); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.newest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if trouble := w.Trouble(); len(trouble) != 1 {
			t.Errorf("when they are gone health says %q", trouble)
		}
	})
}

// The names of one second are not in the order in which they were made.
func TestTheOneJustMadeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	now := time.Now().Truncate(time.Second)
	before, made := w.Place.nameOf(now, 9), w.Place.nameOf(now, 10)
	for _, name := range []string{before, made} {
		_, err := w.store.Put(t.Context(), name+archiveEnd, strings.NewReader("x"), blob.PutOptions{})
		b := Backup{Name: name, Made: now, Size: 1}
		if err := errors.Join(err, w.Place.putRecord(t.Context(), w.store, name+recordEnd, b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Place.prune(t.Context(), w.store, func() error { return nil }, made, 1, now); err != nil {
		t.Fatal(err)
	}
	if got := w.listed(t, 1).Backups[0].Name; got != made {
		t.Errorf("kept %s, not %s", got, made)
	}
}

package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestSchedulesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Schedule{
		"": {}, "every: 1d\nkeep: 14": {24 * time.Hour, 14}, "every: off": {}, "every: 1h\nkeep: off": {time.Hour, 0},
	} {
		got, err := ParseSchedule([]byte(text))
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParseSchedule([]byte(got.Text())); err != nil || again != got {
			t.Errorf("%q is read as %+v: %v", got.Text(), again, err)
		}
	}
	for _, text := range []string{"every: 59m", "every: -1d", "keep: 0", "keep: 1001", "keep: some", "each: 1d"} {
		if got, err := ParseSchedule([]byte(text)); err == nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
}

// world is a deployment that is one text, and its place.
type world struct {
	*Keeper
	store    blob.Store
	identity string
	plan     Schedule
	// write may stand in for writing the text.
	write func(ctx context.Context, to io.Writer) error
}

const said1 = "all that there is"

func newWorld(t *testing.T, db *sqldb.DB, node string, store blob.Store) *world {
	t.Helper()
	sqldbtest.Migrate(t, db, audit.Migrations())
	identity, recipient, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := archive.LockTo(recipient)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: store, identity: identity, write: func(_ context.Context, to io.Writer) error {
		_, err := io.WriteString(to, said1)
		return err
	}}
	w.Keeper = New(Config{
		DB: db, Leases: lease.NewKeeper(db, node), Schedule: func() Schedule { return w.plan },
		Place: &Place{
			Open: func() (blob.Store, error) { return w.store, nil }, Lock: lock, Key: []byte("key of the deployment"), Deployment: "0123abcd",
		},
		Write: func(ctx context.Context, to io.Writer) (archive.Summary, error) {
			return archive.Summary{Objects: 3, Keys: 1}, w.write(ctx, to)
		},
		Program: "test", Trail: audit.New(db), Log: slog.New(slog.DiscardHandler),
	})
	return w
}

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) { body(t, open(t)) })
}

func (w *world) made(t *testing.T) Backup {
	t.Helper()
	if _, err := w.Ask(t.Context(), "o"); err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.listed(t, -1).Backups[0].Backup
}

func (w *world) listed(t *testing.T, want int) Listing {
	t.Helper()
	list, err := w.Place.List(t.Context())
	if err != nil || want >= 0 && len(list.Backups) != want || list.Total != len(list.Backups) {
		t.Fatalf("%d backups of %d, want %d: %v", len(list.Backups), list.Total, want, err)
	}
	return list
}

func (w *world) last(t *testing.T) Job {
	t.Helper()
	jobs, err := w.Jobs(t.Context())
	if err != nil || len(jobs) == 0 {
		t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	return jobs[0]
}

func TestABackupIsMadeListedOpenedAndChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		b := w.made(t)
		if b.Objects != 3 || b.Keys != 1 || b.Recipients != 1 || b.Program != "test" || b.Size == 0 {
			t.Errorf("the record says %+v", b)
		}
		_, body, err := w.Place.Content(t.Context(), b.Name)
		if err != nil {
			t.Fatal(err)
		}
		keys := func(archive.Locked) (archive.Keys, error) { return archive.KeysFrom(w.identity) }
		plain, err := archive.Decrypt(body, keys)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(plain); err != nil || string(text) != said1 {
			t.Errorf("it holds %q: %v", text, err)
		}
		if _, err := w.AskCheck(t.Context(), b.Name, "o"); err != nil {
			t.Fatal(err)
		}
		if err := w.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := w.listed(t, 1).Backups[0].Check
		if check == nil || check.Problem != "" || check.By != "o" || check.Restored {
			t.Errorf("the check says %+v", check)
		}
		if j := w.last(t); j.State != Done || j.Bytes != b.Size || len(w.Trouble()) != 0 {
			t.Errorf("the job %+v, trouble %q", j, w.Trouble())
		}
		acts, err := w.Trail.List(t.Context(), audit.Filter{Limit: 10})
		if err != nil || len(acts) != 2 || acts[0].Act != "check" || acts[0].Status != 200 || acts[1].Target != b.Name {
			t.Errorf("the trail has %+v: %v", acts, err)
		}
	})
}

func TestADamagedBackupIsFoundOut(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t)
	w := newWorld(t, db, "a", blobmem.New())
	b := w.made(t)
	_, body, err := w.Place.Content(t.Context(), b.Name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if _, err := w.store.Put(t.Context(), b.Name+archiveEnd, bytes.NewReader(text), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	_, body, err = w.Place.Archive(t.Context(), b.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); !errors.Is(err, errChanged) || int64(len(got)) >= b.Size {
		t.Errorf("somebody who is to restore it got %d bytes of %d: %v", len(got), b.Size, err)
	}
	if _, err := w.AskCheck(t.Context(), b.Name, "o"); err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := w.listed(t, 1).Backups[0].Check
	if check == nil || !strings.Contains(check.Problem, "SHA-256") {
		t.Errorf("the check says %+v", check)
	}
	if trouble := w.Trouble(); len(trouble) != 1 || !strings.Contains(trouble[0].Error(), b.Name) {
		t.Errorf("health says %q", trouble)
	}
	// One that is cut off does not count at all.
	if _, err := w.store.Put(t.Context(), b.Name+archiveEnd, bytes.NewReader(text[:10]), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	w.listed(t, 0)
	if _, err := w.Find(t.Context(), b.Name); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is found: %v", err)
	}
}

// A node that ends in the middle leaves nothing that counts, and another begins anew.
func TestWhatEndsInTheMiddleIsNoBackup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		store := blobmem.New()
		w := newWorld(t, db, "a", store)
		ctx, stop := context.WithCancel(t.Context())
		w.write = func(ctx context.Context, to io.Writer) error {
			_, _ = io.WriteString(to, "half")
			stop()
			<-ctx.Done()
			return ctx.Err()
		}
		if _, err := w.Ask(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		_ = w.Work(ctx)
		w.listed(t, 0)
		if j := w.last(t); j.State != Waiting || j.Attempts != 0 {
			t.Errorf("the job that was stopped is %+v", j)
		}
		next := newWorld(t, db, "b", store)
		if err := next.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		next.listed(t, 1)
		if j := next.last(t); j.State != Done || j.By != "o" {
			t.Errorf("the job is %+v", j)
		}
	})
}

// Stores take an error that holds io.EOF, such as that of a connection that was lost, for
// the end of what they are given.
func TestAnArchiveThatIsCutOffIsNoBackup(t *testing.T) {
	t.Parallel()
	disk, err := blobdisk.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]blob.Store{"memory": blobmem.New(), "disk": disk} {
		w := newWorld(t, sqldbtest.SQLite(t), "a", store)
		w.write = func(_ context.Context, to io.Writer) error {
			_, _ = io.WriteString(to, "half")
			return fmt.Errorf("read table: %w", io.EOF)
		}
		if _, err := w.Ask(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		if err := w.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.listed(t, 0)
		if j := w.last(t); j.State != Failed || !strings.Contains(j.Problem, "read table") {
			t.Errorf("%s: the job is %+v", name, j)
		}
	}
}

// A node that dies between the archive and its record leaves an archive, which is not
// listed and goes with the next backup.
func TestAnArchiveWithoutARecordDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	half := w.Place.nameOf(time.Now().Add(-time.Hour), 1)
	other := "castalia-20260101T000000Z-ffffffff-1"
	for _, name := range []string{half, other} {
		if _, err := w.store.Put(t.Context(), name+archiveEnd, strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if list := w.listed(t, 0); list.Others != 1 {
		t.Errorf("%d archives of others", list.Others)
	}
	w.made(t)
	w.listed(t, 1)
	if _, err := w.store.Stat(t.Context(), half+archiveEnd); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("half a backup is still there: %v", err)
	}
	if _, err := w.store.Stat(t.Context(), other+archiveEnd); err != nil {
		t.Errorf("that of another deployment is gone: %v", err)
	}
}

func TestARecordOfSomebodyElseDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	b := w.made(t)
	forged := *w.Place
	forged.Key = []byte("another key")
	b.SHA256 = strings.Repeat("0", 64)
	if err := forged.putRecord(t.Context(), w.store, b.Name+recordEnd, b); err != nil {
		t.Fatal(err)
	}
	w.listed(t, 0)
	w.made(t) // which deletes old ones, and not what it does not understand
	if _, err := w.store.Stat(t.Context(), b.Name+archiveEnd); err != nil {
		t.Errorf("what is not understood was deleted: %v", err)
	}
}

func TestOnlyTheNewestAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	w.plan = Schedule{Keep: 2}
	var made []string
	for range 4 {
		made = append(made, w.made(t).Name)
	}
	list := w.listed(t, 2)
	for i, want := range []string{made[3], made[2]} {
		if list.Backups[i].Name != want {
			t.Errorf("kept %s, want %s", list.Backups[i].Name, want)
		}
	}
	left := 0
	for _, err := range w.store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		left++
	}
	if left != 4 {
		t.Errorf("%d objects are left of two backups", left)
	}
}

func TestTheNextOneIsDueByWhatIsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		planned := func(want int) {
			t.Helper()
			if err := errors.Join(w.Plan(t.Context()), w.Work(t.Context())); err != nil {
				t.Fatal(err)
			}
			w.listed(t, want)
		}
		planned(0) // nothing is scheduled
		w.plan.Every = time.Hour
		planned(1) // there is none
		planned(1) // it is new
		b := w.listed(t, 1).Backups[0].Backup
		b.Made = b.Made.Add(-2 * time.Hour)
		if err := w.Place.putRecord(t.Context(), w.store, b.Name+recordEnd, b); err != nil {
			t.Fatal(err)
		}
		planned(2)
		if j := w.last(t); j.By != ByPlan {
			t.Errorf("asked for by %s", j.By)
		}
	})
}

func TestAFailureIsSeenAndTriedAgainLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		w.plan.Every = time.Hour
		w.write = func(context.Context, io.Writer) error { return errors.New("the disk is on fire") }
		for range 2 { // the second is too early
			if err := errors.Join(w.Plan(t.Context()), w.Work(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		jobs, err := w.Jobs(t.Context())
		if err != nil || len(jobs) != 1 || jobs[0].State != Failed || !strings.Contains(jobs[0].Problem, "on fire") {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if trouble := w.Trouble(); len(trouble) != 1 || !strings.Contains(trouble[0].Error(), "on fire") || w.failures.Load() != 1 {
			t.Errorf("health says %q, %d failures", trouble, w.failures.Load())
		}
		acts, err := w.Trail.List(t.Context(), audit.Filter{Limit: 10})
		if err != nil || len(acts) != 1 || acts[0].Status != 500 || acts[0].Actor != ByPlan {
			t.Errorf("the trail has %+v: %v", acts, err)
		}
		if _, err := db.WriteOne(t.Context(), `UPDATE platform_backups SET ended_ms = ended_ms - $1`, retry.Milliseconds()); err != nil {
			t.Fatal(err)
		}
		w.write = func(context.Context, io.Writer) error { return nil }
		if err := errors.Join(w.Plan(t.Context()), w.Work(t.Context())); err != nil {
			t.Fatal(err)
		}
		w.listed(t, 1)
		if trouble := w.Trouble(); len(trouble) != 0 {
			t.Errorf("health still says %q", trouble)
		}
	})
}

func TestAJobThatKillsNodesIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	if _, err := w.Ask(t.Context(), "o"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.WriteOne(t.Context(), `UPDATE platform_backups SET state = 1, attempts = $1`, attempts); err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j := w.last(t); j.State != Failed || !strings.Contains(j.Problem, "node ended") {
		t.Errorf("the job is %+v", j)
	}
	w.listed(t, 0)
}

func TestOneNodeMakesItAndOneRequestIsOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		store := blobmem.New()
		a, b := newWorld(t, db, "a", store), newWorld(t, db, "b", store)
		began, goOn := make(chan struct{}), make(chan struct{})
		a.write = func(context.Context, io.Writer) error {
			close(began)
			<-goOn
			return nil
		}
		b.write = func(context.Context, io.Writer) error {
			t.Error("the second node makes one too")
			return nil
		}
		first, err := a.Ask(t.Context(), "o")
		if err != nil {
			t.Fatal(err)
		}
		var working sync.WaitGroup
		working.Go(func() {
			if err := a.Work(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-began
		again, err := b.Ask(t.Context(), "p")
		if err != nil || again.ID != first.ID || again.State != Running {
			t.Errorf("a second request is %+v of %+v: %v", again, first, err)
		}
		if err := b.Work(t.Context()); err != nil {
			t.Error(err)
		}
		close(goOn)
		working.Wait()
		a.listed(t, 1)
	})
}

// A node that was paused and lost the lease must not take the archive that the next one
// has written, and has not recorded yet, for one that nobody wants.
func TestWhoLostTheLeaseDeletesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		next := w.Place.nameOf(time.Now(), 1000)
		w.write = func(ctx context.Context, _ io.Writer) error {
			_, err := db.WriteOne(ctx, `UPDATE platform_leases SET epoch = 1000, holder = 'b' WHERE name = $1`, leaseName)
			if err != nil {
				return err
			}
			_, err = w.store.Put(ctx, next+archiveEnd, strings.NewReader("x"), blob.PutOptions{})
			return err
		}
		if _, err := w.Ask(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		if err := w.Work(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("the lease is not lost: %v", err)
		}
		if _, err := w.store.Stat(t.Context(), next+archiveEnd); err != nil {
			t.Errorf("the archive of the next node is gone: %v", err)
		}
	})
}

func TestOldJobsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, "a", blobmem.New())
		for range keptJobs + 3 {
			if _, err := db.WriteOne(t.Context(), `INSERT INTO platform_backups (`+jobColumns+`) VALUES ($1, 'check', '', 'o', 1, 2, 1, 1, 1, 1, '')`, jobID(time.UnixMilli(1))); err != nil {
				t.Fatal(err)
			}
		}
		w.made(t)
		var n int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM platform_backups`).Scan(&n); err != nil || n != keptJobs {
			t.Errorf("%d jobs are remembered, want %d: %v", n, keptJobs, err)
		}
	})
}

func TestNamesAreThoseOfBackups(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	for _, name := range []string{"", "..", "castalia-20260101T000000Z-ffffffff-1", "castalia-20260101T000000Z-0123abcd-1", "castalia-20260101T000000Z-0123abcd-1/../x"} {
		if _, err := w.Find(t.Context(), name); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if !slices.ContainsFunc([]string{w.Place.nameOf(time.Now(), 7)}, w.Place.ours) {
		t.Error("a name that was made is not known")
	}
}

func TestWithoutAPlaceItSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqldbtest.SQLite(t), "a", blobmem.New())
	w.Place = nil
	if _, err := w.Ask(t.Context(), "o"); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "BACKUP_URL") {
		t.Errorf("%v", err)
	}
	w.plan.Every = time.Hour
	if trouble := w.Trouble(); len(trouble) != 1 {
		t.Errorf("health says %q", trouble)
	}
}

package search_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
	"github.com/castalia-org/castalia/test/testenv"
)

// unread are the namespaces that are queued for the indexer.
func unread(t *testing.T, store filestore.Index) (all []string) {
	t.Helper()
	page, err := store.IndexBehind(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range page {
		all = append(all, at.Namespace)
	}
	return all
}

// A namespace is queued with its change, and no longer when all its changes are read.
func TestOnlyWhatChangedIsQueued(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, "did:key:zA", "/a.txt", "apples\n")
		w.MustPut(t, "did:key:zB", "/a.txt", "pears\n")
		if got := unread(t, w.Store); !slices.Equal(got, []string{"did:key:zA", "did:key:zB"}) {
			t.Errorf("queued are %q", got)
		}
		w.Index(context.Background(), t)
		if got := unread(t, w.Store); len(got) != 0 {
			t.Errorf("read, and still queued, are %q", got)
		}
		w.MustPut(t, "did:key:zB", "/b.txt", "plums\n")
		if got := unread(t, w.Store); !slices.Equal(got, []string{"did:key:zB"}) {
			t.Errorf("queued are %q", got)
		}
		// A change that is not committed is not queued, and what is newer than what was read stays.
		_, err := w.Put(t.Context(), filestore.Owner("did:key:zA"),
			filestore.Put{Path: "/a.txt", Mode: filestore.CreateOnly, Body: strings.NewReader("x"), Size: 1})
		if err == nil {
			t.Fatal("a file was made over another")
		}
		if err := w.Store.IndexRead(t.Context(), filestore.IndexCursor{Namespace: "did:key:zB", Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if got := unread(t, w.Store); !slices.Equal(got, []string{"did:key:zB"}) {
			t.Errorf("queued are %q", got)
		}
	})
}

// What comes while the index reads waits for the next time, so that files which come one
// after the other do not have a segment each; what it left of a namespace does not wait.
func TestTheIndexSaysWhatItLeft(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		once := func(want bool) {
			t.Helper()
			if more, err := w.Find.IndexOnce(t.Context()); err != nil || more != want {
				t.Errorf("there is more: %v, want %v (%v)", more, want, err)
			}
		}
		once(false)
		for i := range 300 {
			w.MustPut(t, "did:key:zA", fmt.Sprintf("/%d.txt", i), fmt.Sprintf("apples number%d\n", i))
		}
		w.MustPut(t, "did:key:zB", "/0.txt", "apples\n")
		once(true)
		once(false)
		for _, i := range []int{0, 255, 256, 299} {
			got := found(t, w.Find, filestore.Owner("did:key:zA"), fmt.Sprintf("number%d", i))
			if name := fmt.Sprintf("/%d.txt", i); len(got) == 0 || got[0] != name {
				t.Errorf("%s is not found first: %q", name, got)
			}
		}
		if got := unread(t, w.Store); len(got) != 0 {
			t.Errorf("queued are %q", got)
		}
	})
}

// An indexer that died between what it saved and the queue leaves a row without work, and
// a node of the release before leaves work without a row.
func TestTheQueueIsHealed(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		all := []string{"did:key:zA", "did:key:zB", "did:key:zC"}
		for _, ns := range all {
			w.MustPut(t, ns, "/a.txt", "apples\n")
		}
		forget := func() {
			t.Helper()
			if _, err := w.DB.WriteOne(t.Context(), `DELETE FROM filestore_unread`); err != nil {
				t.Fatal(err)
			}
		}
		forget()
		for after, n := "", 0; n == 0 || after != ""; n++ {
			var err error
			if after, err = w.Store.IndexMissed(t.Context(), after, 2); err != nil || n > 3 {
				t.Fatalf("after %d pages: %v", n, err)
			}
		}
		if got := unread(t, w.Store); !slices.Equal(got, all) {
			t.Errorf("queued are %q", got)
		}
		forget()
		if err := w.Find.PatrolOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Index(context.Background(), t)
		want(t, "apples", found(t, w.Find, filestore.Owner("did:key:zC"), "apples"), "/a.txt")
		if err := w.Find.PatrolOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := unread(t, w.Store); len(got) != 0 {
			t.Errorf("nothing is new, and queued are %q", got)
		}
		if _, err := w.DB.WriteOne(t.Context(), `INSERT INTO filestore_unread (ns, last) VALUES ('did:key:zA', 1)`); err != nil {
			t.Fatal(err)
		}
		w.Index(context.Background(), t)
		if got := unread(t, w.Store); len(got) != 0 {
			t.Errorf("read before, and still queued, are %q", got)
		}
	})
}

// Whoever writes while several nodes index: nothing is left unread that is not queued.
func TestNothingIsUnreadAndNotQueued(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		nodes := []*search.Service{w.Find, search.New(w.Node())}
		ctx, stop := context.WithCancel(t.Context())
		var indexing, writing sync.WaitGroup
		for _, find := range nodes {
			indexing.Go(func() {
				for ctx.Err() == nil {
					if _, err := find.IndexOnce(ctx); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for n := range 4 {
			writing.Go(func() {
				for i := range 12 {
					w.MustPut(t, fmt.Sprintf("did:key:z%d", n%2), fmt.Sprintf("/%d/%d.txt", n, i), "apples\n")
				}
			})
		}
		writing.Wait()
		stop()
		indexing.Wait()
		w.Index(context.Background(), t)
		if got := unread(t, w.Store); len(got) != 0 {
			t.Errorf("queued are %q", got)
		}
		for n := range 2 {
			at, err := w.Store.IndexStand(t.Context(), fmt.Sprintf("did:key:z%d", n))
			if err != nil || at.Newest != 24 || at.Through != at.Newest {
				t.Errorf("%+v, %v", at, err)
			}
		}
	})
}

// An upgrade queues what the index had not read, and marks what is to be joined.
func TestAnUpgradeFindsWhatWaits(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		all := filestoresql.Migrations()
		before := fstest.MapFS{}
		err := fs.WalkDir(all.FS, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(path) >= "0014" {
				return err
			}
			text, err := fs.ReadFile(all.FS, path)
			before[path] = &fstest.MapFile{Data: text}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		db := sqldbtest.Migrate(t, open(t), sqldb.Migrations{Service: all.Service, FS: before})
		texts := []string{`INSERT INTO platform_feeds (name, last) VALUES ('filestore/read', 3), ('filestore/behind', 3), ('filestore/new', 1), ('other/new', 1)`}
		for ns, seq := range map[string]int{"read": 3, "behind": 2, "new": 0, "none": 0} {
			texts = append(texts, fmt.Sprintf(`INSERT INTO filestore_namespaces (ns, wrapped_key, master_id, index_key, keep_versions, created_ms)
				SELECT '%s', wrapped_key, '', wrapped_key, 1, 1 FROM (SELECT CAST('' AS %s) AS wrapped_key) k`, ns, map[sqldb.Dialect]string{sqldb.SQLite: "BLOB", sqldb.Postgres: "BYTEA"}[db.Dialect()]))
			if seq > 0 {
				texts = append(texts, fmt.Sprintf(`INSERT INTO filestore_text_indexes (id, seq, revision, dirty_ms) VALUES ('%s', %d, 1, 0)`, ns, seq))
			}
			for i := range 4 { // of one size, and of two
				size := 1000
				if ns == "behind" && i < 2 {
					size = 300_000
				}
				texts = append(texts, fmt.Sprintf(`INSERT INTO filestore_text_segments (id, collection, wrapped_key, header, size, sealed, passages, dead_ms, created_ms)
					SELECT '%s%d', '%[1]s', wrapped_key, wrapped_key, %[3]d, 1, 1, 0, 1 FROM filestore_namespaces WHERE ns = '%[1]s'`, ns, i, size))
			}
		}
		for _, text := range texts {
			if _, err := db.WriteOne(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		sqldbtest.Migrate(t, db, all)
		store := filestoresql.New(db)
		if got := unread(t, store); !slices.Equal(got, []string{"behind", "new"}) {
			t.Errorf("queued are %q", got)
		}
		dirty, err := store.IndexShelf().Dirty(t.Context(), segmentsize.Many, segmentsize.Tiers(false), time.Time{}, "", 10)
		if err != nil || !slices.Equal(dirty, []string{"read"}) {
			t.Errorf("to be tidied are %q, %v", dirty, err)
		}
	})
}

// crashVariable makes this test binary the process that is killed.
const crashVariable = "CASTALIA_TEST_PUT_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashVariable); dir != "" {
		putUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// putUntilKilled stores files, indexes them, and says so after each.
func putUntilKilled(dir string) {
	ctx := context.Background()
	db, err := sqldb.Open(ctx, "sqlite:"+filepath.Join(dir, sqldb.FileName), sqldb.Options{})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	disk, err := blobdisk.New(dir)
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	files := filestore.New(filestore.Deps{Store: filestoresql.New(db), Blobs: disk},
		filestore.Config{MasterKey: filestoretest.MasterKey})
	find := search.New(files)
	go func() {
		for {
			_, _ = find.IndexOnce(ctx) // it is killed in the middle
		}
	}()
	for i := 0; ; i++ {
		_, err := files.Put(ctx, filestore.Owner(fmt.Sprintf("did:key:z%d", i%5)), filestore.Put{
			Path: fmt.Sprintf("/%d-%d.txt", os.Getpid(), i), Mode: filestore.CreateOnly, MimeType: "text/plain",
			Body: strings.NewReader("apples\n"), Size: 7,
		})
		if err != nil {
			fmt.Println("put:", err)
			return
		}
		fmt.Println("put")
	}
}

// A process that is killed at any instant leaves no change that is neither read nor
// queued.
func TestAKilledProcessLeavesItsChangesQueued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, sqldb.FileName)
	made := sqldbtest.Open(t, url, sqldb.Options{})
	if err := made.Migrate(t.Context(), filestoresql.Migrations()); err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	for _, enough := range []int{1, 7, 40} {
		printed := testenv.Killed(t, crashVariable, dir, enough)
		for _, line := range printed {
			if line != "put" {
				t.Fatal(line)
			}
		}
		db := sqldbtest.Open(t, url, sqldb.Options{})
		lost, err := sqldb.Strings(t.Context(), db.Read(), `SELECT p.name FROM platform_feeds p
			LEFT JOIN filestore_text_indexes i ON 'filestore/' || i.id = p.name LEFT JOIN filestore_unread u ON 'filestore/' || u.ns = p.name
			WHERE p.last > COALESCE(i.seq, 0) AND COALESCE(u.last, 0) < p.last`)
		if err != nil || len(lost) != 0 {
			t.Errorf("after %d files, neither read nor queued are changes of %q, %v", len(printed), lost, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Package filestoretest builds file stores for tests, in both shapes: SQLite with
// objects on disk, and PostgreSQL with objects in S3.
package filestoretest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobs3/blobs3test"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/dag"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
	"github.com/castalia-org/castalia/test/testenv"
)

// MasterKey is the key under which tests keep their files.
var MasterKey = seal.Key{1, 2, 3}

// World is a file store with the things it stands on.
type World struct {
	*filestore.Service
	Folders *folder.Service
	Find    *search.Service
	Text    *filetext.Service
	Upkeep  *upkeep.Service
	DAG     *dag.Service
	DB      *sqldb.DB
	Store   *filestoresql.Store
	Blobs   *blobtest.Faulty
	Folder  string // where objects are, in the embedded shape
	Clock   *Clock
}

// Each runs body in both shapes.
func Each(t *testing.T, body func(t *testing.T, w *World)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		body(t, Embedded(t))
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		testenv.Need(t, "postgres", "s3")
		body(t, Fleet(t))
	})
}

// Embedded returns a store on SQLite and a folder.
func Embedded(t testing.TB, change ...func(*filestore.Config)) *World {
	t.Helper()
	dir := t.TempDir()
	disk, err := blobdisk.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := New(t, sqldbtest.SQLite(t), disk, change...)
	w.Folder = dir
	return w
}

// Fleet returns a store on PostgreSQL and S3.
func Fleet(t testing.TB, change ...func(*filestore.Config)) *World {
	t.Helper()
	return New(t, sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{}), blobs3test.Open(t), change...)
}

// New returns a store on a database, which gets its tables, and an object store.
func New(t testing.TB, db *sqldb.DB, objects blob.Store, change ...func(*filestore.Config)) *World {
	t.Helper()
	if err := db.Migrate(t.Context(), filestoresql.Migrations()); err != nil {
		t.Fatal(err)
	}
	w := &World{DB: db, Store: filestoresql.New(db), Blobs: blobtest.NewFaulty(objects), Clock: &Clock{now: time.Now()}}
	w.Service = w.Node(change...)
	w.Folders = folder.New(w.Service, w.Store)
	w.Find, w.Text, w.Upkeep, w.DAG = search.New(w.Service), filetext.New(w.Service), upkeep.New(w.Service),
		dag.New(w.Service, w.Folders)
	return w
}

// Node returns another node's service on the same stores.
func (w *World) Node(change ...func(*filestore.Config)) *filestore.Service {
	cfg := filestore.Config{MasterKey: MasterKey}
	for _, f := range change {
		f(&cfg)
	}
	return filestore.New(filestore.Deps{Store: w.Store, Blobs: w.Blobs, Now: w.Clock.Now}, cfg)
}

// Clock is a clock that tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// MustPut stores text at a path as the owner, creating or replacing.
func (w *World) MustPut(t testing.TB, namespace, path, text string) filestore.File {
	t.Helper()
	r, err := w.Put(t.Context(), filestore.Owner(namespace), filestore.Put{
		Path: path, Mode: filestore.Upsert, MimeType: "text/plain", Body: strings.NewReader(text), Size: int64(len(text)),
	})
	if err != nil {
		t.Fatalf("put %s: %v", path, err)
	}
	return r.File
}

// Index brings the search index up to date.
func (w *World) Index(ctx context.Context, t testing.TB) {
	t.Helper()
	for {
		more, err := w.Find.IndexOnce(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// Package knowledgetest builds knowledge for tests, in both shapes, on files that
// live in memory, and has the contract of its store.
package knowledgetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobs3/blobs3test"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/test/testenv"
)

// MasterKey is the key under which tests keep their knowledge.
var MasterKey = seal.Key{4, 5, 6}

// World is a service with the things it stands on.
type World struct {
	*knowledge.Service
	DB      *sqldb.DB
	Records *knowledgesql.Store
	Objects blob.Store
	Files   *Files
	Clock   *Clock
	// Folder is where objects are, in the embedded shape.
	Folder string
	// Members are who is a member.
	Members map[string]bool
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
		body(t, newWorld(t, sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{}), blobs3test.Open(t)))
	})
}

// Embedded is a world on SQLite and a folder.
func Embedded(t testing.TB) *World {
	t.Helper()
	dir := t.TempDir()
	disk, err := blobdisk.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, sqldbtest.SQLite(t), disk)
	w.Folder = dir
	return w
}

func newWorld(t testing.TB, db *sqldb.DB, objects blob.Store) *World {
	t.Helper()
	for _, m := range []sqldb.Migrations{queue.Migrations(), knowledgesql.Migrations()} {
		if err := db.Migrate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	w := &World{
		DB: db, Records: knowledgesql.New(db), Objects: objects, Files: NewFiles(), Clock: &Clock{now: time.Now()},
		Members: map[string]bool{},
	}
	w.Service = w.Node(nil)
	return w
}

// Node returns another node's service on the same stores.
func (w *World) Node(change func(*knowledge.Deps, *knowledge.Config)) *knowledge.Service {
	d := knowledge.Deps{
		Store: w.Records, Files: w.Files, Blobs: w.Objects, Reader: Plain{}, Now: w.Clock.Now,
		Member: func(_ context.Context, did string) (bool, error) { return w.Members[did], nil },
	}
	cfg := knowledge.Config{MasterKey: MasterKey, Node: "node"}
	if change != nil {
		change(&d, &cfg)
	}
	return knowledge.New(d, cfg)
}

// Follow takes in what happened to files, and reads nothing.
func (w *World) Follow(t testing.TB) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = w.FollowOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Settle follows files and reads documents until nothing is left to do.
func (w *World) Settle(t testing.TB) {
	t.Helper()
	for {
		more, err := w.FollowOnce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for {
			did, err := w.ReadOne(t.Context(), "test")
			if err != nil {
				t.Fatal(err)
			}
			if !did {
				break
			}
			more = true
		}
		if !more {
			return
		}
	}
}

// MustCreate makes a collection of a folder, and publishes it where that is needed.
func (w *World) MustCreate(t testing.TB, namespace, name, folder string, readers knowledge.Readers,
	dids ...string,
) knowledge.Collection {
	t.Helper()
	c, err := w.Create(t.Context(), OwnerOf(namespace),
		knowledge.NewCollection{Name: name, Folder: folder, Readers: readers, DIDs: dids})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Readers.NeedConsent() {
		return c
	}
	if c, err = w.Publish(t.Context(), c.ID, c.Readers); err != nil {
		t.Fatal(err)
	}
	return c
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

// Broken is the text of a document that cannot be read.
const Broken = "%broken%"

// Plain reads text: lines that begin with # are headings, each form feed begins a
// page, and every other line is a paragraph.
type Plain struct{}

// Read implements knowledge.Reader.
func (Plain) Read(_ context.Context, src document.Source) (*document.Document, error) {
	if string(src.Data) == Broken {
		return nil, document.ErrDamaged
	}
	b := document.NewBuilder(document.Limits{})
	for text := range strings.SplitSeq(string(src.Data), "\f") {
		n, err := b.Page()
		if err != nil {
			return nil, err
		}
		at := document.Place{Page: n}
		for line := range strings.SplitSeq(text, "\n") {
			if title, ok := strings.CutPrefix(line, "# "); ok {
				b.Title(title)
				err = b.Heading(1, title, at)
			} else if strings.TrimSpace(line) != "" {
				err = b.Paragraph(line, at)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return b.Document(), nil
}

// OwnerOf manages all of a namespace, as its owner does.
func OwnerOf(namespace string) knowledge.Manager {
	return knowledge.Manager{Reach: knowledge.Whole(namespace), Owner: true}
}

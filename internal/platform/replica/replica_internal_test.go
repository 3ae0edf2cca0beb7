package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// away is a place that can go away, before or after it did what it was asked.
type away struct {
	blob.Store
	gone, late atomic.Bool // read by what is copied in the background too
}

var errAway = errors.New("the place is away")

func (a *away) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if a.gone.Load() && !a.late.Load() {
		return blob.Info{}, errAway
	}
	info, err := a.Store.Put(ctx, key, body, opt)
	if a.gone.Load() {
		return blob.Info{}, errAway
	}
	return info, err
}

// world is a machine with a data folder, and a place elsewhere.
type world struct {
	t      *testing.T
	dir    string
	remote *away
	signer archive.Signer
	lock   archive.Lock
	keys   archive.Keys
	now    time.Time
	db     *sqldb.DB
	ship   *Shipper
	// sums are what the tables were after each write; covered is how many of those
	// must be in the replica.
	sums    []uint64
	covered int
	objects *Objects
	named   map[string]bool // objects that a record names
}

func newWorld(t *testing.T, remote blob.Store) *world {
	t.Helper()
	identity, recipient, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, remote: &away{Store: remote}, now: time.Now(), dir: t.TempDir(), sums: []uint64{0}}
	w.signer = newSigner("oracle")
	if w.lock, err = archive.LockTo(recipient); err != nil {
		t.Fatal(err)
	}
	if w.keys, err = archive.KeysFrom(identity); err != nil {
		t.Fatal(err)
	}
	w.open()
	t.Cleanup(w.drop)
	return w
}

// newSigner is the key of a deployment.
func newSigner(name string) archive.Signer {
	return archive.Signer{Name: name, Sign: func(text []byte) []byte { return []byte(name + sumOf(text)) }}
}

func verify(signer string, text, signature []byte) error {
	if !bytes.Equal(newSigner(signer).Sign(text), signature) {
		return errors.New("its signature is not good")
	}
	return nil
}

var demo = sqldb.Migrations{Service: "demo", FS: fstest.MapFS{"0001_first.sql": {Data: []byte(
	`CREATE TABLE demo_things (id {{int}} NOT NULL PRIMARY KEY, body {{blob}} NOT NULL) {{table}};
	CREATE TABLE demo_count (one {{int}} NOT NULL PRIMARY KEY, n {{int}} NOT NULL) {{table}};`)}}}

func (w *world) database() string { return filepath.Join(w.dir, sqldb.FileName) }

func (w *world) open() {
	w.t.Helper()
	var err error
	w.ship, err = Prepare(Config{
		To: w.remote, Folder: w.dir, Database: w.database(), Deployment: "d1", Program: "test", Lock: w.lock, Signer: w.signer,
		Keys: map[string][]byte{"ORACLE_KEY": []byte("secret\n")}, Retention: time.Hour, Interval: time.Millisecond,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ship.foldAt = 40
	if w.db, err = sqldb.Open(w.t.Context(), "sqlite:"+w.database(), sqldb.Options{KeepLog: true}); err != nil {
		w.t.Fatal(err)
	}
	store, err := blobdisk.New(filepath.Join(w.dir, "objects"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.objects = Watch(store, func(_ context.Context, key string) (bool, error) { return w.named[key], nil })
	w.ship.Use(w.db.Log(), w.objects)
	if err := w.db.Migrate(w.t.Context(), demo); err != nil {
		w.t.Fatal(err)
	}
}

// drop ends the process without a word to the replica.
func (w *world) drop() {
	if w.db == nil {
		return
	}
	w.db.Log().AtEnd(nil)
	w.ship.stopBase()
	if w.ship.sweeper != nil {
		w.ship.sweeper.stop()
	}
	_ = w.db.Close()
	w.db = nil
}

// crash goes on with what a killed process leaves: its files as they are.
func (w *world) crash() {
	w.t.Helper()
	next := w.t.TempDir()
	if err := os.CopyFS(next, os.DirFS(w.dir)); err != nil {
		w.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(next, sqldb.FileName+"-shm"))
	w.drop()
	w.dir = next
	w.open()
}

// stop ends the process in good order.
func (w *world) stop() {
	w.t.Helper()
	if err := w.db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.db = nil
	if err := w.ship.Closed(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tick(d time.Duration) { w.now = w.now.Add(d) }

// write is one acknowledged change of rows.
func (w *world) write(r *rand.Rand, rows int) {
	w.t.Helper()
	n := len(w.sums)
	name := ""
	if r.IntN(4) == 0 {
		name = fmt.Sprintf("files/%d", n)
		body := strings.NewReader(strings.Repeat("x", n))
		if _, err := w.objects.Put(w.t.Context(), name, body, blob.PutOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
	err := w.db.Write(w.t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		for range rows {
			body := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(3000))
			query := `INSERT INTO demo_things (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body`
			if r.IntN(3) == 0 {
				query = `DELETE FROM demo_things WHERE id >= $1 AND id < $1 + 20 AND length($2) > 100`
			}
			if _, err := tx.ExecContext(ctx, query, r.IntN(400), body); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_count (one, n) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET n = excluded.n`, n)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.sums = append(w.sums, sumRows(w.t, w.db))
	w.tick(time.Millisecond)
}

func sumRows(t *testing.T, db *sqldb.DB) uint64 {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), `SELECT id, body FROM demo_things ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	h := fnv.New64a()
	for rows.Next() {
		var id int64
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			t.Fatal(err)
		}
		_ = binary.Write(h, binary.LittleEndian, id)
		_, _ = h.Write(body)
	}
	return h.Sum64()
}

// round lets the shipper work until what was written is covered.
func (w *world) round() {
	w.t.Helper()
	for {
		w.tick(time.Second)
		err := w.ship.round(w.t.Context())
		if errors.Is(err, errAway) && !w.remote.gone.Load() {
			continue // a whole copy that began while the place was away says so now
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if w.ship.base != nil {
			err := <-w.ship.base.done
			w.ship.base.done <- err
			continue
		}
		if w.ship.Lag() <= time.Second {
			w.covered = len(w.sums) - 1
			return
		}
	}
}

// restore fills an empty folder and returns which write was the last in it.
func (w *world) restore(at time.Time) (int, Restored) {
	w.t.Helper()
	dir := w.t.TempDir()
	objects := blobmem.New()
	keys := map[string]string{}
	did, err := Restore(w.t.Context(), Wanted{
		From: w.remote, Unlock: with(w.keys), Author: archive.Author{Signer: w.signer.Name, Verify: verify}, At: at,
		Database: filepath.Join(dir, sqldb.FileName), Objects: objects,
		PutKey: func(name string, key []byte) error { keys[name] = string(key); return nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if keys["ORACLE_KEY"] != "secret\n" {
		w.t.Errorf("keys: %v", keys)
	}
	db, err := sqldb.Open(w.t.Context(), "sqlite:"+filepath.Join(dir, sqldb.FileName), sqldb.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if found, err := db.Check(w.t.Context(), true); err != nil || len(found) > 0 {
		w.t.Fatalf("damaged: %v %v", found, err)
	}
	n := 0
	_ = db.Read().QueryRowContext(w.t.Context(), `SELECT n FROM demo_count`).Scan(&n)
	if n > 0 && sumRows(w.t, db) != w.sums[n] {
		w.t.Fatalf("the rows are not those of write %d", n)
	}
	for i := 1; i <= n; i++ {
		if _, err := w.objects.Stat(w.t.Context(), fmt.Sprintf("files/%d", i)); err != nil {
			continue
		}
		if info, err := objects.Stat(w.t.Context(), fmt.Sprintf("files/%d", i)); err != nil || info.Size != int64(i) {
			w.t.Errorf("object of write %d: %+v %v", i, info, err)
		}
	}
	return n, did
}

func (w *world) expectAll() Restored {
	w.t.Helper()
	n, did := w.restore(time.Time{})
	if n < w.covered || n > len(w.sums)-1 {
		w.t.Fatalf("restored write %d, %d of %d must be there", n, w.covered, len(w.sums)-1)
	}
	return did
}

func TestEverythingThatIsCoveredIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	r := rand.New(rand.NewPCG(1, 1))
	w.round()
	for range 30 {
		w.write(r, 1+r.IntN(60))
		w.round()
	}
	did := w.expectAll()
	if did.Pieces < 20 || did.Generation != 1 {
		t.Errorf("%+v", did)
	}
	if w.ship.state.Position.Frames > 500 {
		t.Errorf("the log was never begun anew: %+v", w.ship.state.Position)
	}
}

// TestKilledAtAnyPoint writes at random, kills at random, has the place go away and
// come back at random: what is restored is always a moment of the past, and never one
// before what was covered.
func TestKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, blobmem.New())
			r := rand.New(rand.NewPCG(seed, 7))
			w.round()
			generations := int64(1)
			for range 60 {
				switch r.IntN(12) {
				case 0:
					w.crash()
				case 1:
					w.stop()
					w.covered = max(w.covered, 0)
					w.open()
				case 2:
					w.remote.late.Store(r.IntN(2) == 0)
					w.remote.gone.Store(true)
				case 3:
					w.expectAll()
				case 4, 5:
					w.remote.gone.Store(false)
					w.round()
					generations = max(generations, w.ship.generation.number)
				case 6:
					w.tick(time.Second)
					_ = w.ship.round(t.Context())
					if err := w.ship.bound(t.Context()); err != nil {
						t.Fatal(err)
					}
				default:
					w.write(r, 1+r.IntN(80))
				}
			}
			w.remote.gone.Store(false)
			w.round()
			w.expectAll()
		})
	}
}

func TestAKilledProcessIsContinuedWithoutANewBase(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world){"killed": (*world).crash, "stopped": func(w *world) { w.stop(); w.open() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, blobmem.New())
			r := rand.New(rand.NewPCG(3, 3))
			w.round()
			w.write(r, 5)
			w.round()
			for range 4 {
				w.write(r, 50) // is not in the replica yet
				end(w)
				w.write(r, 5)
				w.round()
				w.expectAll()
			}
			bases, err := list(t.Context(), w.remote, baseFolder)
			if err != nil || len(bases) != 1 {
				t.Errorf("bases: %+v, %v", bases, err)
			}
			if w.ship.generation.number != 5 {
				t.Errorf("generation %d", w.ship.generation.number)
			}
		})
	}
}

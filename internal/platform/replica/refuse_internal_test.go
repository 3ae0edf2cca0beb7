package replica

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// wanted is a restore into an empty folder.
func (w *world) wanted(keys archive.Keys) Wanted {
	return Wanted{
		From: w.remote, Unlock: with(keys), Database: filepath.Join(w.t.TempDir(), sqldb.FileName), Objects: blobmem.New(),
		Author: archive.Author{Verify: verify}, PutKey: func(string, []byte) error { return nil },
	}
}

func (w *world) refused(want Wanted, text string) {
	w.t.Helper()
	_, err := Restore(w.t.Context(), want)
	if err == nil || !strings.Contains(err.Error(), text) {
		w.t.Errorf("want %q, got %v", text, err)
	}
	if _, err := os.Stat(want.Database); err == nil {
		w.t.Error("there is a database nevertheless")
	}
}

func filled(t *testing.T) (*world, *rand.Rand) {
	t.Helper()
	w := newWorld(t, blobmem.New())
	r := rand.New(rand.NewPCG(5, 5))
	w.round()
	for range 5 {
		w.write(r, 10)
		w.round()
	}
	return w, r
}

func TestAMomentOfThePastIsRestored(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	type moment struct {
		at time.Time
		n  int
	}
	var moments []moment
	for i := range 12 {
		w.write(r, 10)
		w.round()
		moments = append(moments, moment{w.now, w.covered})
		switch i {
		case 4:
			w.crash()
		case 8:
			if err := w.ship.lose(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range moments {
		if n, _ := w.restore(m.at); n != m.n {
			t.Errorf("at %s: write %d, want %d", m.at, n, m.n)
		}
	}
	early := w.wanted(w.keys)
	early.At = moments[0].at.Add(-time.Hour)
	w.refused(early, "does not reach back")
}

func TestAReplicaThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	log, err := list(t.Context(), w.remote, logFolder)
	if err != nil || len(log) < 4 {
		t.Fatal(log, err)
	}
	identity, _, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := archive.KeysFrom(identity)
	if err != nil {
		t.Fatal(err)
	}
	w.refused(w.wanted(other), "not encrypted for this key")

	name := log[2].Name
	body, err := get(t.Context(), w.remote, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for what, hurt := range map[string][]byte{
		"changed": append(bytes.Clone(body[:len(body)-1]), body[len(body)-1]^1),
		"cut":     body[:len(body)-20],
		"plain":   []byte("plain"),
	} {
		if _, err := w.remote.Put(t.Context(), name, bytes.NewReader(hurt), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Log(what)
		w.refused(w.wanted(w.keys), name)
	}
	if err := w.remote.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w.refused(w.wanted(w.keys), "something is missing")
	empty := w.wanted(w.keys)
	empty.From = blobmem.New()
	w.refused(empty, "no replica")
}

// Whoever may write to the place and knows for whom it is encrypted may begin a generation: one
// that goes on where it begins itself must not be followed for ever.
func TestAGenerationThatContinuesItselfIsRefused(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	for _, on := range []int64{9, 10} {
		body, err := sealStart(start{Format: format, Generation: 9, Continues: &mark{Generation: on}}, w.signer, w.lock)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.remote.Put(t.Context(), startName(9), bytes.NewReader(body), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		w.refused(w.wanted(w.keys), "says that it continues")
	}
}

func TestAPassphraseOpensAReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	lock, err := archive.LockBy("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	w.ship.cfg.Lock = lock
	w.write(rand.New(rand.NewPCG(5, 5)), 3)
	w.round()
	wrong, err := archive.KeyOf("wrong horse battery")
	if err != nil {
		t.Fatal(err)
	}
	w.refused(w.wanted(wrong), "not encrypted for this key or passphrase")
	if w.keys, err = archive.KeyOf("correct horse battery"); err != nil {
		t.Fatal(err)
	}
	w.expectAll()
}

func TestTwoProcessesDoNotMix(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	// A copy of the folder is started elsewhere.
	twin := &world{t: t, remote: w.remote, signer: w.signer, lock: w.lock, keys: w.keys, now: w.now, dir: t.TempDir()}
	if err := os.CopyFS(twin.dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	twin.open()
	t.Cleanup(twin.drop)
	twin.sums = append(twin.sums, w.sums...)
	twin.write(r, 5)
	twin.round()
	w.write(r, 5)
	w.tick(2 * fenceEvery)
	if err := w.ship.round(t.Context()); !errors.Is(err, errFenced) {
		t.Errorf("the older process: %v", err)
	}
	twin.write(r, 5)
	twin.round()
	twin.expectAll()

	stranger := newWorld(t, w.remote)
	stranger.ship.cfg.Deployment = "d2"
	if err := stranger.ship.round(t.Context()); !errors.Is(err, errOther) {
		t.Errorf("another deployment: %v", err)
	}
}

func TestTheLogIsBoundedWhileThePlaceIsAway(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	w.ship.mostLog = 1 << 20
	w.remote.gone.Store(true)
	for range 60 {
		w.write(r, 60)
		_ = w.ship.round(t.Context())
		if err := w.ship.bound(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(w.db.Log().Path()); err != nil || info.Size() > 3<<20 {
		t.Errorf("the log: %v %v", info.Size(), err)
	}
	if w.ship.Lag() == 0 {
		t.Error("nothing tells that the replica is behind")
	}
	w.expectAll()
	w.remote.gone.Store(false)
	w.round()
	if n, did := w.restore(time.Time{}); n != len(w.sums)-1 || did.Generation != 2 {
		t.Errorf("write %d of %d, %+v", n, len(w.sums)-1, did)
	}
}

// TestAnotherWriterIsCopiedToo has another process change the database, and fold its
// log as SQLite does by itself.
func TestAnotherWriterIsCopiedToo(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	for range 3 {
		other, err := sqldb.Open(t.Context(), "sqlite:"+w.database(), sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		mine := w.db
		w.db = other
		for range 30 {
			w.write(r, 60)
		}
		w.db = mine
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		w.round()
		w.expectAll()
	}
}

func TestWhatTheRetentionLetsGoIsDeleted(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	for range 40 {
		w.write(r, 10)
	}
	w.round()
	before, err := Look(t.Context(), w.remote)
	if err != nil || before.Objects == 0 || before.Deployment != "d1" {
		t.Fatal(before, err)
	}
	var key string
	for info, err := range w.objects.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		key = info.Key
	}
	if err := w.objects.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if _, err := w.remote.Stat(t.Context(), objectFolder+key); err != nil {
		t.Errorf("deleted at once: %v", err)
	}
	w.now = time.Now().Add(25 * time.Hour) // a new base is due, the old one is not old enough to go
	w.write(r, 10)
	w.round()
	w.tick(30 * time.Minute)
	w.write(r, 10)
	w.round()
	half := w.now
	n := w.covered
	w.tick(45 * time.Minute)
	w.write(r, 10)
	w.round()
	w.sweep()
	if _, err := w.remote.Stat(t.Context(), objectFolder+key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	after, err := Look(t.Context(), w.remote)
	if err != nil || after.Bases != 1 || after.Pieces > 4 || !after.Oldest.After(before.Newest) {
		t.Errorf("before %+v\nafter %+v %v", before, after, err)
	}
	if got, _ := w.restore(half); got != n {
		t.Errorf("within the retention: %d, want %d", got, n)
	}
	w.expectAll()
}

package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// These tests are about whoever can write to the place of a replica, and knows for whom
// it is encrypted, which is no secret.

func (w *world) store(name string, body []byte) {
	w.t.Helper()
	if _, err := w.remote.Put(w.t.Context(), name, bytes.NewReader(body), blob.PutOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) load(name string) []byte {
	w.t.Helper()
	body, err := get(w.t.Context(), w.remote, name, 1<<30)
	if err != nil {
		w.t.Fatal(err)
	}
	return body
}

// plainStart is a start as releases before wrote it.
func plainStart(t *testing.T, s start, lock archive.Lock) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := writeJSON(&text, s); err != nil {
		t.Fatal(err)
	}
	body, err := sealText(text.Bytes(), lock)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// forge begins a generation with a database of the forger's own.
func (w *world) forge(generation int64, signer *archive.Signer, on *mark) {
	w.t.Helper()
	identity, recipient, err := archive.NewKey()
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := archive.LockTo(recipient)
	if err != nil {
		w.t.Fatal(err)
	}
	s := start{Format: format, Generation: generation, Made: w.now, Identity: identity, Continues: on}
	body := plainStart(w.t, s, w.lock)
	if signer != nil {
		if body, err = sealStart(s, *signer, w.lock); err != nil {
			w.t.Fatal(err)
		}
	}
	w.store(startName(generation), body)
	ms := w.now.UnixMilli()
	h := head{Generation: generation, Made: ms}
	if on != nil {
		h.Seq, h.Chain = on.Seq, on.Chain
	}
	name := placeName(baseFolder, generation, h.Seq, ms)
	if _, err := putBase(w.t.Context(), w.remote, name, h, strings.NewReader("forged"), lock); err != nil {
		w.t.Fatal(err)
	}
}

func TestAForgedGenerationIsRefused(t *testing.T) {
	t.Parallel()
	forger := newSigner("forger")
	for name, forge := range map[string]struct {
		by   *archive.Signer
		says string
	}{
		"nobody signed it":     {nil, "is not signed"},
		"signed by the forger": {&forger, "is signed by " + forger.Name},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := filled(t)
			w.forge(9, forge.by, nil)
			want := w.wanted(w.keys)
			want.Signer = w.signer.Name
			w.refused(want, forge.says)
			want.Unsigned = true // allows what nobody signed, and that alone; not above what is signed
			w.refused(want, forge.says)
			// in the place of a generation that a true one goes on with
			if err := w.remote.Delete(t.Context(), startName(9)); err != nil {
				t.Fatal(err)
			}
			w.crash()
			w.write(rand.New(rand.NewPCG(1, 1)), 4)
			w.round()
			at := w.ship.state.At
			w.forge(1, forge.by, &mark{Seq: at.Seq, Chain: at.Chain})
			for info, err := range w.remote.List(t.Context(), baseFolder+"00000002/") {
				t.Fatal("generation 2 was to go on without a base", info, err)
			}
			for _, want.Unsigned = range []bool{false, true} {
				says := forge.says
				if want.Unsigned && forge.by == nil {
					says = "with which it goes on, is not"
				}
				want.Signer = w.signer.Name
				w.refused(want, says)
				want.Signer = "" // the newest is the true one's, and so must the others be
				w.refused(want, map[bool]string{true: "with which it goes on, is not", false: says}[forge.by != nil])
			}
		})
	}
}

func TestWhoeverWroteTheNewestIsTold(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	want := w.wanted(w.keys)
	if did, err := Restore(t.Context(), want); err != nil || did.Signer != w.signer.Name {
		t.Errorf("%+v, %v", did, err)
	}
}

func TestAStartThatWasChangedIsRefused(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	in, err := open(bytes.NewReader(w.load(startName(1))), with(w.keys))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range [][]byte{
		bytes.Replace(text, []byte(`"program":"test"`), []byte(`"program":"tesT"`), 1),
		bytes.Replace(text, []byte(`"signer":"oracle"`), []byte(`"signer":"forger"`), 1),
	} {
		body, err := sealText(changed, w.lock)
		if err != nil {
			t.Fatal(err)
		}
		w.store(startName(1), body)
		w.refused(w.wanted(w.keys), "its signature is not good")
	}
}

// A replica of a release before is restored by whoever says that they know; the next
// start of its server does not go on with it, so that it is signed from then on.
func TestAReplicaOfBeforeIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	anybodys := &Wanted{From: w.remote, Unlock: with(w.keys), Author: archive.Author{Verify: verify}}
	s, err := readStart(t.Context(), anybodys, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.store(startName(1), plainStart(t, s, w.lock))
	w.refused(w.wanted(w.keys), "`--unsigned` restores it all the same")
	want := w.wanted(w.keys)
	want.Unsigned, want.Signer = true, w.signer.Name
	if did, err := Restore(t.Context(), want); err != nil || did.Signer != "" {
		t.Fatalf("%+v, %v", did, err)
	}
	w.ship.state.Signer = ""
	if err := w.ship.save(); err != nil {
		t.Fatal(err)
	}
	w.crash()
	w.write(r, 3)
	w.round()
	if did := w.expectAll(); did.Generation != 2 || did.Signer != w.signer.Name {
		t.Errorf("%+v", did)
	}
}

func TestPiecesThatWereExchangedAreRefused(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	if err := w.ship.lose(); err != nil {
		t.Fatal(err)
	}
	w.write(r, 3)
	w.round()
	w.write(r, 3)
	w.round()
	log, err := list(t.Context(), w.remote, logFolder)
	if err != nil {
		t.Fatal(err)
	}
	bases, err := list(t.Context(), w.remote, baseFolder)
	if err != nil || len(bases) != 2 {
		t.Fatal(bases, err)
	}
	var former, newer []place
	for _, p := range log {
		if p.Generation == 1 {
			former = append(former, p)
		} else {
			newer = append(newer, p)
		}
	}
	if len(former) < 3 || len(newer) < 1 {
		t.Fatal(log)
	}
	for what, hurt := range map[string]struct {
		name string
		body []byte
		at   time.Time
	}{
		"two pieces exchanged":         {former[1].Name, w.load(former[2].Name), former[2].Made},
		"a piece of before, again":     {newer[0].Name, w.load(former[0].Name), time.Time{}},
		"a whole copy of before":       {bases[1].Name, w.load(bases[0].Name), time.Time{}},
		"a piece in place of a copy":   {bases[1].Name, w.load(newer[0].Name), time.Time{}},
		"a whole copy that was cut":    {bases[1].Name, w.load(bases[1].Name)[:bases[1].Bytes-30], time.Time{}},
		"a piece that was cut":         {newer[0].Name, w.load(newer[0].Name)[:newer[0].Bytes-9], time.Time{}},
		"a piece with something more":  {newer[0].Name, append(w.load(newer[0].Name), 0), time.Time{}},
		"a whole copy and more":        {bases[1].Name, append(w.load(bases[1].Name), 0), time.Time{}},
		"nothing":                      {newer[0].Name, nil, time.Time{}},
		"the start of a former writer": {startName(2), w.load(startName(1)), time.Time{}},
	} {
		before := w.load(hurt.name)
		w.store(hurt.name, hurt.body)
		want := w.wanted(w.keys)
		want.At = hurt.at
		if _, err := Restore(t.Context(), want); err == nil {
			t.Errorf("%s: it was restored", what)
		} else {
			t.Logf("%s: %v", what, err)
		}
		w.store(hurt.name, before)
	}
	w.expectAll()
	last := newer[len(newer)-1]
	copied := placeName(baseFolder, last.Generation, last.Seq, last.Made.UnixMilli())
	w.store(copied, w.load(last.Name))
	w.refused(w.wanted(w.keys), "is a piece of the log")
}

// Nobody has checked how long a piece is before it was read. It measures the memory of
// the process, so it does not run beside others.
func TestAPieceOfAGigabyteIsNotReadIntoMemory(t *testing.T) {
	dir := t.TempDir()
	disk, err := blobdisk.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, disk)
	r := rand.New(rand.NewPCG(5, 5))
	w.round()
	for range 3 {
		w.write(r, 3)
		w.round()
	}
	log, err := list(t.Context(), w.remote, logFolder)
	if err != nil {
		t.Fatal(err)
	}
	bases, err := list(t.Context(), w.remote, baseFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{log[1].Name, bases[0].Name, startName(1), ownerName} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 1<<30); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if name == ownerName {
			if _, err := Occupied(t.Context(), w.remote); err == nil {
				t.Errorf("%s was read", name)
			}
		} else {
			w.refused(w.wanted(w.keys), "")
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
			t.Errorf("%s: %d MiB of memory were used", name, used>>20)
		}
		if err := os.Truncate(path, info.Size()); err != nil {
			t.Fatal(err)
		}
	}
	w.expectAll()
}

// One long transaction is one long piece, which is read where it lies.
func TestALongPieceIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	r := rand.New(rand.NewPCG(5, 5))
	w.round()
	body := make([]byte, 2*mostAhead)
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	if err := w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, body) VALUES (1000, $1)`, body)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	w.write(r, 3)
	w.round()
	w.write(r, 3)
	w.round()
	log, err := list(t.Context(), w.remote, logFolder)
	if err != nil || log[0].Bytes <= mostAhead {
		t.Fatal(log, err)
	}
	w.expectAll()
	for _, step := range []struct {
		after  error
		helped bool // whether an earlier moment does without it
	}{{io.EOF, true}, {io.ErrUnexpectedEOF, false}, {errors.New("connection reset by peer"), false}, {blob.ErrNotFound, true}} {
		_, err := Restore(t.Context(), Wanted{
			From: cut{w.remote, log[0].Name, step.after}, Unlock: with(w.keys),
			Author:   archive.Author{Signer: w.signer.Name, Verify: verify},
			Database: filepath.Join(t.TempDir(), sqldb.FileName), Objects: blobmem.New(),
			PutKey: func(string, []byte) error { return nil },
		})
		if err == nil || strings.Contains(err.Error(), "--at") != step.helped || !strings.Contains(err.Error(), log[0].Name) {
			t.Errorf("a piece that ends with %v: %v", step.after, err)
		}
	}
}

// A place that says once of everything that it is not there has lost nothing.
func TestAPassingAbsenceIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	r := rand.New(rand.NewPCG(6, 6))
	if _, err := w.objects.Put(t.Context(), "files/mine", strings.NewReader("mine"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.write(r, 3)
		w.round()
	}
	objects := 0
	for info, err := range w.remote.List(t.Context(), objectFolder) {
		if err != nil {
			t.Fatal(info, err)
		}
		objects++
	}
	to := blobmem.New()
	did, err := Restore(t.Context(), Wanted{
		From: &forgetful{Store: w.remote}, Unlock: with(w.keys),
		Author:   archive.Author{Signer: w.signer.Name, Verify: verify},
		Database: filepath.Join(t.TempDir(), sqldb.FileName), Objects: to,
		PutKey: func(string, []byte) error { return nil },
	})
	if err != nil || did.Pieces == 0 || len(did.Passed) != 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	restored := 0
	for range to.List(t.Context(), "") {
		restored++
	}
	if objects == 0 || restored != objects {
		t.Errorf("%d of %d objects were restored", restored, objects)
	}
}

// forgetful is a place that does not find an object the first time that it is asked for it.
type forgetful struct {
	blob.Store
	asked sync.Map
}

func (f *forgetful) Stat(ctx context.Context, key string) (blob.Info, error) {
	if _, again := f.asked.LoadOrStore("stat "+key, true); !again {
		return blob.Info{}, blob.ErrNotFound
	}
	return f.Store.Stat(ctx, key)
}

func (f *forgetful) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if _, again := f.asked.LoadOrStore(key, true); !again && !strings.HasPrefix(key, objectFolder) {
		return nil, blob.ErrNotFound
	}
	return f.Store.Get(ctx, key, offset, length)
}

// cut is a place in which the reading of one object ends early, or does not begin.
type cut struct {
	blob.Store
	name  string
	after error
}

func (c cut) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if key != c.name {
		return c.Store.Get(ctx, key, offset, length)
	}
	if errors.Is(c.after, blob.ErrNotFound) {
		return nil, c.after
	}
	body, err := c.Store.Get(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, mostAhead), iotest.ErrReader(c.after)), body}, nil
}

// climbing is a place that lists an object by a name that leads out of it.
type climbing struct{ blob.Store }

func (c climbing) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for info, err := range c.Store.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
		if prefix == objectFolder {
			yield(blob.Info{Key: objectFolder + "../../climbed", Size: 3}, nil)
		}
	}
}

func (c climbing) Stat(context.Context, string) (blob.Info, error) { return blob.Info{Size: 3}, nil }

func (c climbing) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	if strings.Contains(key, "..") {
		return io.NopCloser(strings.NewReader("out")), nil
	}
	return c.Store.Get(ctx, key, off, n)
}

func TestAnObjectDoesNotClimbOutOfItsFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, blobmem.New())
	w.round()
	dir := t.TempDir()
	objects, err := blobdisk.New(filepath.Join(dir, "one", "objects"))
	if err != nil {
		t.Fatal(err)
	}
	want := w.wanted(w.keys)
	want.From, want.Objects = climbing{w.remote}, objects
	w.refused(want, "climbed")
	if _, err := os.Stat(filepath.Join(dir, "climbed")); err == nil {
		t.Error("it did")
	}
}

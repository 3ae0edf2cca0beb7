package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

const ns = "did:key:zOwner"

var owner = filestore.Owner(ns)

func put(path string, body io.Reader) filestore.Put {
	return filestore.Put{Path: path, Mode: filestore.Upsert, MimeType: "text/plain", Body: body}
}

func content(t *testing.T, w *filestoretest.World, path string) (string, error) {
	t.Helper()
	_, o, err := w.OpenPath(t.Context(), owner, path)
	if err != nil {
		return "", err
	}
	r, err := o.Range(0, -1)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	return string(b), err
}

// sweep runs the sweeper long after everything that can end has ended, and fails
// when an object is left that no version needs.
func sweep(t *testing.T, w *filestoretest.World, live int) {
	t.Helper()
	w.Blobs.Set(blobtest.Healthy())
	for range 2 {
		w.Clock.Add(72 * time.Hour)
		if _, err := w.Upkeep.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range w.Blobs.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != live {
		t.Errorf("%d objects are left, want %d", n, live)
	}
}

func TestAFailedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		large := blobtest.Bytes(7 << 20)
		if _, err := w.Put(t.Context(), owner, put("/f", bytes.NewReader(large[:100_000]))); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("line dropped")
		for name, fail := range map[string]func() io.Reader{
			"client leaves": func() io.Reader { return io.MultiReader(bytes.NewReader(large), iotest.ErrReader(broken)) },
			"client is cut": func() io.Reader {
				return io.MultiReader(bytes.NewReader(large), iotest.ErrReader(io.ErrUnexpectedEOF))
			},
			"client is cut early": func() io.Reader {
				return io.MultiReader(bytes.NewReader(large[:1000]), iotest.ErrReader(io.ErrUnexpectedEOF))
			},
			"store fails mid-part": func() io.Reader {
				p := blobtest.Healthy()
				p.PutAfter = 6 << 20
				w.Blobs.Set(p)
				return bytes.NewReader(large)
			},
			"store loses the answer": func() io.Reader {
				p := blobtest.Healthy()
				p.PutLost = true
				w.Blobs.Set(p)
				return bytes.NewReader(large)
			},
			"store is full": func() io.Reader {
				p := blobtest.Healthy()
				p.Err = fault.New(fault.StorageFull, "full")
				w.Blobs.Set(p)
				return bytes.NewReader(large)
			},
		} {
			body := fail()
			if _, err := w.Put(t.Context(), owner, put("/f", body)); err == nil {
				t.Errorf("%s: was taken", name)
			}
			w.Blobs.Set(blobtest.Healthy())
			if got, err := content(t, w, "/f"); err != nil || got != string(large[:100_000]) {
				t.Errorf("%s: the old version is gone: %v", name, err)
			}
		}
		sweep(t, w, 1)
	})
}

// A writer that is killed has done some of its steps: every prefix of them is
// whole or absent, and swept.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{0, 1, 40, 65536, 1 << 20, 3 << 20} {
		w := filestoretest.Embedded(t)
		p := blobtest.Healthy()
		p.PutAfter = at
		w.Blobs.Set(p)
		// Nobody abandons: a killed process does not either. The lease's end does it.
		_, err := w.Put(t.Context(), owner, put("/f", bytes.NewReader(blobtest.Bytes(3<<20))))
		if err == nil {
			t.Errorf("at %d: was taken", at)
		}
		if _, err := content(t, w, "/f"); !fault.Is(err, fault.NotFound) {
			t.Errorf("at %d: half visible: %v", at, err)
		}
		sweep(t, w, 0)
	}
}

func TestADatabaseThatFailsAtCommit(t *testing.T) {
	t.Parallel()
	var breaker sqldbtest.Breaker
	disk, err := blobdisk.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := filestoretest.New(t, sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{Fault: breaker.Fault}), disk)
	for _, size := range []int{10, 100_000} {
		w.MustPut(t, ns, "/f", "old")
		body := io.MultiReader(bytes.NewReader(blobtest.Bytes(size)), atEnd(func() { breaker.FailCommits(1) }))
		if _, err := w.Put(t.Context(), owner, put("/f", body)); err == nil {
			t.Errorf("%d bytes were acknowledged without a commit", size)
		}
		if got, err := content(t, w, "/f"); err != nil || got != "old" {
			t.Errorf("%d bytes: %q, %v", size, got, err)
		}
	}
	sweep(t, w, 0)
}

// A commit whose acknowledgement is lost is there: what the writer does after the
// bad news must not harm it.
func TestALostAcknowledgement(t *testing.T) {
	t.Parallel()
	var breaker sqldbtest.Breaker
	disk, err := blobdisk.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := filestoretest.New(t, sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{Fault: breaker.Fault}), disk)
	w.MustPut(t, ns, "/f", "old")
	want := blobtest.Bytes(100_000)
	p := put("/f", io.MultiReader(bytes.NewReader(want), atEnd(func() { breaker.LoseAcks(1) })))
	p.Once = filestore.Once{Key: "k", Fingerprint: "f"}
	if _, err := w.Put(t.Context(), owner, p); err == nil {
		t.Error("the acknowledgement was not lost")
	}
	p.Body = bytes.NewReader(want)
	if r, err := w.Put(t.Context(), owner, p); err != nil || !r.Replayed || r.File.Version != 2 {
		t.Errorf("asked again: %+v, %v", r, err)
	}
	sweep(t, w, 1)
	if got, err := content(t, w, "/f"); err != nil || got != string(want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// atEnd is an empty reader that calls fn when it is reached.
type atEnd func()

func (f atEnd) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func TestTwoWritersOfOnePath(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		race := func(p func(i int) filestore.Put) (won int32, errs []error) {
			var wg sync.WaitGroup
			var mu sync.Mutex
			var count atomic.Int32
			for i := range 8 {
				wg.Go(func() {
					if _, err := w.Put(t.Context(), owner, p(i)); err != nil {
						mu.Lock()
						errs = append(errs, err)
						mu.Unlock()
						return
					}
					count.Add(1)
				})
			}
			wg.Wait()
			return count.Load(), errs
		}
		won, errs := race(func(i int) filestore.Put {
			return filestore.Put{Path: "/new", Mode: filestore.CreateOnly, Body: bytes.NewReader(blobtest.Bytes(100 * (i + 1)))}
		})
		for _, err := range errs {
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("loser of a create: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d creators won", won)
		}
		f, err := w.Stat(t.Context(), owner, "/new")
		if err != nil {
			t.Fatal(err)
		}
		won, errs = race(func(i int) filestore.Put {
			return filestore.Put{
				Path: "/new", Mode: filestore.Upsert, Body: bytes.NewReader(blobtest.Bytes(1000 + i)),
				If: filestore.Condition{Match: []string{f.CID}},
			}
		})
		for _, err := range errs {
			if !fault.Is(err, fault.Precondition) {
				t.Errorf("loser of a replace: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d replacers won", won)
		}
		if won, errs = race(func(i int) filestore.Put {
			return put("/new", bytes.NewReader(blobtest.Bytes(2000+i)))
		}); won != 8 {
			t.Errorf("%d of 8 unconditional writers won: %v", won, errs)
		}
		if f, _ = w.Stat(t.Context(), owner, "/new"); f.Version != 10 {
			t.Errorf("version %d, want 10", f.Version)
		}
	})
}

// An object store that is away for a moment is not damage, and no file is left
// out of the index for it: it is read again.
func TestAStoreThatIsAwayIsNotDamage(t *testing.T) {
	t.Parallel()
	away := func(err error) bool { return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) }
	for name, plan := range map[string]func(*blobtest.Plan){
		"it refuses":           func(p *blobtest.Plan) { p.Err = errors.New("connection refused") },
		"it hangs up":          func(p *blobtest.Plan) { p.Err = &url.Error{Op: "Get", URL: "http://s3", Err: io.EOF} },
		"it is silent":         func(p *blobtest.Plan) { p.Err = &url.Error{Op: "Get", URL: "http://s3", Err: context.DeadlineExceeded} },
		"it fails":             func(p *blobtest.Plan) { p.GetAfter = 70_000 },
		"the line is cut":      func(p *blobtest.Plan) { p.GetAfter, p.GetErr = 70_000, io.ErrUnexpectedEOF },
		"the line is cut soon": func(p *blobtest.Plan) { p.GetAfter, p.GetErr = 0, io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filestoretest.Embedded(t)
			w.MustPut(t, ns, "/large", strings.Repeat("hay\n", 40_000)+"needle")
			w.MustPut(t, "did:key:zOther", "/small", "a needle too")
			broken := blobtest.Healthy()
			plan(&broken)
			w.Blobs.Set(broken)
			if _, err := content(t, w, "/large"); !away(err) {
				t.Errorf("a reader is told %v", err)
			}
			_, err := w.Text.Edit(t.Context(), owner, filetext.Edit{Path: "/large", Old: "needle", New: "pin"})
			if !away(err) {
				t.Errorf("an editor is told %v", err)
			}
			if _, err := w.Text.Append(t.Context(), owner, filetext.Append{Path: "/large", Text: "more"}); !away(err) {
				t.Errorf("who appends is told %v", err)
			}
			if _, err := w.Find.IndexOnce(t.Context()); !away(err) {
				t.Errorf("the indexer went on: %v", err)
			}
			if r, err := w.Find.Search(t.Context(), filestore.Owner("did:key:zOther"), "needle", "/", 10); err != nil || len(r.Hits) != 1 {
				t.Errorf("a file that needs no object is not found: %+v, %v", r, err)
			}
			w.Blobs.Set(blobtest.Healthy())
			w.Index(t.Context(), t)
			if r, err := w.Find.Search(t.Context(), owner, "needle", "/", 10); err != nil || len(r.Hits) != 1 {
				t.Errorf("the file is not found by its words: %+v, %v", r, err)
			}
		})
	}
}

// What needs the database alone is swept while the object store is away: a file's
// time in the trash is over when it is over.
func TestAStoreThatIsAwayDoesNotEndTheSweep(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	u, err := w.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/uploaded", Length: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	release, _, err := w.LockUpload(t.Context(), u.ID, "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteUpload(t.Context(), owner, u.ID, "me", 0, bytes.NewReader(blobtest.Bytes(100_000)),
		nil); err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := w.FinishUpload(t.Context(), owner, u.ID); err != nil {
		t.Fatal(err)
	}
	f := w.MustPut(t, ns, "/thrown", "away")
	if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: f.ID}); err != nil {
		t.Fatal(err)
	}
	w.Clock.Add(365 * 24 * time.Hour)
	away := blobtest.Healthy()
	away.Err = errors.New("connection refused")
	w.Blobs.Set(away)
	n, err := w.Upkeep.Sweep(t.Context())
	if err == nil {
		t.Error("the sweep does not say that the object store is away")
	}
	if n.Purged != 1 {
		t.Errorf("%d files were purged, want 1: %v", n.Purged, err)
	}
	sweep(t, w, 1)
}

func TestBitFlipsAreDetectedAndNamed(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	w.MustPut(t, ns, "/docs/flipped", strings.Repeat("sensitive ", 20_000))
	w.MustPut(t, ns, "/docs/fine", strings.Repeat("fine ", 20_000))
	plan := blobtest.Healthy()
	for _, at := range []int64{3, 45, 70_000, 150_000} {
		plan.Flip = at
		w.Blobs.Set(plan)
		if _, err := content(t, w, "/docs/flipped"); fault.From(err).Code != "corrupt" {
			t.Errorf("bit %d: %v", at, err)
		}
	}
	w.Blobs.Set(blobtest.Healthy())
	f, err := w.Stat(t.Context(), owner, "/docs/flipped")
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Store.Blob(t.Context(), f.Blob)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Folder, filepath.FromSlash(b.Extents[0].Object))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[100_000] ^= 1
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := doctor(t, w, upkeep.Examine{}); len(found) != 0 {
		t.Errorf("a quick look finds %q", found)
	}
	found := doctor(t, w, upkeep.Examine{Deep: true})
	if len(found) != 1 || !strings.HasPrefix(found[0], "/docs/flipped version 1") {
		t.Errorf("a deep look finds %q", found)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if found := doctor(t, w, upkeep.Examine{}); len(found) != 1 {
		t.Errorf("a missing object: %q", found)
	}
}

// doctor returns the problems.
func doctor(t *testing.T, w *filestoretest.World, x upkeep.Examine) []string {
	t.Helper()
	var problems []string
	if err := w.Upkeep.Doctor(t.Context(), x, func(f upkeep.Finding) {
		if f.Problem {
			problems = append(problems, f.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return problems
}

func TestDoctorRemovesOrphansOnlyWhenTold(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	w.MustPut(t, ns, "/f", strings.Repeat("x", 50_000))
	const orphan = "files/ab/abcdef-0-1234"
	if _, err := w.Blobs.Put(t.Context(), orphan, strings.NewReader("left over"), blobPut()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if found := doctor(t, w, upkeep.Examine{}); len(found) != 1 || !strings.Contains(found[0], orphan) {
			t.Errorf("found %q", found)
		}
	}
	doctor(t, w, upkeep.Examine{Repair: true})
	if found := doctor(t, w, upkeep.Examine{Deep: true}); len(found) != 0 {
		t.Errorf("after repair: %q", found)
	}
}

// A part that was stored when the database went away belongs to its upload until
// that is over, and then it goes, and the content stays.
func TestAPartThatWasNeverCountedGoesWithItsUpload(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		text := strings.Repeat("part", 20_000)
		u, err := w.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/f", Length: int64(len(text))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteUpload(t.Context(), owner, u.ID, "nobody", 0, strings.NewReader(text), nil); !fault.Is(err,
			fault.Conflict) {
			t.Fatalf("a part of somebody without the lock: %v", err)
		}
		release, _, err := w.LockUpload(t.Context(), u.ID, "me")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteUpload(t.Context(), owner, u.ID, "me", 0, strings.NewReader(text), nil); err != nil {
			t.Fatal(err)
		}
		release()
		if _, err := w.FinishUpload(t.Context(), owner, u.ID); err != nil {
			t.Fatal(err)
		}
		if found := doctor(t, w, upkeep.Examine{Deep: true}); len(found) != 0 {
			t.Errorf("while the upload is known: %q", found)
		}
		sweep(t, w, 1)
		if found := doctor(t, w, upkeep.Examine{Deep: true}); len(found) != 0 {
			t.Errorf("after it: %q", found)
		}
		if got, err := content(t, w, "/f"); err != nil || got != text {
			t.Errorf("the content has %d bytes: %v", len(got), err)
		}
	})
}

func TestKeysRotateWithoutTouchingBytes(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, ns, "/small", "s")
		w.MustPut(t, ns, "/large", strings.Repeat("l", 100_000))
		next := seal.NewKey()
		both := func(c *filestore.Config) { c.MasterKey, c.OldKeys = next, []seal.Key{filestoretest.MasterKey} }
		p := blobtest.Healthy()
		p.Err = errors.New("rotation touched the object store")
		w.Blobs.Set(p)
		if n, err := upkeep.New(w.Node(both)).RotateKeys(t.Context()); err != nil || n != 1 {
			t.Fatalf("rotated %d: %v", n, err)
		}
		w.Blobs.Set(blobtest.Healthy())
		w.Service = w.Node(func(c *filestore.Config) { c.MasterKey = next })
		for _, path := range []string{"/small", "/large"} {
			if _, err := content(t, w, path); err != nil {
				t.Errorf("%s under the new key: %v", path, err)
			}
		}
		w.Service = w.Node()
		if _, err := content(t, w, "/small"); err == nil {
			t.Error("the old key still opens")
		}
	})
}

// TestANodeThatWasForgottenDoesNotBringAFormerKeyBack makes a namespace on a node that
// still has the former key first, after everything was wrapped under the new one.
func TestANodeThatWasForgottenDoesNotBringAFormerKeyBack(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		next := seal.NewKey()
		w.Service = w.Node(func(c *filestore.Config) {
			c.OldKeys = []seal.Key{next}
			c.InForce = func(context.Context) (seal.Key, error) { return next, nil }
		})
		w.MustPut(t, ns, "/f", "s")
		w.Service = w.Node(func(c *filestore.Config) { c.MasterKey = next })
		if _, err := content(t, w, "/f"); err != nil {
			t.Errorf("without the former key: %v", err)
		}
		away := fault.New(fault.Unavailable, "This node does not have the key that is in force.")
		w.Service = w.Node(func(c *filestore.Config) {
			c.InForce = func(context.Context) (seal.Key, error) { return seal.Key{}, away }
		})
		if _, err := w.Put(t.Context(), filestore.Owner("other"), filestore.Put{
			Path: "/f", Mode: filestore.Upsert, Body: strings.NewReader("s"), Size: 1,
		}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a node without the key in force: %v", err)
		}
	})
}

func TestPurgeShredsAtOnce(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	f := w.MustPut(t, ns, "/f", strings.Repeat("secret ", 10_000))
	b, err := w.Store.Blob(t.Context(), f.Blob)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: f.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(t.Context(), owner, filestore.Target{ID: f.ID}); err != nil {
		t.Fatal(err)
	}
	after, err := w.Store.Blob(t.Context(), f.Blob)
	if err != nil || len(after.WrappedKey) != 0 || after.State != filestore.Dead {
		t.Errorf("the key is still there: %+v, %v", after, err)
	}
	if _, err := w.Blobs.Stat(t.Context(), b.Extents[0].Object); err != nil {
		t.Errorf("open readers have a grace period: %v", err)
	}
	sweep(t, w, 0)
}

func TestTrashIsPurgedAfterItsTime(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	f := w.MustPut(t, ns, "/f", strings.Repeat("x", 50_000))
	if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: f.ID}); err != nil {
		t.Fatal(err)
	}
	w.Clock.Add(29 * 24 * time.Hour)
	if n, err := w.Upkeep.Sweep(t.Context()); err != nil || n.Purged != 0 {
		t.Errorf("too early: %+v, %v", n, err)
	}
	w.Clock.Add(2 * 24 * time.Hour)
	if n, err := w.Upkeep.Sweep(t.Context()); err != nil || n.Purged != 1 {
		t.Errorf("in time: %+v, %v", n, err)
	}
	sweep(t, w, 0)
}

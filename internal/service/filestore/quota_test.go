package filestore_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// A quota of one's own holds in the place of the usual one, from one request to the next.
func TestANamespaceMayHaveAQuotaOfItsOwn(t *testing.T) {
	t.Parallel()
	var own atomic.Int64
	own.Store(10)
	s := filestoretest.Embedded(t).Node(func(c *filestore.Config) {
		c.QuotaOf = func(namespace string) int64 {
			if namespace != owner.Namespace {
				return 100
			}
			return own.Load()
		}
	})
	put := func(a filestore.Access, size int) error {
		_, err := s.Put(t.Context(), a, filestore.Put{
			Path: "/" + strconv.Itoa(size), Mode: filestore.Upsert, Body: strings.NewReader(strings.Repeat("x", size)),
		})
		return err
	}
	if err := put(owner, 11); fault.From(err).Code != "quota_exceeded" || !strings.Contains(err.Error(), "10 bytes") {
		t.Errorf("more than the own quota: %v", err)
	}
	if err := put(filestore.Owner("another"), 11); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	own.Store(0)
	if err := put(owner, 101); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestQuotaCountsVersionsAndTrash(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := w.Node(func(c *filestore.Config) { c.Quota = 100 })
		put := func(path string, size int) error {
			_, err := s.Put(t.Context(), owner,
				filestore.Put{Path: path, Mode: filestore.Upsert, Body: strings.NewReader(strings.Repeat("x", size))})
			return err
		}
		over := func(what string, err error) {
			t.Helper()
			if fault.From(err).Code != "quota_exceeded" || !fault.Is(err, fault.StorageFull) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, size := range []int{60, 40} {
			if err := put("/a", size); err != nil {
				t.Fatal(err)
			}
		}
		over("a byte more", put("/b", 1))
		over("more than fits ever", put("/b", 101))
		if _, err := s.Stat(t.Context(), owner, "/b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("what was refused is there: %v", err)
		}
		if _, err := s.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/c", Length: 101}); err == nil {
			t.Error("an upload that cannot fit was begun")
		}
		r, err := s.Trash(t.Context(), owner, filestore.Target{Path: "/a"})
		if err != nil {
			t.Fatal(err)
		}
		over("a byte more beside a full trash", put("/b", 1))
		if _, err := s.Purge(t.Context(), owner, filestore.Target{ID: r.File.ID}); err != nil {
			t.Fatal(err)
		}
		if err := put("/b", 100); err != nil {
			t.Errorf("after the purge: %v", err)
		}
	})
}

// Uploads that nobody finishes hold no more, together, than the namespace may.
func TestUnfinishedUploadsKeepToTheQuota(t *testing.T) {
	t.Parallel()
	small := func(c *filestore.Config) { c.Quota = 1000 }
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := w.Node(small)
		begin := func(path string) filestore.Upload {
			t.Helper()
			u, err := s.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: path, Length: 600})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		write := func(u filestore.Upload, at, n int64) error {
			t.Helper()
			release, _, err := s.LockUpload(t.Context(), u.ID, "me")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			_, err = s.WriteUpload(t.Context(), owner, u.ID, "me", at, bytes.NewReader(make([]byte, n)), nil)
			return err
		}
		one, two := begin("/one"), begin("/two")
		if err := errors.Join(write(one, 0, 550), write(two, 0, 400)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := write(two, 400, 200); !fault.Is(err, fault.StorageFull) || fault.From(err).Code != "quota_exceeded" {
				t.Errorf("beyond the quota: %v", err)
			}
		}
		if _, err := s.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/three", Length: 60}); err != nil {
			t.Errorf("an upload that fits: %v", err)
		}
		if err := s.AbortUpload(t.Context(), owner, one.ID); err != nil {
			t.Fatal(err)
		}
		if err := write(two, 400, 200); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if _, err := s.FinishUpload(t.Context(), owner, two.ID); err != nil {
			t.Fatal(err)
		}
		four := begin("/four") // what is finished is counted as a file, not twice
		if err := write(four, 0, 600); err != nil {
			t.Errorf("after the other is finished: %v", err)
		}
		if _, err := s.FinishUpload(t.Context(), owner, four.ID); !fault.Is(err, fault.StorageFull) {
			t.Errorf("a file beyond the quota: %v", err)
		}
	})
}

// meeting is a body whose bytes come when those of all the others do.
type meeting struct {
	all  *sync.WaitGroup
	body io.Reader
	once sync.Once
}

func (m *meeting) Read(p []byte) (int, error) {
	m.once.Do(func() { m.all.Done(); m.all.Wait() })
	return m.body.Read(p)
}

// The same when all of them are sent at once, to two nodes: each saw room when it began.
func TestUploadsSideBySideKeepToTheQuota(t *testing.T) {
	t.Parallel()
	small := func(c *filestore.Config) { c.Quota = 1000 }
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		nodes := []*filestore.Service{w.Node(small), w.Node(small)}
		var all, done sync.WaitGroup
		var kept atomic.Int64
		all.Add(8)
		for i := range 8 {
			s := nodes[i%2]
			u, err := s.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/" + strconv.Itoa(i), Length: 600})
			if err != nil {
				t.Fatal(err)
			}
			release, _, err := s.LockUpload(t.Context(), u.ID, "me")
			if err != nil {
				t.Fatal(err)
			}
			done.Go(func() {
				defer release()
				body := &meeting{all: &all, body: bytes.NewReader(make([]byte, 300))}
				n, err := s.WriteUpload(t.Context(), owner, u.ID, "me", 0, body, nil)
				kept.Add(n)
				if err != nil && fault.From(err).Code != "quota_exceeded" {
					t.Errorf("part %d: %v", i, err)
				}
			})
		}
		done.Wait()
		if n := kept.Load(); n != 900 {
			t.Errorf("%d bytes were taken of 900 that fit into 1000", n)
		}
	})
}

// counted counts the bytes that were read of a body.
type counted struct {
	r    io.Reader
	read int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	return n, err
}

// A body that does not say how long it is, is read no further than the quota goes, and
// nothing of it is left after the next sweep.
func TestABodyOfUnknownLengthKeepsToTheQuota(t *testing.T) {
	t.Parallel()
	const quota = 1 << 20
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := w.Node(func(c *filestore.Config) { c.Quota = quota })
		put := func(path string, size int64) (read int64, err error) {
			body := &counted{r: io.LimitReader(rand.NewChaCha8([32]byte{}), size)}
			_, err = s.Put(t.Context(), owner, filestore.Put{Path: path, Mode: filestore.Upsert, Body: body})
			return body.read, err
		}
		read, err := put("/long", 16*quota)
		if fault.From(err).Code != "quota_exceeded" || read > 2*quota {
			t.Errorf("%d bytes were read of a long body: %v", read, err)
		}
		if _, err := put("/fits", quota/2); err != nil {
			t.Fatal(err)
		}
		if _, err := put("/fits-no-more", quota); fault.From(err).Code != "quota_exceeded" {
			t.Errorf("beside another: %v", err)
		}
		if n, err := w.Upkeep.Sweep(t.Context()); err != nil || n.Deleted != 1 {
			t.Errorf("what was stored whole and refused waits for the sweeper: %+v, %v", n, err)
		}
		sweep(t, w, 1)
	})
}

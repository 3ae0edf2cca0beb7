package blobdisk_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
)

func open(t *testing.T, dir string) *blobdisk.Store {
	t.Helper()
	s, err := blobdisk.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()
	blobtest.Contract(t, func(t *testing.T) blob.Store { return open(t, t.TempDir()) })
}

func TestHalfWrittenFilesAreClearedAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	left := filepath.Join(dir, ".tmp", "put-123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	for info, err := range s.List(t.Context(), "") {
		t.Errorf("lists %v, %v", info, err)
	}
}

func TestWhatNobodyGoesOnWithIsRemovedByItsAge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := blobdisk.Beside(dir)
	if err := s.AbortStale(t.Context(), time.Now()); err != nil {
		t.Errorf("where nothing was ever written: %v", err)
	}
	if _, err := s.Put(t.Context(), "k", strings.NewReader("x"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old, object := now.Add(-2*time.Hour), filepath.Join(dir, "k")
	left, growing := filepath.Join(dir, ".tmp", "put-1"), filepath.Join(dir, ".tmp", "put-2")
	for path, at := range map[string]time.Time{left: old, growing: now, object: old} {
		if err := errors.Join(os.WriteFile(path, []byte("half"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AbortStale(t.Context(), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what was left is still there: %v", err)
	}
	if _, err := os.Stat(growing); err != nil {
		t.Errorf("what is being written is gone: %v", err)
	}
	if _, err := s.Stat(t.Context(), "k"); err != nil {
		t.Errorf("an object is gone: %v", err)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("a store without a folder answers")
	}
}

// Bodies longer than a piece go past the page cache, and their last, odd bytes
// through it.
func TestSizesAroundAPiece(t *testing.T) {
	t.Parallel()
	const piece = 512 << 10
	s := open(t, t.TempDir())
	for _, size := range []int{0, 1, 4095, 4096, piece - 1, piece, piece + 1, 2*piece - 4096, 2 * piece, 3*piece + 777} {
		want := blobtest.Bytes(size)
		info, err := s.Put(t.Context(), "k", bytes.NewReader(want), blob.PutOptions{})
		if err != nil || info.Size != int64(size) {
			t.Fatalf("put of %d bytes: %+v, %v", size, info, err)
		}
		r, err := s.Get(t.Context(), "k", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d others", size, len(got))
		}
	}
}

func TestABodyThatFailsLateLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	broken := errors.New("the line broke")
	body := io.MultiReader(bytes.NewReader(blobtest.Bytes(3<<20)), iotest.ErrReader(broken))
	if _, err := s.Put(t.Context(), "k", body, blob.PutOptions{}); !errors.Is(err, broken) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("stat: %v", err)
	}
}

// Several processes may write to one folder that none of them has opened alone.
func TestBesideWritesToo(t *testing.T) {
	t.Parallel()
	s := blobdisk.Beside(t.TempDir())
	for range 2 {
		if _, err := s.Put(t.Context(), "a/b", strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := s.Stat(t.Context(), "a/b"); err != nil || info.Size != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

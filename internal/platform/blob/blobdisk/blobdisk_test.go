package blobdisk_test

import (
	"os"
	"path/filepath"
	"testing"

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

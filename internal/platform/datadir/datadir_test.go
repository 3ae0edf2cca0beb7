package datadir_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/datadir"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	held, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Lock(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("second lock: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := datadir.Lock(dir)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	_ = again.Release()
}

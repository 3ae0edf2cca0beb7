package replica

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
)

// watcher is a store that looks at the world before each thing that is stored.
type watcher struct {
	blob.Store
	look func(key string) error
}

func (s *watcher) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := s.look(key); err != nil {
		return blob.Info{}, err
	}
	return s.Store.Put(ctx, key, body, opt)
}

// A restore that is killed leaves no database, so that no server starts with it.
func TestTheDatabaseIsRestoredLast(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	for range 20 {
		w.write(r, 3)
	}
	w.round()
	keys := 0
	var objects atomic.Int32
	want := w.wanted(w.keys)
	absent := func() {
		if _, err := os.Lstat(want.Database); err == nil {
			t.Error("the database is there before the rest")
		}
	}
	want.PutKey = func(string, []byte) error { keys++; absent(); return nil }
	want.Objects = &watcher{blobmem.New(), func(string) error { objects.Add(1); absent(); return nil }}
	if _, err := Restore(t.Context(), want); err != nil || keys == 0 || objects.Load() == 0 {
		t.Fatalf("%d keys, %d objects: %v", keys, objects.Load(), err)
	}
	if _, err := os.Lstat(want.Database); err != nil {
		t.Error(err)
	}

	want = w.wanted(w.keys)
	want.PutKey = func(string, []byte) error { return errAway }
	w.refused(want, "restore key")
	want = w.wanted(w.keys)
	want.Objects = &watcher{blobmem.New(), func(string) error { return errAway }}
	w.refused(want, errAway.Error())
	if _, err := os.Lstat(want.Database + ".part"); err == nil {
		t.Error("half a database was left")
	}
}

// A log that was left would be written over what is restored.
func TestNothingIsRestoredBesideALogThatWasLeft(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		want := w.wanted(w.keys)
		if err := os.WriteFile(want.Database+end, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.refused(want, "empty place only")
	}
}

package filestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

// listed is a store in which something happens between the sweeper's look at the
// trash and what it does to it.
type listed struct {
	filestore.Store
	then func()
}

func (l *listed) ExpiredTrash(ctx context.Context, before time.Time, limit int) ([]filestore.File, error) {
	files, err := l.Store.ExpiredTrash(ctx, before, limit)
	if then := l.then; then != nil && len(files) > 0 {
		l.then = nil
		then()
	}
	return files, err
}

// A file that comes out of the trash while the sweeper looks at it is left alone,
// also when it goes back at once: its thirty days begin anew. The rest is swept.
func TestTheSweeperLetsGoOfWhatWasRestored(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		trash := func(path string) {
			t.Helper()
			if _, err := w.Trash(t.Context(), owner, filestore.Target{Path: path}); err != nil {
				t.Fatal(err)
			}
		}
		restore := func(path string) {
			t.Helper()
			if _, err := w.Restore(t.Context(), owner, filestore.Target{Path: path}, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"/kept", "/again", "/purged", "/over"} {
			w.MustPut(t, ns, path, path)
			trash(path)
			w.Clock.Add(time.Millisecond)
		}
		w.Clock.Add(31 * 24 * time.Hour)
		store := &listed{Store: w.Store, then: func() {
			restore("/kept")
			restore("/again")
			trash("/again")
			if _, err := w.Purge(t.Context(), owner, filestore.Target{Path: "/purged"}); err != nil {
				t.Fatal(err)
			}
		}}
		node := filestore.New(filestore.Deps{Store: store, Blobs: w.Blobs, Now: w.Clock.Now},
			filestore.Config{MasterKey: filestoretest.MasterKey})
		if n, err := upkeep.New(node).Sweep(t.Context()); err != nil || n.Purged != 1 {
			t.Errorf("swept %+v, %v", n, err)
		}
		if got, err := content(t, w, "/kept"); err != nil || got != "/kept" {
			t.Errorf("what was restored: %q, %v", got, err)
		}
		restore("/again")
		if got, err := content(t, w, "/again"); err != nil || got != "/again" {
			t.Errorf("what went back: %q, %v", got, err)
		}
		if _, err := w.Restore(t.Context(), owner, filestore.Target{Path: "/over"}, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("what was over: %v", err)
		}
	})
}

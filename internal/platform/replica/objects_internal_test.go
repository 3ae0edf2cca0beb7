package replica

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
)

// A whole copy needs the objects that its records name.
func TestObjectsGoBeforeAWholeCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &watcher{blobmem.New(), func(key string) error {
		if strings.HasPrefix(key, objectFolder) {
			return errAway
		}
		return nil
	}})
	if _, err := w.objects.Put(t.Context(), "files/one", strings.NewReader("x"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.tick(2 * longestPause)
		if err := w.ship.round(t.Context()); !errors.Is(err, errAway) {
			t.Fatalf("objects cannot be stored, and it said %v", err)
		}
		if w.ship.base != nil {
			err := <-w.ship.base.done
			w.ship.base.done <- err
		}
	}
	if bases, err := list(t.Context(), w.remote, baseFolder); err != nil || len(bases) > 0 {
		t.Errorf("bases without their objects: %v %v", bases, err)
	}
}

// sweep has the shipper let go now what the retention no longer asks for.
func (w *world) sweep() {
	w.t.Helper()
	w.ship.nextSweep = w.now
	w.round()
	if w.ship.sweeper != nil {
		err := <-w.ship.sweeper.done
		w.ship.sweeper = nil
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// The folder of objects was emptied, by whatever: the copies are all there is.
func TestObjectsThatAreNamedAreKept(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	for _, key := range []string{"files/named", "files/freed"} {
		if _, err := w.objects.Put(t.Context(), key, strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.write(r, 3)
	w.round()
	w.named = map[string]bool{"files/named": true}
	for _, key := range []string{"files/named", "files/freed"} {
		if err := w.objects.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	w.sweep()
	w.now = time.Now().Add(2 * time.Hour)
	w.sweep()
	if _, err := w.remote.Stat(t.Context(), objectFolder+"files/named"); err != nil {
		t.Errorf("a record names it: %v", err)
	}
	if _, err := w.remote.Stat(t.Context(), objectFolder+"files/freed"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("nothing names it: %v", err)
	}
	// From when no record names it, it is kept for the retention.
	w.named, w.now = nil, time.Now()
	w.sweep()
	if _, err := w.remote.Stat(t.Context(), objectFolder+"files/named"); err != nil {
		t.Errorf("deleted at once: %v", err)
	}
}

// One copy that fails costs that copy, not a comparison of everything.
func TestAFailedCopyIsTriedAgainAlone(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	lists := 0
	w.objects.Store = &lister{w.objects.Store, &lists}
	for _, key := range []string{"files/a", "files/b"} {
		if _, err := w.objects.Put(t.Context(), key, strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.remote.gone.Store(true)
	if err := w.objects.flush(t.Context(), w.remote); !errors.Is(err, errAway) {
		t.Fatal(err)
	}
	w.remote.gone.Store(false)
	if err := w.objects.flush(t.Context(), w.remote); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"files/a", "files/b"} {
		if _, err := w.remote.Stat(t.Context(), objectFolder+key); err != nil {
			t.Error(err)
		}
	}
	if lists > 0 {
		t.Errorf("everything was listed %d times", lists)
	}
}

// lister counts how often everything is listed.
type lister struct {
	blob.Store
	lists *int
}

func (l *lister) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	*l.lists++
	return l.Store.List(ctx, prefix)
}

// bucket is a store in which unfinished uploads stay.
type bucket struct {
	blob.Store
	tidied time.Time
}

func (b *bucket) AbortStale(_ context.Context, before time.Time) error {
	b.tidied = before
	return nil
}

func TestUnfinishedUploadsAreDropped(t *testing.T) {
	t.Parallel()
	w, _ := filled(t)
	here, there := &bucket{Store: w.objects.Store}, &bucket{Store: w.remote}
	w.objects.Store, w.ship.cfg.To = here, there
	w.sweep()
	if at := w.now.Add(-partsAge); there.tidied.After(at) || there.tidied.Before(at.Add(-time.Minute)) {
		t.Errorf("the place was tidied to %s", there.tidied)
	}
	if err := w.objects.AbortStale(t.Context(), w.now); err != nil || !here.tidied.Equal(w.now) {
		t.Errorf("the objects were tidied to %s: %v", here.tidied, err)
	}
	w.objects.Store = w.remote
	if err := w.objects.AbortStale(t.Context(), w.now); err != nil {
		t.Errorf("a store that leaves nothing: %v", err)
	}
}

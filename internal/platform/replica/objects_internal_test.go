package replica

import (
	"errors"
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

package replica

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// The place stores a piece, and the answer is lost on its way.
func TestAPieceThatWasStoredWithoutAnAnswerIsRecognized(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	generation := w.ship.generation.number
	w.remote.late.Store(true)
	w.remote.gone.Store(true)
	w.write(r, 10)
	w.tick(time.Second)
	if err := w.ship.round(t.Context()); !errors.Is(err, errAway) {
		t.Fatalf("the place is away, and it said %v", err)
	}
	w.remote.gone.Store(false)
	w.write(r, 10)
	w.round()
	if w.ship.generation.number != generation {
		t.Error("it was begun anew, though nothing was missing")
	}
	w.expectAll()
}

// Another piece stands where this one belongs: nothing may follow it.
func TestAPieceOfSomebodyElseIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	w, r := filled(t)
	generation := w.ship.generation.number
	w.remote.gone.Store(true)
	w.write(r, 10)
	w.tick(time.Second)
	for w.ship.pending == nil { // objects go first
		_ = w.ship.round(t.Context())
		w.write(r, 10)
		w.remote.gone.Store(w.ship.pending != nil)
	}
	w.remote.gone.Store(false)
	if _, err := w.remote.Put(t.Context(), w.ship.pending.next.Name, strings.NewReader("other"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	_ = w.ship.round(t.Context())
	w.round()
	if w.ship.generation.number == generation {
		t.Error("it went on behind a piece that is not its own")
	}
	w.expectAll()
}

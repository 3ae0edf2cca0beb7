package coldstore_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// back brings a session back, as another node does for somebody who opens it.
func (w *world) back(session string) {
	w.t.Helper()
	if list := must(w.on.Messages(w.t.Context(), oracletest.Owner, session, 0)); len(list) == 0 {
		w.t.Error("nothing came back")
	}
}

// Whoever reads a conversation as it is while it moves reads it again, and never a half.
func TestWhatMovesMeanwhileIsReadAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(2)
		warm := coldstore.Warm{DB: w.db, Thawer: w.cold}
		freeze := func() {
			if n := w.freeze(); n != 1 {
				t.Errorf("%d went, want one", n)
			}
		}
		back := func() { w.back(s.ID) }
		for _, step := range []struct {
			name  string
			moves []func() // in the middle of the first look, of the second, …
			saw   []bool   // whether each look was told that it is cold
		}{
			{"nothing moves", nil, []bool{false}},
			{"it goes", []func(){freeze}, []bool{false, true}},
			{"it comes back", []func(){back}, []bool{true, false}},
			{"it goes and comes back", []func(){func() { freeze(); back() }}, []bool{false, false}},
			{"it goes, comes back and goes", []func(){freeze, back, freeze}, []bool{false, true, false, true}},
			{"it comes back and goes", []func(){func() { back(); freeze() }}, []bool{true, true}},
		} {
			var saw []bool
			err := warm.AsItIs(t.Context(), s.ID, func(cold bool) error {
				saw = append(saw, cold)
				if i := len(saw) - 1; i < len(step.moves) {
					step.moves[i]()
					return errors.New("of a half")
				}
				return nil
			})
			if err != nil || len(saw) != len(step.saw) {
				t.Fatalf("%s: looked %v, want %v: %v", step.name, saw, step.saw, err)
			}
			for i := range saw {
				if saw[i] != step.saw[i] {
					t.Errorf("%s: looked %v, want %v", step.name, saw, step.saw)
				}
			}
		}
		again := 0
		err := warm.AsItIs(t.Context(), s.ID, func(cold bool) error {
			if again++; cold {
				back()
			} else {
				freeze()
			}
			return nil
		})
		if !fault.Is(err, fault.Unavailable) || again > 10 {
			t.Errorf("one that never rests was read %d times: %v", again, err)
		}
	})
}

// The same, of an export: what it reads of the archive comes back, goes again under another
// key or is deleted while the object is on its way.
func TestAnExportIsWholeWhileItMoves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(2)
		w.freeze()
		hooked := &touching{Store: w.blobs}
		w.cold.Blobs = hooked
		for name, move := range map[string]func(){
			"it comes back": func() { w.back(s.ID) },
			"it comes back and its object goes": func() {
				key := w.object(s.ID)
				w.back(s.ID)
				w.must(w.blobs.Delete(t.Context(), key))
			},
			"it comes back and goes again": func() {
				w.back(s.ID)
				w.freeze()
			},
		} {
			hooked.get = once(move)
			list, more, err := w.st.Whole(t.Context(), oracletest.Owner, s.ID, oracle.Place{}, 9)
			if err != nil || more || len(list) != 4 {
				t.Errorf("%s: %d messages, want 4: %v", name, len(list), err)
			}
			hooked.get = nil
			w.freeze()
		}
		hooked.get = once(func() {
			key := w.object(s.ID)
			_, err := w.on.DeleteSession(t.Context(), oracletest.Owner, s.ID)
			w.must(errors.Join(err, w.blobs.Delete(t.Context(), key)))
		})
		list, _, err := w.st.Whole(t.Context(), oracletest.Owner, s.ID, oracle.Place{}, 9)
		if len(list) != 0 || errors.Is(err, oracle.ErrLost) {
			t.Errorf("of a conversation that was deleted meanwhile: %d messages, %v", len(list), err)
		}
	})
}

// once does something the first time.
func once(do func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			do()
		}
	}
}

// touching does something whenever an object is stored, or before it is read.
type touching struct {
	blob.Store
	do, get func()
	gets    int
}

func (s *touching) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	info, err := s.Store.Put(ctx, key, body, opt)
	if s.do != nil {
		s.do()
	}
	return info, err
}

func (s *touching) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if s.gets++; s.get != nil {
		s.get()
	}
	return s.Store.Get(ctx, key, offset, length)
}

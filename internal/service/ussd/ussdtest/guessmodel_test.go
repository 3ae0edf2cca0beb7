package ussdtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// world is a state of everybody who guesses at one counter.
type world struct {
	model *guessModel
	// running are the checks that somebody works on, by session.
	running map[int][]runner
	// wrong is how many wrong PINs were answered since the last lock, right PIN
	// or unlocking; locked says that the last one locked.
	wrong  int
	locked bool
	// onlyRight says that no wrong PIN was ever typed.
	onlyRight bool
}

type runner struct {
	token int
	right bool
}

func (w world) clone() world {
	c := w
	c.model = w.model.clone()
	c.running = make(map[int][]runner, len(w.running))
	for s, r := range w.running {
		c.running[s] = slices.Clone(r)
	}
	return c
}

// key names a state. Sessions are all alike, so their order does not matter;
// neither do locks that are over, nor the names of tokens.
func (w world) key(sessions int) string {
	each := make([]string, sessions)
	for s := range each {
		p, has := w.model.places[s]
		text := fmt.Sprint(has, p.lapsed)
		for _, r := range w.running[s] {
			text += fmt.Sprint(" ", r.right, has && r.token == p.token)
		}
		each[s] = text
	}
	slices.Sort(each)
	return fmt.Sprint(w.model.record.Failures%ussdpin.Guesses, w.locked, w.wrong, w.onlyRight, strings.Join(each, "|"))
}

// next returns every state that one step leads to, or an error for one that must
// not be.
func (w world) next(sessions, each int) (out []world, err error) {
	for s := range sessions {
		for _, right := range []bool{true, false} {
			if len(w.running[s]) == each || w.onlyRight && !right {
				continue
			}
			n := w.clone()
			// A token that no check of the session has.
			token := 1
			for slices.ContainsFunc(n.running[s], func(r runner) bool {
				return r.token == token
			}) || n.model.places[s].token == token {
				token++
			}
			refused, err := n.model.begin(s, token)
			switch {
			case refused != w.locked:
				return nil, fmt.Errorf("refused is %v, locked is %v", refused, w.locked)
			case err == nil && !refused:
				n.running[s] = append(n.running[s], runner{token, right})
			case err != nil && w.wrong%ussdpin.Guesses+len(w.model.places) < ussdpin.Guesses:
				return nil, fmt.Errorf("no place for a check: %w", err)
			}
			out = append(out, n)
		}
		for i, r := range w.running[s] {
			dead := w.clone()
			dead.running[s] = slices.Delete(dead.running[s], i, i+1)
			out = append(out, dead)
			n := dead.clone()
			if err := n.settle(s, r); err != nil {
				return nil, err
			}
			out = append(out, n)
		}
		if p, ok := w.model.places[s]; ok && !p.lapsed {
			n := w.clone()
			n.model.lapse(s)
			out = append(out, n)
		}
	}
	if w.locked {
		n := w.clone()
		n.model.now, n.locked, n.wrong = n.model.record.Until, false, 0
		out = append(out, n)
	}
	n := w.clone() // an operator unlocks
	n.model.record, n.locked, n.wrong = ussdpin.Record{}, false, 0
	return append(out, n), nil
}

// settle ends a check and looks at what was told.
func (w *world) settle(s int, r runner) error {
	had := w.model.places[s].token == r.token
	before := w.model.record
	answered := w.model.settle(s, r.token, r.right)
	switch {
	case answered != had:
		return fmt.Errorf("answered is %v, and a place was had: %v", answered, had)
	case !answered:
		return nil
	case w.locked:
		return fmt.Errorf("a PIN was answered during a lock")
	case r.right:
		w.wrong = 0
		return nil
	}
	w.wrong++
	w.locked = w.model.record.Until.After(before.Until)
	if w.wrong > ussdpin.Guesses || w.locked != (w.wrong == ussdpin.Guesses) || w.locked && w.onlyRight {
		return fmt.Errorf("%d wrong PINs were answered, locked is %v", w.wrong, w.locked)
	}
	if w.model.record.Failures%ussdpin.Guesses != w.wrong%ussdpin.Guesses {
		return fmt.Errorf("%d wrong PINs were answered, %d are counted", w.wrong, w.model.record.Failures)
	}
	return nil
}

// TestNoInterleavingGivesAwayAGuess visits every state that checks in several
// sessions can get to: each begins with a right or a wrong PIN, ends, dies,
// lapses or is taken over by another delivery at any moment, locks run out, and
// operators unlock. In none of them were more than five wrong PINs answered
// since the last lock, or is locked what answered fewer; right PINs alone never
// lock.
func TestNoInterleavingGivesAwayAGuess(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ sessions, each int }{{7, 1}, {3, 2}} {
		for _, onlyRight := range []bool{true, false} {
			t.Run(fmt.Sprint(size, onlyRight), func(t *testing.T) {
				t.Parallel()
				first := world{model: newGuessModel(), running: map[int][]runner{}, onlyRight: onlyRight}
				seen := map[string]bool{first.key(size.sessions): true}
				todo := []world{first}
				full := false
				for len(todo) > 0 {
					w := todo[len(todo)-1]
					todo = todo[:len(todo)-1]
					next, err := w.next(size.sessions, size.each)
					if err != nil {
						t.Fatalf("%s: %v", w.key(size.sessions), err)
					}
					for _, n := range next {
						open := n.model.record
						open.Open = len(n.model.places)
						full = full || open.Full()
						if key := n.key(size.sessions); !seen[key] {
							seen[key] = true
							todo = append(todo, n)
						}
					}
				}
				if !full && size.sessions > ussdpin.Guesses {
					t.Error("no state had all places taken: the search proves nothing")
				}
				t.Logf("%d states", len(seen))
			})
		}
	}
}

// TestTheModelTellsAFreeGuess lets a check without a place be answered, as a
// store would that believes its clock instead of its rows.
func TestTheModelTellsAFreeGuess(t *testing.T) {
	t.Parallel()
	w := world{model: newGuessModel(), running: map[int][]runner{}}
	for s := range ussdpin.Guesses {
		if _, err := w.model.begin(s, 1); err != nil {
			t.Fatal(err)
		}
		w.model.lapse(s)
	}
	for s := range ussdpin.Guesses {
		if _, err := w.model.begin(10+s, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.model.begin(99, 1); err != ussd.ErrPINBusy { //nolint:errorlint // exactly this
		t.Errorf("a sixth place: %v", err)
	}
	for s := range ussdpin.Guesses {
		if err := w.settle(s, runner{token: 1}); err != nil || w.wrong != 0 {
			t.Fatalf("a check that lost its place was answered: %v", err)
		}
	}
	for s := range ussdpin.Guesses {
		if err := w.settle(10+s, runner{token: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if !w.locked || !w.model.record.Until.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("after five: %+v", w.model.record)
	}
	w.model.places[7] = place{token: 1}
	w.model.record.Until = time.Time{}
	if err := w.settle(7, runner{token: 1}); err == nil {
		t.Error("a sixth answer was not noticed")
	}
}

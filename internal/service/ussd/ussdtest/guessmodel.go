package ussdtest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// guessModel is one counter in memory, as a Store must behave: the rules are
// ussdpin's, and every method is one transaction.
type guessModel struct {
	now    time.Time
	record ussdpin.Record // but for Open, which is len(places)
	places map[int]place  // by session
}

// place is what a check has while it may be answered.
type place struct {
	token  int
	lapsed bool
}

func newGuessModel() *guessModel { return &guessModel{now: noon, places: map[int]place{}} }

func (m *guessModel) clone() *guessModel {
	c := *m
	c.places = maps.Clone(m.places)
	return &c
}

// begin takes a place for a check, or says why there is none.
func (m *guessModel) begin(session, token int) (locked bool, err error) {
	kept := maps.Clone(m.places)
	maps.DeleteFunc(kept, func(s int, p place) bool { return s == session || p.lapsed })
	r := m.record
	r.Open = len(kept)
	switch {
	case r.Locked(m.now):
		m.places = kept
		return true, nil
	case r.Full():
		return false, ussd.ErrPINBusy
	}
	kept[session] = place{token: token}
	m.places = kept
	return false, nil
}

// settle ends a check, if it still has its place.
func (m *guessModel) settle(session, token int, right bool) (answered bool) {
	p, ok := m.places[session]
	if !ok || p.token != token || m.record.Locked(m.now) {
		return false
	}
	delete(m.places, session)
	if right {
		m.record = ussdpin.Record{}
	} else {
		m.record = m.record.Wrong(m.now)
	}
	return true
}

// lapse lets the time of a check run out.
func (m *guessModel) lapse(session int) {
	if p, ok := m.places[session]; ok {
		p.lapsed = true
		m.places[session] = p
	}
}

// walker does the same at random with a model and a store, and compares.
type walker struct {
	*guesser

	random  *rand.Rand
	model   *guessModel
	counter ussdpin.Counter
	running []*walked
	begun   int
	// wrong is what was answered since the last lock or right PIN.
	wrong int
}

// walked is a check that somebody works on.
type walked struct {
	tried
	session, token int
}

// guessesFollowTheModel walks a store and the model side by side: checks begin,
// lapse, are given up, are taken over by another delivery of the same session,
// and end, each in any order.
func guessesFollowTheModel(t *testing.T, s ussd.Store) {
	for seed := range uint64(4) {
		w := &walker{
			guesser: &guesser{t: t, store: s}, random: rand.New(rand.NewPCG(seed, 1)),
			model:   newGuessModel(),
			counter: ussdpin.Counter{Subject: fmt.Sprint("C", seed), Origin: ussdpin.OriginOwn},
		}
		for i := range 9 {
			must(t, commit(t, s, NewSession(w.name(i)), nil))
		}
		for step := range 150 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

func (w *walker) name(session int) string { return fmt.Sprint(w.counter.Subject, "-", session) }

func (w *walker) step() {
	w.t.Helper()
	switch n := w.random.IntN(10); {
	case n < 4 || len(w.running) == 0:
		w.start()
	case n < 8:
		w.end()
	case n < 9: // whoever worked on it is dead
		w.take()
	default:
		w.model.now = w.model.now.Add(20 * time.Minute)
	}
	got, err := w.store.Recount(w.t.Context(), []ussdpin.Counter{w.counter})
	if err != nil || got[0] != w.model.record.Failures {
		w.t.Errorf("%v failures (%v), want %d", got, err, w.model.record.Failures)
	}
	if w.wrong > ussdpin.Guesses {
		w.t.Errorf("%d wrong PINs were answered", w.wrong)
	}
}

// start begins a check; a third of them has lapsed as soon as it begins.
func (w *walker) start() {
	w.t.Helper()
	session := w.random.IntN(9)
	stored, err := w.store.Session(w.t.Context(), w.name(session))
	must(w.t, err)
	w.begun++
	lapses := time.Hour
	if w.random.IntN(3) == 0 {
		lapses = -time.Second
	}
	locked, want := w.model.begin(session, w.begun)
	c, err := w.again(stored, w.model.now, lapses, w.counter)
	if !errors.Is(err, want) || c.Refused != locked {
		w.t.Errorf("begin: locked %v (%v), want %v (%v)", c.Refused, err, locked, want)
	}
	if err != nil || locked {
		return
	}
	if lapses < 0 {
		w.model.lapse(session)
	}
	w.running = append(w.running, &walked{c, session, w.begun})
}

func (w *walker) take() *walked {
	i := w.random.IntN(len(w.running))
	c := w.running[i]
	w.running[i] = w.running[len(w.running)-1]
	w.running = w.running[:len(w.running)-1]
	return c
}

func (w *walker) end() {
	w.t.Helper()
	c, right := w.take(), w.random.IntN(6) == 0
	before := w.model.record
	want := w.model.settle(c.session, c.token, right)
	err := w.settle(c.tried, w.model.now, right)
	for errors.Is(err, ussd.ErrRecount) {
		var failures []int
		failures, err = w.store.Recount(w.t.Context(), c.Check.Counters)
		must(w.t, err)
		if right || failures[0] == c.Check.Failures[0] {
			w.t.Error("a recount without a reason")
			return
		}
		c.Check.Failures = failures
		err = w.settle(c.tried, w.model.now, right)
	}
	if err != nil && !errors.Is(err, ussd.ErrStale) || (err == nil) != want {
		w.t.Errorf("settle: %v, want answered %v", err, want)
	}
	if !want {
		return
	}
	switch {
	case right:
		w.wrong = 0
	case w.wrong == ussdpin.Guesses:
		w.wrong = 1 // the first after a lock
	default:
		w.wrong++
	}
	if locks := w.model.record.Until.After(before.Until); !right && locks != (w.wrong == ussdpin.Guesses) {
		w.t.Errorf("locked is %v after %d wrong PINs", locks, w.wrong)
	}
}

package ussdtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// guesser checks PINs in sessions of its own, as the service does.
type guesser struct {
	t     *testing.T
	store ussd.Store
	n     int
}

// tried is a check that has begun.
type tried struct {
	ussdpin.Attempt
	session *ussd.Session
}

// begin begins a check in a new session.
func (g *guesser) begin(at time.Time, lapses time.Duration, counters ...ussdpin.Counter) (tried, error) {
	g.t.Helper()
	g.n++
	s := NewSession(fmt.Sprint("guess", g.n))
	must(g.t, commit(g.t, g.store, s, nil))
	return g.again(s, at, lapses, counters...)
}

// again begins a check in a session.
func (g *guesser) again(s *ussd.Session, at time.Time, lapses time.Duration,
	counters ...ussdpin.Counter,
) (tried, error) {
	g.t.Helper()
	g.n++
	a, err := g.store.Claim(g.t.Context(), ussd.Claim{
		ID: s.ID, Prior: ussd.Prior{Rev: s.Rev, Hop: s.Hop}, Now: at,
		Counters: counters, Token: fmt.Sprint("token", g.n), CheckFor: lapses,
	})
	return tried{Attempt: a, session: s}, err
}

// settle ends a check with the session's next hop.
func (g *guesser) settle(c tried, at time.Time, right bool) error {
	g.t.Helper()
	next := *c.session
	next.Hop++
	return g.store.Commit(g.t.Context(), ussd.Change{
		Session: &next, Prior: &ussd.Prior{Rev: c.session.Rev, Hop: c.session.Hop}, Now: at,
		Effects: []ussd.Effect{ussd.SettlePIN{Check: c.Check, Right: right}},
	})
}

// try checks a PIN and returns the end of a lock, that it met or caused.
func (g *guesser) try(at time.Time, right bool, counters ...ussdpin.Counter) (refused bool, until time.Time) {
	g.t.Helper()
	c, err := g.begin(at, time.Hour, counters...)
	must(g.t, err)
	if c.Refused {
		return true, c.Until
	}
	must(g.t, g.settle(c, at, right))
	if right {
		return false, time.Time{}
	}
	return false, c.Check.Lock(at)
}

func (g *guesser) wrong(n int, counters ...ussdpin.Counter) {
	g.t.Helper()
	for i := range n {
		if refused, until := g.try(noon, false, counters...); refused || !until.IsZero() {
			g.t.Fatalf("wrong PIN %d: %v %v", i+1, refused, until)
		}
	}
}

func (g *guesser) locks(want int) {
	g.t.Helper()
	if locks, err := g.store.Locks(g.t.Context(), noon, 10); err != nil || len(locks) != want {
		g.t.Errorf("locks: %+v %v, want %d", locks, err, want)
	}
}

func (g *guesser) nothingLeft(subject string) {
	g.t.Helper()
	if had, err := g.store.Unlock(g.t.Context(), subject); err != nil || had {
		g.t.Errorf("%s has failures: %v %v", subject, had, err)
	}
}

var own = ussdpin.Counter{Subject: "C1", Origin: ussdpin.OriginOwn}

func wrongPINsLock(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(4, own)
	end := noon.Add(15 * time.Minute)
	if refused, until := g.try(noon, false, own); refused || !until.Equal(end) {
		t.Fatalf("fifth: %v %v", refused, until)
	}
	for _, right := range []bool{true, false} {
		if refused, until := g.try(noon.Add(time.Minute), right, own); !refused || !until.Equal(end) {
			t.Fatalf("while locked: %v %v", refused, until)
		}
	}
	if locks, err := s.Locks(t.Context(), noon, 10); err != nil || len(locks) != 1 || locks[0].Failures != 5 {
		t.Errorf("locks: %+v %v", locks, err)
	}
	for i := range 4 {
		if refused, until := g.try(end, false, own); refused || !until.IsZero() {
			t.Fatalf("wrong PIN %d after the lock: %v %v", i+1, refused, until)
		}
	}
	if refused, until := g.try(end, false, own); refused || !until.Equal(end.Add(time.Hour)) {
		t.Fatalf("tenth: %v %v", refused, until)
	}
	if had, err := s.Unlock(t.Context(), "C1"); err != nil || !had {
		t.Errorf("unlock: %v %v", had, err)
	}
	g.wrong(4, own)
	g.try(noon, true, own)
	g.nothingLeft("C1")
}

func rightPINs(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(4, own)
	for range 6 {
		if refused, until := g.try(noon, true, own); refused || !until.IsZero() {
			t.Fatalf("a right PIN: %v %v", refused, until)
		}
	}
	// Begun, and never ended: nobody was told anything.
	for range 12 {
		_, err := g.begin(noon, -time.Second, own)
		must(t, err)
	}
	g.nothingLeft("C1")
	g.wrong(4, own)
}

func checksHavePlaces(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(2, own)
	var open []tried
	for range 3 {
		c, err := g.begin(noon, time.Hour, own)
		must(t, err)
		open = append(open, c)
	}
	waits := NewSession("waits")
	must(t, commit(t, s, waits, nil))
	busy := func() {
		t.Helper()
		_, err := g.again(waits, noon, time.Hour, own)
		wantErr(t, err, ussd.ErrPINBusy)
	}
	busy()
	if got, err := s.Session(t.Context(), "waits"); err != nil || got.Claimed > 0 {
		t.Errorf("who is asked to wait has claimed its hop: %v %v", got.Claimed, err)
	}
	g.locks(0)
	// not the same counter
	other, err := g.begin(noon, time.Hour, ussdpin.Counter{Subject: "C1", Origin: ussdpin.OriginOther})
	must(t, err)
	must(t, g.settle(other, noon, true))
	must(t, g.settle(open[0], noon, false)) // a place becomes a failure
	busy()
	must(t, g.settle(open[1], noon, true)) // and all is forgotten, but the place of the third
	for range 4 {
		_, err := g.begin(noon, time.Hour, own)
		must(t, err)
	}
	busy()
	// A session has one place, however often it begins.
	again := NewSession("again")
	must(t, commit(t, s, again, nil))
	foreign := ussdpin.Counter{Subject: "C2", Origin: ussdpin.OriginOwn}
	for range 7 {
		_, err := g.again(again, noon, time.Hour, foreign)
		must(t, err)
	}
	g.wrong(4, foreign)
}

func lapsedChecks(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(4, own)
	late, err := g.begin(noon, -time.Second, own)
	must(t, err)
	// Its place is still there, and so it may end.
	must(t, g.settle(late, noon, true))
	g.wrong(4, own)
	late, err = g.begin(noon, -time.Second, own)
	must(t, err)
	next, err := g.begin(noon, time.Hour, own) // takes the place
	must(t, err)
	for _, right := range []bool{true, false} {
		wantErr(t, g.settle(late, noon, right), ussd.ErrStale)
	}
	if got, err := s.Session(t.Context(), late.session.ID); err != nil || got.Hop != 1 {
		t.Errorf("a check that lost its place was answered: hop %d %v", got.Hop, err)
	}
	// The session that gives a PIN again, elsewhere, takes the place of its own.
	again, err := g.again(next.session, noon, time.Hour, own)
	must(t, err)
	wantErr(t, g.settle(next, noon, false), ussd.ErrStale)
	must(t, g.settle(again, noon, false))
	g.locks(1)
	wantErr(t, g.settle(again, noon, false), ussd.ErrStale)
	_, err = s.Prune(t.Context(), noon.Add(-time.Hour), 100)
	must(t, err)
}

func answersCount(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(3, own)
	one, err := g.begin(noon, time.Hour, own)
	must(t, err)
	two, err := g.begin(noon, time.Hour, own)
	must(t, err)
	must(t, g.settle(one, noon, false))
	// Its answer would be that there are more guesses, and it is the last.
	wantErr(t, g.settle(two, noon, false), ussd.ErrRecount)
	g.locks(0)
	failures, err := s.Recount(t.Context(), two.Check.Counters)
	if err != nil || len(failures) != 1 || failures[0] != 4 {
		t.Fatalf("recount: %v %v", failures, err)
	}
	two.Check.Failures = failures
	if until := two.Check.Lock(noon); !until.Equal(noon.Add(15 * time.Minute)) {
		t.Errorf("the fifth does not lock: %v", until)
	}
	must(t, g.settle(two, noon, false))
	g.locks(1)
}

func caller(account string) ussdpin.Counter {
	return ussdpin.Counter{Subject: "+1222", Origin: ussdpin.OriginCaller, Against: account}
}

func failuresByAccount(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(2, caller("C1"))
	g.wrong(2, caller("C2"))
	g.try(noon, true, caller("C2"))
	g.locks(0)
	g.wrong(2, caller("C3"))
	// an account that does not exist
	if _, until := g.try(noon, false, caller("")); !until.Equal(noon.Add(15 * time.Minute)) {
		t.Fatalf("the fifth wrong one: %v", until)
	}
	g.locks(1)
	if ok, err := s.Unlock(t.Context(), "+1222"); err != nil || !ok {
		t.Fatalf("unlock: %v %v", ok, err)
	}
	g.wrong(1, caller("C1"))
	g.try(noon, true, caller("C1"))
	g.nothingLeft("+1222")
}

// locksStay is a telephone whose owner mistypes the PIN of an account of theirs
// before a lock, to take that back when the guesses after it are used up.
func locksStay(t *testing.T, s ussd.Store) {
	g := &guesser{t: t, store: s}
	g.wrong(4, caller("mine"))
	_, end := g.try(noon, false, caller("C1"))
	if !end.Equal(noon.Add(15 * time.Minute)) {
		t.Fatalf("the fifth: %v", end)
	}
	for range 4 {
		if refused, until := g.try(end, false, caller("C2")); refused || !until.IsZero() {
			t.Fatalf("after the lock: %v %v", refused, until)
		}
	}
	g.try(end, true, caller("mine"))
	if _, until := g.try(end, false, caller("C2")); !until.Equal(end.Add(time.Hour)) {
		t.Errorf("the tenth: %v", until)
	}
}

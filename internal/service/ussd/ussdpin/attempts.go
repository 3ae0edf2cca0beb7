package ussdpin

import "time"

// Guesses is how many wrong PINs in a row are answered before a lock.
const Guesses = 5

// Counter names a row of failed attempts: an account seen from its own
// telephone, from any other, or a telephone that tries foreign accounts.
type Counter struct {
	Subject, Origin string
	// Against, when set, is the account that a telephone tried: a right PIN then
	// takes back only what was counted against that account. Otherwise who has
	// one account could guess at all others without end.
	Against string
}

// The origins of PIN attempts, as operators see them.
const (
	OriginOwn    = "own"
	OriginOther  = "other"
	OriginCaller = "caller"
)

// The purposes of one-time codes, and the origins of guesses at them.
const (
	PurposeReset = "reset" // sets a PIN without knowing the old one
	PurposeLink  = "link"  // makes an account and a DID one person
	PurposeKey   = "key"   // asks for a new key in the place of one that was lost
)

// Record is what is known of a counter.
type Record struct {
	// Failures are the wrong PINs in a row that were answered.
	Failures int
	// Until is the end of the last lock.
	Until time.Time
	// Open are the checks that have begun and not ended.
	Open int
}

// Locked reports whether no PIN may be checked now.
func (r Record) Locked(now time.Time) bool { return r.Until.After(now) }

// Full reports whether the checks that have begun may use up all guesses that
// are left until the next lock. Another one must wait for one of them to end.
func (r Record) Full() bool { return r.Failures%Guesses+r.Open >= Guesses }

// Wrong returns the record after a check has ended with a wrong PIN.
func (r Record) Wrong(now time.Time) Record {
	r.Failures++
	r.Open--
	if lock := LockTime(r.Failures); lock > 0 {
		r.Until = now.Add(lock)
	}
	return r
}

// Check is a PIN check that has begun. It has a place at each of its counters,
// which it gives up when it ends, or when it has lapsed and another wants it. A
// check without its places is not answered, whatever it found: an answer is
// what a guess is made for.
type Check struct {
	// Token tells the check from a later one of the same session.
	Token    string
	Counters []Counter
	// Failures are those of each counter, as the answer to a wrong PIN assumes
	// them: it says whether it locks.
	Failures []int
}

// Lock returns the end of the lock that the check causes if the PIN is wrong, or
// the zero time.
func (c Check) Lock(now time.Time) (until time.Time) {
	for _, failures := range c.Failures {
		if end := (Record{Failures: failures}).Wrong(now).Until; end.After(until) {
			until = end
		}
	}
	return until
}

// Attempt is what the wish to check a PIN came to: a check that has begun, or a
// lock.
type Attempt struct {
	// Refused says that the lock is on: the PIN must not be checked.
	Refused bool
	// Until is the end of that lock.
	Until time.Time
	Check Check
}

// LockTime is how long an account is locked after so many wrong PINs in a row:
// nothing until the fifth, then a quarter of an hour, and four times as long
// after every five more, up to a day.
func LockTime(failures int) time.Duration {
	if failures == 0 || failures%Guesses != 0 {
		return 0
	}
	d := 15 * time.Minute
	for n := Guesses; n < failures && d < 24*time.Hour; n += Guesses {
		d *= 4
	}
	return min(d, 24*time.Hour)
}

// Lock is an account that is locked now, or (OriginCaller) a telephone that
// tried too many foreign ones: Account is then its number, and Telephone the
// name by which it can be unlocked.
type Lock struct {
	Account   string    `json:"account"`
	Telephone string    `json:"telephone,omitempty"`
	Origin    string    `json:"origin"`
	Failures  int       `json:"failures"`
	Until     time.Time `json:"until"`
}

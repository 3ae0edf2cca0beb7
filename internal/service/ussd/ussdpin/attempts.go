package ussdpin

import "time"

// Attempt is what counting a PIN attempt came to.
type Attempt struct {
	// Refused says that the lock was on already: the PIN must not be checked.
	Refused bool
	// Until is the end of the lock that this attempt ran into or, if it turns
	// out to be wrong, has caused.
	Until time.Time
}

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

// LockTime is how long an account is locked after so many wrong PINs in a row:
// nothing until the fifth, then a quarter of an hour, and four times as long
// after every five more, up to a day.
func LockTime(failures int) time.Duration {
	if failures == 0 || failures%5 != 0 {
		return 0
	}
	d := 15 * time.Minute
	for n := 5; n < failures && d < 24*time.Hour; n += 5 {
		d *= 4
	}
	return min(d, 24*time.Hour)
}

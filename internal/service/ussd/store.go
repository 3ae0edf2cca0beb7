package ussd

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// Store keeps sessions, accounts, questions, menus and counts. All methods are
// safe for concurrent use, on any number of nodes. A method that changes
// something returns nil only when the change is durable.
type Store interface {
	ussdcode.Store

	// Session returns the session, ended and expired ones too, or ErrNoSession.
	Session(ctx context.Context, id string) (*Session, error)
	// Commit stores a hop: the session as it is now, together with the hop's
	// effects, all or nothing. It returns ErrStale, and changes nothing, when the
	// session is not as the change expects it.
	Commit(ctx context.Context, c Change) error
	// Claim reserves the next hop for the caller until the given time, or returns
	// ErrStale when the session moved or the hop is claimed. With counters it
	// also begins a PIN check, in the same transaction: unless one of them is
	// locked, it takes a place at each. Failures and places of a counter never
	// exceed the guesses that lead to a lock: ErrPINBusy, and nothing changed,
	// when there is no place.
	Claim(ctx context.Context, c Claim) (ussdpin.Attempt, error)
	// Recount returns the failures of each counter.
	Recount(ctx context.Context, counters []ussdpin.Counter) ([]int, error)
	// LastOfPhone returns the newest active session of the telephone and service
	// code that was used at or after since, or ErrNoSession.
	LastOfPhone(ctx context.Context, phone, code string, since time.Time) (*Session, error)

	// Phone returns what is known of a telephone; the zero value when nothing is.
	Phone(ctx context.Context, phone string) (PhoneInfo, error)
	// KnownPhones calls fn for every telephone whose record changed at or after
	// since, and returns when the newest of them changed, by the store's clock.
	KnownPhones(ctx context.Context, since time.Time, fn func(phone string)) (time.Time, error)
	// Account returns the account or ErrNoAccount.
	Account(ctx context.Context, id string) (Account, error)
	// AccountsOf lists a telephone's accounts, the oldest first.
	AccountsOf(ctx context.Context, phone string, limit int) ([]Account, error)
	// Link returns the DID that is the same person as the account, or "".
	Link(ctx context.Context, account string) (did string, err error)
	// KeyRequest returns the new key that was asked for at the account's telephone and when,
	// or "" when no request waits.
	KeyRequest(ctx context.Context, account string, now time.Time) (key string, asked time.Time, err error)
	// Unlock forgets the failed attempts on an account, or of a telephone on
	// foreign ones, and reports whether there were any.
	Unlock(ctx context.Context, subject string) (bool, error)
	// Locks lists what is locked at the time, what opens last first.
	Locks(ctx context.Context, now time.Time, limit int) ([]ussdpin.Lock, error)
	// SealedPINs returns up to limit accounts after the id, in order of ids.
	SealedPINs(ctx context.Context, after string, limit int) ([]Account, error)
	// ReplacePIN stores a sealed PIN if it is still the old one.
	ReplacePIN(ctx context.Context, account string, old, sealed []byte) error

	// Waiting returns the account's newest question that was not read, or
	// ErrNoSession.
	Waiting(ctx context.Context, account string) (ussdquestion.Question, error)
	// TakeQuestions reserves up to limit unanswered questions for so long, by the
	// clock of the store, and returns them.
	TakeQuestions(ctx context.Context, d time.Duration, limit int) ([]ussdquestion.Question, error)
	// SettleQuestion stores an answer, or gives up, unless that was done already.
	SettleQuestion(ctx context.Context, id, answer string, state ussdquestion.State, now time.Time) error

	// SaveMenu keeps a menu's source by its version.
	SaveMenu(ctx context.Context, version string, source []byte, now time.Time) error
	// Menu returns the source of a version, or ErrNoMenu.
	Menu(ctx context.Context, version string) ([]byte, error)

	// Active lists the ids of active sessions, the last used first, and how many
	// there are in all.
	Active(ctx context.Context, now time.Time, limit int) (ids []string, total int, err error)
	// Recent returns sessions in order of their last use, the last first.
	Recent(ctx context.Context, now time.Time, limit int) ([]*Session, error)
	// Sweep removes up to limit sessions that expired before the time (active
	// ones: before activeBefore) and returns where they were.
	Sweep(ctx context.Context, before, activeBefore time.Time, limit int) ([]Swept, error)
	// Prune removes old counts, settled questions, text messages and attempts, up to
	// limit of each, and reports whether there may be more.
	Prune(ctx context.Context, before time.Time, limit int) (more bool, err error)
	// AddCounts adds to the daily counts.
	AddCounts(ctx context.Context, day string, counts map[ussdcount.Count]int64) error
	// Counts returns the sums of the counts from a day on.
	Counts(ctx context.Context, fromDay string) (map[ussdcount.Count]int64, error)
}

// Change is one hop to be stored.
type Change struct {
	Session *Session
	// Prior is what the store must hold now; nil means no session of that id.
	Prior     *Prior
	Resumable bool // LastOfPhone may find the session that begins here
	// Effects are applied in order, in the same transaction.
	Effects []Effect
	// Now is the time of the change.
	Now time.Time
}

// Prior is the state that a commit compares with.
type Prior struct{ Rev, Hop int64 }

// Claim reserves a hop.
type Claim struct {
	ID    string
	Prior Prior
	// For is how long, by the clock of the store: those of nodes differ.
	For time.Duration
	Now time.Time
	// Counters are those of the PIN check that begins; none is no check.
	Counters []ussdpin.Counter
	// Token names the check, which lapses after CheckFor, by the same clock:
	// then another one may take its places.
	Token    string
	CheckFor time.Duration
}

// Effect is a change to something other than the session. The set is closed.
type Effect interface{ effect() }

// CreateAccount adds an account and its telephone. More than Limit accounts of
// one telephone are ErrTooMany, an id in use is ErrTaken.
type CreateAccount struct {
	Account Account
	Limit   int
}

// SettlePIN ends a PIN check. A wrong PIN is counted, and locks where that was
// the last guess; a right one forgets the failures (of a counter with Against,
// those against that account since the last lock). It is ErrStale when the check
// has lost its places, and ErrRecount when the failures are not those that the
// answer to a wrong PIN assumes.
type SettlePIN struct {
	Check ussdpin.Check
	Right bool
}

// SetPIN stores a new sealed PIN.
type SetPIN struct {
	Account string
	Sealed  []byte
}

// ResetPIN uses up the code that proves who the caller is, stores a new sealed PIN,
// ends every other session of the account and forgets the wrong PINs of its own
// telephone. A code that is used or replaced by now is ErrStale.
type ResetPIN struct {
	Proof  ussdcode.Proof
	Sealed []byte
	Except string
}

// LinkAccount uses up a code of a person, and makes the account and the person's DID
// one. A code that is used or replaced by now is ErrStale.
type LinkAccount struct{ Proof ussdcode.Proof }

// UnlinkAccount ends the link of an account.
type UnlinkAccount struct{ Account string }

// AskNewKey uses up a code of a new key, and keeps the request that it takes the place of
// the key of the person whom the account is linked with, instead of an earlier one of the
// account. It may be approved from Ready on, until Expires. A code that is used or replaced
// by now, and an account that is not linked, is ErrStale.
type AskNewKey struct {
	ID             string
	Proof          ussdcode.Proof
	Ready, Expires time.Time
}

// NewKeyLife is how long a request for a new key may be approved.
const NewKeyLife = 7 * 24 * time.Hour

// CancelKeyRequest ends the request of an account, if there is one.
type CancelKeyRequest struct{ Account string }

// VoidCodes forgets the codes of an account.
type VoidCodes struct{ Account, Purpose string }

// ProvePIN makes a login depend on the stored PIN that it was checked against:
// another one by now is ErrPINChanged. Renewed, when set, is the same PIN sealed
// anew and takes its place.
type ProvePIN struct {
	Account         string
	Sealed, Renewed []byte
}

// EndSessions ends every other session of an account.
type EndSessions struct{ Account, Except string }

// SetLanguage stores the language of an account and its telephone.
type SetLanguage struct{ Account, Phone, Language string }

// KeepQuestion stores a question as it is now, with the answer when it is there.
type KeepQuestion struct{ Question ussdquestion.Question }

// MarkRead says that an answer was shown.
type MarkRead struct{ Question string }

func (CreateAccount) effect()    {}
func (SettlePIN) effect()        {}
func (SetPIN) effect()           {}
func (ResetPIN) effect()         {}
func (VoidCodes) effect()        {}
func (LinkAccount) effect()      {}
func (UnlinkAccount) effect()    {}
func (AskNewKey) effect()        {}
func (CancelKeyRequest) effect() {}
func (ProvePIN) effect()         {}
func (EndSessions) effect()      {}
func (SetLanguage) effect()      {}
func (KeepQuestion) effect()     {}
func (MarkRead) effect()         {}

// Swept is a session that was removed.
type Swept struct {
	Menu, Screen string
	Status       Status
}

package ussd

import (
	"errors"
	"maps"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// Status is whether a session goes on.
type Status uint8

// The statuses of a session, by the names that operators see.
const (
	Active Status = iota
	Done
)

// String returns the name that operators see.
func (s Status) String() string {
	if s == Done {
		return "done"
	}
	return "active"
}

// Session is one telephone call through the menus. It holds no secret: the
// accumulated text is there only as a length and a keyed hash.
type Session struct {
	ID string
	// Rev tells two sessions with the same id apart; Hop counts the answers.
	// Together they are what a commit compares.
	Rev, Hop    int64
	Phone       string
	ServiceCode string // without what may be a PIN
	Dialect     string
	Menu        string // the version it runs on until it ends
	Status      Status
	Account     string // the authenticated account, or ""
	// TextLen and TextMAC stand for the last text that was taken.
	TextLen int
	TextMAC []byte
	// Answer is the last menu text, without CON or END.
	Answer string
	// Claimed is for how much longer a node has reserved the next hop to work on
	// it, as it was when the session was read; no more than zero is not at all.
	Claimed                   time.Duration
	Created, Updated, Expires time.Time

	State  ussdmenu.State
	Memory Memory
}

// Memory is what a session knows besides its place in the menu.
type Memory struct {
	// Digests are keyed hashes of secrets that were typed a hop ago, to compare
	// them with what is typed next.
	Digests map[string][]byte `json:"d,omitempty"`
	// Facts that do not follow from the session's other fields.
	Facts ussdmenu.Facts `json:"f,omitempty"`
	// PhoneAccount is the only account of the telephone.
	PhoneAccount string `json:"a,omitempty"`
	// Choices are the accounts that the last list of them showed.
	Choices []string `json:"l,omitempty"`
	// PINProved says that the present PIN was given on the way to a change.
	PINProved bool `json:"p,omitempty"`
	// Proof is the one-time code that was given on the way to its use.
	Proof *ussdcode.Proof `json:"c,omitempty"`
	// Question is the number of the question that waits for its answer.
	Question string `json:"q,omitempty"`
	// Saved is the place of an earlier session that may be continued.
	Saved *Saved `json:"s,omitempty"`
	// Trail is the masked history, oldest first.
	Trail []Crumb `json:"t,omitempty"`
}

// Saved is where an earlier session of the telephone was.
type Saved struct {
	Menu  string         `json:"m"`
	State ussdmenu.State `json:"s"`
	// Account is who was logged in there.
	Account string `json:"a,omitempty"`
}

// Crumb is one hop of a session's history. Input is masked.
type Crumb struct {
	At     int64  `json:"t"` // milliseconds since 1970
	Screen string `json:"s"`
	Input  string `json:"i,omitempty"`
}

// maxTrail bounds the history that a session carries.
const maxTrail = 48

// alive reports whether the session may be continued. A clock that jumped back
// by more than the TTL expires it too, so that no session lives for ever.
func (s *Session) alive(now time.Time, ttl time.Duration) bool {
	return now.Before(s.Expires) && s.Updated.Sub(now) < ttl
}

// screen is the session's place.
func (s *Session) screen() string { return s.State.Screen }

// clone returns a copy that can be changed without touching the original. The
// machine never changes a State's maps in place, so they are shared.
func (s *Session) clone() *Session {
	c := *s
	c.Memory.Trail = append(make([]Crumb, 0, len(s.Memory.Trail)+1), s.Memory.Trail...)
	if s.Memory.Digests != nil {
		c.Memory.Digests = maps.Clone(s.Memory.Digests)
	}
	return &c
}

// drop adds a crumb and forgets the oldest when there are too many.
func (s *Session) drop(c Crumb) {
	s.Memory.Trail = append(s.Memory.Trail, c)
	if n := len(s.Memory.Trail); n > maxTrail {
		// The first crumb stays: it says how the session began.
		s.Memory.Trail = append(s.Memory.Trail[:1], s.Memory.Trail[n-maxTrail+1:]...)
	}
}

// Account is a person's record.
type Account struct {
	ID       string
	Phone    string
	Name     string
	Email    string
	Language string
	// PIN is the slow hash of the PIN, sealed under PIN_ENCRYPTION_KEY.
	PIN     []byte
	Created time.Time
	Updated time.Time
}

// PhoneInfo is what is known of a telephone before anybody logs in.
type PhoneInfo struct {
	Language string
	Accounts int
	// Account is set when there is exactly one.
	Account string
}

// The errors of a Store.
var (
	// ErrStale means that somebody else moved the session: load it and look again.
	ErrStale = errors.New("ussd: session was moved by somebody else")
	// ErrNoSession means that there is no such session.
	ErrNoSession = errors.New("ussd: no such session")
	// ErrNoAccount means that there is no such account.
	ErrNoAccount = errors.New("ussd: no such account")
	// ErrPINChanged means that the PIN was changed while it was checked.
	ErrPINChanged = errors.New("ussd: the PIN was changed meanwhile")
	// ErrPINBusy means that other checks may use up all guesses: try again when
	// they have ended.
	ErrPINBusy = errors.New("ussd: too many PINs are being checked")
	// ErrRecount means that other PINs were answered while this one was checked.
	ErrRecount = errors.New("ussd: other PINs were counted meanwhile")
	// ErrTaken means that an account id is in use already.
	ErrTaken = errors.New("ussd: account id is taken")
	// ErrNoMenu means that no menu of that version was stored.
	ErrNoMenu = errors.New("ussd: no such menu version")
	// ErrTooMany means that a bound on rows was reached.
	ErrTooMany = errors.New("ussd: too many")
)

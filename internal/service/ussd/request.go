package ussd

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// The limits of a request, in characters.
const (
	MaxText = 182
	// MaxHistory bounds a text that accumulates where the session endpoint's own
	// limit does not bind: a session may ask several questions.
	MaxHistory   = 2000
	MaxSessionID = 100
)

// Request is one call of a telecom gateway, in the gateway's own terms.
type Request struct {
	// Dialect names the adapter; "" is the session endpoint itself. Sessions of
	// different dialects never meet.
	Dialect     string
	SessionID   string
	ServiceCode string
	Phone       string
	// Text is the input accumulated in the session, or, with Newest, the last
	// input alone.
	Text   string
	Newest bool
	// Start says that a Newest request opens the session; Text is then what was
	// dialled after the service code.
	Start bool
	// Sequence numbers the requests of a Newest session from 1; 0 when the
	// dialect has no numbers.
	Sequence int

	// arrived is when the request came.
	arrived time.Time
	// looked says that the store was asked for the session.
	looked bool
	// lost is where the session was in the store when this request read it there
	// and was overtaken; nil when it was not.
	lost *Prior
	// met says that another request of the session was in work when this one
	// came.
	met bool
	// guessed is the wrong PIN that an earlier try of this request compared and
	// could not answer as it thought.
	guessed *guess
}

// Answer is the next screen.
type Answer struct {
	Text string
	End  bool
}

// String writes the answer as gateways read it.
func (a Answer) String() string {
	if a.End {
		return "END " + a.Text
	}
	return "CON " + a.Text
}

// ErrInvalid is the refusal of a request that breaks the rules.
var ErrInvalid = fault.New(fault.Invalid, "Invalid input. Please try again.")

// InvalidError is an ErrInvalid that says which rule was broken, for who connects a
// gateway. It never says what was sent: that may be a number or a PIN.
type InvalidError struct{ Field, Rule string }

// Error implements error.
func (r *InvalidError) Error() string { return r.Field + " " + r.Rule }

// Unwrap makes it an ErrInvalid.
func (r *InvalidError) Unwrap() error { return ErrInvalid }

// Validate checks the request's form.
func (r *Request) Validate() error {
	switch {
	case !validSessionID(r.SessionID):
		return &InvalidError{"sessionId", "must have 1 to 100 characters, without control characters"}
	case !length(r.Text, 0, r.maxText()):
		return &InvalidError{"text", "must have at most " + strconv.Itoa(r.maxText()) + " characters, without control characters"}
	case !ussdnumber.ValidPhone(r.Phone):
		return &InvalidError{"phoneNumber", "must be an E.164 number"}
	case !ussdnumber.ValidServiceCode(r.ServiceCode):
		return &InvalidError{"serviceCode", "must be digits between * and #"}
	}
	return nil
}

// maxText is how long the text may be. What somebody typed last fits into one
// message, everywhere; what a dialect accumulates is longer.
func (r *Request) maxText() int {
	if r.Dialect != "" && !r.Newest {
		return MaxHistory
	}
	return MaxText
}

func validSessionID(s string) bool { return length(s, 1, MaxSessionID) && !turns(s) }

// length reports whether s is UTF-8 without control characters and has between
// least and most characters.
func length(s string, least, most int) bool {
	n := 0
	for i, r := range s {
		if r < 0x20 || r == 0x7F || r > 0x7F && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return false
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		}
		n++
	}
	return n >= least && n <= most
}

// turns reports whether s changes the direction of the text around it: operators
// read ids in lists. What users type is cleaned where it is kept.
func turns(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r > 0x7F && unicode.Is(unicode.Bidi_Control, r) })
}

// key is the id under which the session is kept.
func (r *Request) key() string { return sessionKey(r.Dialect, r.SessionID) }

func sessionKey(dialect, id string) string {
	if dialect == "" {
		return id
	}
	// A control character cannot occur in a gateway's id.
	return dialect + "\x1f" + id
}

// ShownID is the id of a stored session as operators see and ask for it.
func ShownID(key string) string { return strings.Replace(key, "\x1f", ":", 1) }

// fresh reports whether the request most likely opens a session.
func (r *Request) fresh() bool { return r.Start || !r.Newest && r.Text == "" }

// numberless reports whether two equal inputs of the session look the same.
func (r *Request) numberless() bool { return r.Newest && !r.Start && r.Sequence == 0 }

// Package ussdquestion is the way of a telephone's question to the oracle: it is
// asked, answered at once or later, perhaps put back to its asker for approval, and
// read out.
//
// It promises that an oracle which does not look at its context keeps nobody
// waiting, that answers fit telephones, and that a promised question is asked until
// it is answered or was tried often enough, by any node. It keeps nothing itself:
// Store does.
package ussdquestion

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// Question is one question to the oracle on its way to an answer.
type Question struct {
	ID       string
	Account  string
	Phone    string
	Language string
	Text     string
	Answer   string
	State    State
	Created  time.Time
	// Tries counts how often a worker began to answer.
	Tries int
}

// State is how far a question is.
type State uint8

// A question is asked, then answered or given up, then its answer is read.
const (
	Asked State = iota
	Answered
	GivenUp
	ReadOut
	// Undecided questions wait for their asker's approval of what the oracle wants to
	// do; the answer says what that is. Releases that do not know the state read it out.
	Undecided
)

// Oracle answers a question of a telephone user. It may take long: the context says
// how long the caller waits. To ask the same question again waits for the same
// answer. An *ApprovalError says that the asker must decide first.
type Oracle interface {
	Ask(ctx context.Context, q Question) (string, error)
}

// Approvals takes the asker's word on what an ApprovalError asked. The same word
// again changes nothing; a fault.Gone, fault.Conflict or fault.NotFound says that it
// came too late. Ask then has what follows.
type Approvals interface {
	Decide(ctx context.Context, q Question, approval string, approve bool) error
}

// MaxAnswer bounds an answer, in characters: about eight screens.
const MaxAnswer = 1200

// Shorten makes an answer as short as telephones read it.
func Shorten(answer string) string { return ussdtext.Bounded(ussdtext.Plain(answer), MaxAnswer) }

// ApprovalError says that the oracle wants to do something for which it needs the
// asker's approval.
type ApprovalError struct {
	// ID names what is to be approved, Text says it in the asker's language.
	ID, Text string
}

// Shown is the text as telephones read it: cut if it must be, and else unchanged,
// since what is approved must be what was seen.
func (e *ApprovalError) Shown() string { return ussdtext.Bounded(e.Text, MaxAnswer) }

// Error is for logs, which nobody's words belong in.
func (e *ApprovalError) Error() string { return "the oracle waits for an approval" }

// EnoughError says that a telephone has asked as much as it may today.
type EnoughError struct {
	// Questions is how many it may ask in a day; 0 when something else ran out.
	Questions int64
}

// Error is for logs.
func (e *EnoughError) Error() string { return "the telephone has asked enough today" }

// Text is read out in place of an answer, so that it is understood in every menu.
func (e *EnoughError) Text(language string) string {
	in := words.Shipped().Or(language, words.Shipped().English())
	if e.Questions > 0 {
		return in.SayPlain("sms.enoughQuestions", words.Values{"n": e.Questions})
	}
	return in.SayPlain("sms.enough", nil)
}

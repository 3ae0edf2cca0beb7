// Package ussdsms is text messages of the telephone gateway: what is sent to
// telephones without their dialling, and what they ask by a message.
//
// What it promises. A message is written in the transaction of what it tells, and is
// sent at least once under one name; who dies in between sends it again, and nothing
// else does. No number gets more parts in a day than its limit, and all together no
// more than the deployment's: what is over is refused, and never sent late. A number
// that wrote STOP gets nothing until it writes START. An incoming message is stored
// before its gateway is answered, and asks once, if its reply may be sent.
//
// What it refuses. A message says nothing of what an account keeps: answers wait for
// a login. Who writes is a number and nobody else, since numbers of senders can be
// forged: a message asks in a conversation of the number, and not in that of an
// account. Texts are sealed while they wait and forgotten afterwards; no number
// reaches a log.
//
// Decision: ADR 0237.
package ussdsms

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// Kind is why a message is sent.
type Kind string

// The kinds of messages.
const (
	KindCode    Kind = "code"    // a one-time code
	KindAnswer  Kind = "answer"  // a promised answer is ready
	KindReceipt Kind = "receipt" // a form arrived
	KindReply   Kind = "reply"   // to a message
)

// Message is one message to a telephone.
type Message struct {
	// ID names what it tells: told twice it is sent once.
	ID    string
	Kind  Kind
	Phone string
	Text  string
	At    time.Time
}

// Incoming is a message of a telephone.
type Incoming struct {
	// ID is the gateway's, behind the gateway's name.
	ID    string
	Phone string
	Text  string
	At    time.Time
	// Last says that it is not asked again if this fails.
	Last bool
}

// Cost is what a gateway takes for a message, in millionths of its currency.
type Cost struct {
	Micros   int64
	Currency string
}

// Sent is what a gateway said of a message that it took. Parts and Cost are zero
// where it does not say.
type Sent struct {
	Reference string
	Parts     int
	Cost      Cost
}

// Gateway sends messages. An error is worth another try, unless it is a
// *RefusedError.
type Gateway interface {
	Send(ctx context.Context, m Message) (Sent, error)
}

// RefusedError is a message that the gateway will never send. Its reason names no
// number.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// Limits is how many parts are sent in a day (UTC): to one number, and in all.
type Limits struct{ Number, Day int }

// DayFor is how many of the day's parts messages of a kind may use up. A tenth is kept
// for codes: whoever makes us talk locks nobody out.
func (l Limits) DayFor(k Kind) int {
	if k == KindCode {
		return l.Day
	}
	return l.Day - l.Day/10
}

// Why messages are refused.
const (
	RefusedNumber  = "the number has had enough messages today"
	RefusedDay     = "enough messages were sent today"
	RefusedStopped = "the number wants no messages"
)

// What a part holds: alone, or as one of several, which carry their place in front.
const (
	septetsAlone, septetsEach = 160, 153
	unitsAlone, unitsEach     = 70, 67
)

// Parts is how many messages of a network a text takes, which is what is paid for.
func Parts(text string) int {
	z := ussdmenu.Measure(text)
	n, alone, each := z.Septets, septetsAlone, septetsEach
	if z.UCS2 {
		n, alone, each = z.Units, unitsAlone, unitsEach
	}
	if n <= alone {
		return 1
	}
	return (n + each - 1) / each
}

// replyParts is how long a reply may be.
const replyParts = 3

// Fit cuts a text between two words so that it takes no more parts than a reply may.
func Fit(text string) string {
	for most := replyParts * septetsEach; ; most = most * 9 / 10 {
		if cut := ussdtext.Bounded(text, most); Parts(cut) <= replyParts {
			return cut
		}
	}
}

// State is what became of a message.
type State string

// The states of messages.
const (
	Waiting State = "waiting"
	Taken   State = "sent" // by the gateway
	Failed  State = "failed"
	Refused State = "refused" // by a limit, or by the number
	// What the gateway reports of a message that it took.
	Delivered   State = "delivered"
	Undelivered State = "undelivered"
)

// Report is what a gateway says later of a message that it took.
type Report struct {
	// Reference is what the gateway called the message when it took it.
	Reference string
	State     State // Delivered or Undelivered
	// Why is a word or code of the gateway, and names no number.
	Why string
}

// Total is what the messages of a kind came to, in one currency.
type Total struct {
	Kind     Kind
	State    State
	Currency string // empty where the gateway did not say
	Messages int64
	Parts    int64
	Micros   int64
}

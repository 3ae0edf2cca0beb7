// Package bus carries hints between the parts and the nodes of one deployment.
//
// A hint says "look again", and nothing more: it may be lost, doubled or
// reordered, in process as well as over a network, because the database is the
// truth and every reader keeps a cursor and reconciles by itself. What the bus
// does promise: it never blocks a publisher on a slow reader, its queues are
// bounded (the oldest hint goes first, and is counted), one subscription's
// function is never run twice at the same time, and a request gets an answer or
// an error before its context ends. It refuses to store anything.
//
// Implementations: busmem (one process) and busnats (a fleet). Both pass the
// contract in bustest.
//
// Decision: ADR 0015.
package bus

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// MaxData is the largest payload that a bus carries. It leaves room for headers
// under the default limit of a NATS server.
const MaxData = 768 << 10

// maxSubject bounds what a subject may cost in matching and memory.
const maxSubject = 512

// Message is one hint as a subscriber sees it. Data is shared between
// subscribers and must not be changed.
type Message struct {
	Subject string
	Data    []byte
}

// Subscription is one interest in a subject.
type Subscription interface {
	// Unsubscribe ends the interest. Hints still queued are discarded; a function
	// that is running may still be running when Unsubscribe returns.
	Unsubscribe() error
	// Dropped counts the hints that this subscription lost because its function
	// was too slow.
	Dropped() uint64
}

// Responder answers one request. The returned error reaches the requester as a
// fault of the same kind with the same public message; its cause does not.
type Responder func(ctx context.Context, data []byte) ([]byte, error)

// Bus is publish/subscribe and request/reply over subjects: words joined by
// dots. In a subscription "*" stands for one word, and a last ">" for one word
// or more.
type Bus interface {
	// Publish sends a hint to all subscribers of all nodes and does not wait for
	// them. An error means that it was surely not sent.
	Publish(ctx context.Context, subject string, data []byte) error
	// Subscribe calls fn for each hint, one at a time, in order of arrival.
	Subscribe(subject string, fn func(Message)) (Subscription, error)
	// Request asks one of the responders of a subject, wherever it runs. Without
	// any it fails at once with ErrNoResponder.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Respond answers requests, several at a time; a request that finds all
	// places taken is refused as unavailable.
	Respond(subject string, fn Responder) (Subscription, error)
	// Ping fails when the bus does not reach the other nodes now. When it does
	// not fail, the subscriptions made before it are in force.
	Ping(ctx context.Context) error
	// Lapses counts the times at which hints from or to other nodes may have
	// been lost unseen, as when a connection broke. A reader that has no cursor
	// looks again when it grows.
	Lapses() uint64
	// Close ends all subscriptions and waits for their running functions. It must
	// not be called from one of them.
	Close() error
}

// The errors that callers tell apart.
var (
	// ErrNoResponder says that nobody answers the subject of a request.
	ErrNoResponder = fault.New(fault.Unavailable, "Nobody answers this request right now.").WithCode("no_responder")
	// ErrClosed says that the bus was closed.
	ErrClosed = fault.New(fault.Unavailable, "The server is stopping.").WithCode("bus_closed")
	// ErrBusy says that a responder has no place for one more request.
	ErrBusy = fault.New(fault.Unavailable, "The server is busy.").WithCode("bus_busy")
)

// Token turns any text into one word of a subject. Equal texts give equal
// words, different texts different ones.
func Token(s string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(s))
}

// CheckSubject refuses what is no subject to publish on: empty words, spaces,
// control characters, wildcards, too long.
func CheckSubject(subject string) error { return check(subject, false) }

// CheckPattern refuses what is no subject to subscribe to. Wildcards are allowed.
func CheckPattern(pattern string) error { return check(pattern, true) }

func check(subject string, wildcards bool) error {
	if subject == "" || len(subject) > maxSubject {
		return fault.Newf(fault.Invalid, "A bus subject has 1 to %d bytes.", maxSubject)
	}
	rest, more := subject, true
	for more {
		var word string
		word, rest, more = strings.Cut(rest, ".")
		switch {
		case word == "":
			return fault.Newf(fault.Invalid, "The bus subject %q has an empty word.", subject)
		case word == "*" && wildcards, word == ">" && wildcards && !more:
		case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '*' || r == '>' }):
			return fault.Newf(fault.Invalid, "The bus subject %q has a wildcard or a space where none may be.", subject)
		}
	}
	return nil
}

// CheckData refuses a payload that not every implementation could carry.
func CheckData(data []byte) error {
	if len(data) > MaxData {
		return fault.Newf(fault.TooLarge, "A bus message has at most %d bytes.", MaxData)
	}
	return nil
}

// Match reports whether a subject falls under a pattern.
func Match(pattern, subject string) bool {
	for {
		p, pRest, pMore := strings.Cut(pattern, ".")
		s, sRest, sMore := strings.Cut(subject, ".")
		if p == ">" && !pMore {
			return true
		}
		if p != "*" && p != s {
			return false
		}
		if !pMore || !sMore {
			return pMore == sMore
		}
		pattern, subject = pRest, sRest
	}
}
